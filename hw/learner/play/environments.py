"""The environments of a kernel: machine, play generator, observations, actions, and what follows a
step.

One vector step at a time, for one environment after the other. ::

    explore -> ACT -> actions -> machine -> observation, reward -> windows, episodes -> BEGIN
              ^                                  |                                       |
              +-------- observations <-----------+---------------------------------------+

A transition passes at the pace of the windows: the observation that the action was for, then the
next one, which takes its place, the action and the reward.
"""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arith.sfc64 import STATE_LAYOUT, Sfc64
from hw.environment.machine import Machine
from hw.environment.machine_ports import WORD_BITS, Command
from hw.learner.play.acting import Acting
from hw.learner.play.episodes import Episodes, access_port
from hw.learner.play.explore import Explore
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.windows import Windows

__all__ = ["SHIFT", "Environments", "environment_settings"]

#: Bits of the number of fraction bits of an action's word.
SHIFT = 5
_TABLES = "running", "returns", "window", "set", "set_ended", "set_total"


class _Mode(Enum, shape=4):
    IDLE = 0
    START = 1  # windows and episodes begin anew
    EXPLORE = 2
    PLAN = 3
    ACT = 4
    STEP = 5
    OBSERVATION = 6  # the words of a transition
    NEXT = 7
    ACTION = 8
    REWARD = 9
    BEGIN = 10
    BEGUN = 11  # observations after BEGIN
    SETTLE = 12


def environment_settings(config):
    """Layout of ``Environments.settings``: numbers of PLAY_SETTINGS, as they count."""
    play = config.play
    return data.StructLayout(
        {
            "n": range(play.longest + 1),
            "discount": 32,
            "scale": 32,
            "window": 3,
            "start": 32,
            "decrement": 32,
            "end": 32,
            "goal": signed(64),
        }
    )


class Environments(wiring.Component):
    """Begins environments, windows and episodes, and does vector steps.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    begin, prepare, step : In(1)
        Pulses: everything begins anew; windows and episodes only; a vector step. Not before
        ``done`` of the one before.
    done : Out(1)
        A pulse: the command has ended, and ``experiences`` has brought all that windows completed.
    settings : In(environment_settings)
        Steady from ``begin`` or ``step`` to ``done``.
    first : In(1)
        Epsilon of this step is ``settings.start``; if 0, ``epsilon``.
    number : In(32), records : In(17)
        Number of the vector step, and places of the ring: ``Episodes.step`` and ``records``.
    epsilon : Out(32)
        As ``Explore.epsilon``.
    clipped : Out(environments)
        Environments whose number this step or begin clipped; steady from ``done`` on.
    ended, total, met, bar : Out, set, set_ended, set_total : In
        As of ``Episodes``.
    seed : In(STATE_LAYOUT), reseed : In(1), state : Out(STATE_LAYOUT)
        The play generator.
    shift : In(5)
        Fraction bits of an action's word.
    load : In(1), ready : Out(1), image : In(stream of 36 bits)
        LOAD of the machine, between commands.
    acting : Out(1), network_begin, act : Out(1), loaded : In(1)
        ACT, as in ``LearnerSignature``: ``acting`` is high from ``network_begin`` on.
    observations : Out(stream of beats), outputs : In(stream of beats)
        The beats of an ACT.
    experiences : Out(stream of WINDOW), episode : Out(stream of PLACED)
    states_begin, saving : In(1), state_o, state_i : Out, In(stream of 32 bits)
        ``states_begin``, a pulse between commands: the machine's SAVE if ``saving``, else RESTORE;
        the words of states.
    seen, running, windows, returns : In(access_port())
        Observations; tables of windows and episodes.
    held, window : Out
        ``settings`` of ``Windows``, ``window`` of ``Episodes``.
    """

    def __init__(self, config):
        self.config, width = config, config.engine.data_width
        self._explore = Explore(config.play.explore(config.learner))
        self._windows = Windows(config.play.windows(config.learner))
        self._episodes = Episodes(config.play.episodes)
        beats = stream.Signature(unsigned(width))
        episodes, windows = self._episodes.signature.members, self._windows.signature.members
        super().__init__(
            {
                "begin": In(1),
                "prepare": In(1),
                "step": In(1),
                "done": Out(1),
                "settings": In(environment_settings(config)),
                "first": In(1),
                "number": In(32),
                "records": In(17),
                "epsilon": Out(32),
                "clipped": Out(config.play.environments),
                **{name: episodes[name] for name in ("ended", "total", "met", "bar")},
                "seed": In(STATE_LAYOUT),
                "reseed": In(1),
                "state": Out(STATE_LAYOUT),
                "shift": In(SHIFT),
                "load": In(1),
                "ready": Out(1),
                "image": In(stream.Signature(unsigned(WORD_BITS))),
                "acting": Out(1),
                "network_begin": Out(1),
                "act": Out(1),
                "loaded": In(1),
                "observations": Out(beats),
                "outputs": In(beats),
                "experiences": windows["o"],
                "episode": episodes["o"],
                "states_begin": In(1),
                "saving": In(1),
                "state_o": Out(stream.Signature(signed(32))),
                "state_i": In(stream.Signature(signed(32))),
                "seen": Out(access_port()),
                "windows": windows["access"],
                "held": windows["settings"],
                **{name: episodes[name] for name in _TABLES},
            }
        )

    def elaborate(self, platform):
        m = Module()
        play = self.config.play
        m.submodules.machine = self._machine = Machine(play.machine)
        m.submodules.explore, m.submodules.windows = self._explore, self._windows
        m.submodules.episodes, episodes = self._episodes, self._episodes
        m.submodules.to_float = self._to_float = ScaledToFloat(ScaledConfig(width=32))
        self._mode, self._environment = Signal(_Mode, name="mode"), Signal(range(play.environments))
        self._word = Signal(range(self.config.learner.observation))
        m.submodules.acting = self._acting = Acting(self.config)
        #: Environments that begin, or have ended; and those whose last item is still to come.
        self._ends, self._coming = Signal(play.environments), Signal(play.environments)
        self._last, self._last_word = Signal(), Signal()
        m.d.comb += [
            self._last.eq(self._environment == play.environments - 1),
            self._last_word.eq(self._word == self.config.learner.observation - 1),
            self.epsilon.eq(self._explore.epsilon),
            episodes.goal.eq(self.settings.goal),
            episodes.step.eq(self.number),
            episodes.records.eq(self.records),
            self.ended.eq(episodes.ended),
            self.total.eq(episodes.total),
            self.met.eq(episodes.met),
            self.bar.eq(episodes.bar),
            self.window.eq(episodes.window),
            episodes.set.eq(self.set),
            episodes.set_ended.eq(self.set_ended),
            episodes.set_total.eq(self.set_total),
            self.held.eq(self._windows.settings),
        ]
        connect(m, flipped(self.running), episodes.running)
        connect(m, flipped(self.returns), episodes.returns)
        connect(m, flipped(self.windows), self._windows.access)
        connect(m, self._windows.o, flipped(self.experiences))
        connect(m, episodes.o, flipped(self.episode))
        self._generator(m)
        self._network(m)
        seen = self._observations(m)
        chosen = self._actions(m)
        self._transition(m, seen, chosen)
        self._run(m)
        return m

    def _generator(self, m):
        """The play generator serves explorer and machine, which never ask in the same clock."""
        m.submodules.generator = generator = Sfc64()
        explore, machine = self._explore, self._machine
        m.d.comb += [
            generator.seed.eq(self.seed),
            generator.load.eq(self.reseed),
            self.state.eq(generator.state),
            explore.random.payload.eq(generator.number),
            explore.random.valid.eq(1),
            machine.random.payload.eq(generator.number[:32]),
            machine.random.valid.eq(1),
            generator.next.eq(explore.random.ready | machine.random.ready),
        ]

    def _observations(self, m):
        """The observations that environments show; returns the word at hand."""
        play, acting = self.config.play, self._acting
        m.submodules.seen = seen = memory.Memory(
            shape=unsigned(32), depth=play.environments << len(self._word), init=[]
        )
        read, write, to_float = seen.read_port(domain="comb"), seen.write_port(), self._to_float
        m.d.comb += [
            read.addr.eq(
                Mux(
                    acting.sends,
                    Cat(acting.word[: len(self._word)], acting.row),
                    Cat(self._word, self._environment),
                )
            ),
            write.addr.eq(Cat(self._word, self._environment)),
            write.data.eq(to_float.o.payload),
            write.en.eq(to_float.o.valid & to_float.o.ready),
        ]
        access, place = self.seen, Signal.like(read.addr)
        m.d.comb += place.eq(
            Cat(access.word[: len(self._word)], access.row[: len(self._environment)])
        )
        m.d.sync += access.held.eq(read.data)
        with m.If(access.active):
            m.d.comb += [
                read.addr.eq(place),
                write.addr.eq(place),
                write.data.eq(access.value),
                write.en.eq(access.write),
            ]
        m.d.comb += acting.seen.eq(read.data)
        return read.data

    def _network(self, m):
        """The network, which acts on what the environments show; its outputs go to the explorer."""
        acting, plan = self._acting, self._explore.plan
        m.d.comb += [
            self.acting.eq(acting.acting),
            self.network_begin.eq(acting.network_begin),
            self.act.eq(acting.act),
            acting.loaded.eq(self.loaded),
            acting.start.eq((self._mode == _Mode.PLAN) & plan.valid & plan.p.acts),
        ]
        connect(m, acting.observations, flipped(self.observations))
        connect(m, flipped(self.outputs), acting.outputs)
        connect(m, acting.values, self._explore.i)

    def _actions(self, m):
        """Words and commands for the machine; returns the action at hand."""
        explore, machine, mode = self._explore, self._machine, self._mode
        place, idle = Signal.like(self._environment), Signal()
        m.submodules.chosen = chosen = memory.Memory(
            shape=explore.o.payload.shape(), depth=self.config.play.environments, init=[]
        )
        read, write = chosen.read_port(domain="comb"), chosen.write_port()
        schedule, command = explore.step.p, machine.command
        m.d.comb += [
            explore.step.valid.eq(mode == _Mode.EXPLORE),
            schedule.first.eq(self.first),
            *(schedule[name].eq(self.settings[name]) for name in ("start", "decrement", "end")),
            explore.plan.ready.eq(mode == _Mode.PLAN),
            command.valid.eq(
                self.load
                | self.states_begin
                | (mode == _Mode.STEP)
                | ((mode == _Mode.BEGIN) & self._ends.any())
            ),
            command.p.kind.eq(Mux(mode == _Mode.STEP, Command.STEP, Command.BEGIN)),
            command.p.mask.eq(self._ends),
            self.ready.eq(command.ready),
            # An image, or states, come while no step is under way.
            idle.eq(mode == _Mode.IDLE),
            machine.i.payload.eq(
                Mux(idle, self.image.payload, (explore.o.payload << self.shift)[:32])
            ),
            machine.i.valid.eq(Mux(idle, self.image.valid | self.state_i.valid, explore.o.valid)),
            self.image.ready.eq(machine.i.ready & idle),
            self.state_i.ready.eq(machine.i.ready & idle),
            explore.o.ready.eq(machine.i.ready & ~idle),
            read.addr.eq(self._environment),
            write.addr.eq(place),
            write.data.eq(explore.o.payload),
            write.en.eq(explore.o.valid & explore.o.ready),
        ]
        with m.If(idle & self.state_i.valid):
            m.d.comb += machine.i.payload.eq(self.state_i.payload)
        with m.If(self.load):
            m.d.comb += command.p.kind.eq(Command.LOAD)
        with m.If(self.states_begin):
            m.d.comb += command.p.kind.eq(Mux(self.saving, Command.SAVE, Command.RESTORE))
        with m.If(write.en):
            m.d.sync += place.eq(Mux(place == self.config.play.environments - 1, 0, place + 1))
        return read.data

    def _transition(self, m, seen, chosen):
        """The words of a transition, and those from the machine."""
        machine, windows, episodes = self._machine, self._windows, self._episodes
        to_float, item, mode = self._to_float, self._machine.o, self._mode
        steps, saves, reward = Signal(), Signal(), Signal()
        begun = (mode == _Mode.BEGUN) & self._ends.bit_select(self._environment, 1)
        lowest = Signal.like(self._coming)
        with m.If(machine.command.valid & machine.command.ready):
            m.d.sync += [steps.eq(mode == _Mode.STEP), saves.eq(self.states_begin & self.saving)]
        m.d.comb += [
            reward.eq(steps & item.p.last),
            to_float.i.p.raw.eq(item.p.word),
            to_float.i.p.fraction.eq(item.p.fraction),
            to_float.i.valid.eq(item.valid & ~reward & ~saves),
            self.state_o.payload.eq(item.p.word),
            self.state_o.valid.eq(item.valid & saves),
            item.ready.eq(
                Mux(
                    reward,
                    (mode == _Mode.REWARD) & windows.i.ready & episodes.i.ready,
                    Mux(saves, self.state_o.ready, to_float.i.ready),
                )
            ),
            to_float.o.ready.eq(Mux(mode == _Mode.NEXT, windows.i.ready, begun)),
            episodes.i.valid.eq((mode == _Mode.REWARD) & item.valid & reward & windows.i.ready),
        ]
        for unit in (windows, episodes):
            for name in ("word", "fraction", "terminated", "truncated"):
                m.d.comb += unit.i.p[name].eq(item.p[name])
        with m.Switch(mode):
            with m.Case(_Mode.OBSERVATION):
                m.d.comb += [windows.i.valid.eq(1), windows.i.p.word.eq(seen)]
            with m.Case(_Mode.NEXT):
                m.d.comb += [
                    windows.i.valid.eq(to_float.o.valid),
                    windows.i.p.word.eq(to_float.o.payload),
                ]
            with m.Case(_Mode.ACTION):
                m.d.comb += [windows.i.valid.eq(1), windows.i.p.word.eq(chosen)]
            with m.Case(_Mode.REWARD):
                m.d.comb += windows.i.valid.eq(item.valid & reward & episodes.i.ready)
        m.d.comb += lowest.eq(self._coming & (~self._coming + 1))
        with m.If(item.valid & item.ready & item.p.last):
            m.d.sync += self._coming.eq(self._coming & ~lowest)
            with m.If(item.p.clipped):
                m.d.sync += self.clipped.eq(self.clipped | lowest)

    def _run(self, m):
        """The order of all that."""
        mode, windows, episodes = self._mode, self._windows, self._episodes
        machine, ends, item = self._machine, self._ends, self._machine.o
        moves = Signal()
        m.d.comb += moves.eq(windows.i.valid & windows.i.ready)
        starting = Signal(2)
        settings = ("n", "discount", "scale")
        m.d.comb += [
            windows.start.valid.eq(starting[0]),
            *(windows.start.p[name].eq(self.settings[name]) for name in settings),
            episodes.start.valid.eq(starting[1]),
            episodes.start.p.window.eq(self.settings.window),
        ]
        for k, unit in enumerate((windows, episodes)):
            with m.If(unit.start.valid & unit.start.ready):
                m.d.sync += starting[k].eq(0)

        def turn(then):
            """The next environment, or after the last one the mode ``then``."""
            m.d.sync += [
                self._word.eq(0),
                self._environment.eq(Mux(self._last, 0, self._environment + 1)),
            ]
            with m.If(self._last):
                m.d.sync += mode.eq(then)

        def follow(moves, then):
            """The next word, or after the last one the mode ``then``."""
            with m.If(moves):
                m.d.sync += self._word.eq(Mux(self._last_word, 0, self._word + 1))
                with m.If(self._last_word):
                    m.d.sync += mode.eq(then)

        with m.Switch(mode):
            with m.Case(_Mode.IDLE):
                with m.If(self.begin | self.prepare | self.step):
                    m.d.sync += [self.clipped.eq(0), ends.eq(Mux(self.begin, ~0, 0))]
                with m.If(self.begin | self.prepare):
                    m.d.sync += [starting.eq(0b11), mode.eq(_Mode.START)]
                with m.If(self.step):
                    m.d.sync += mode.eq(_Mode.EXPLORE)
            with m.Case(_Mode.START):
                with m.If(~starting.any()):
                    m.d.sync += mode.eq(_Mode.BEGIN)
            with m.Case(_Mode.EXPLORE):
                with m.If(self._explore.step.ready):
                    m.d.sync += mode.eq(_Mode.PLAN)
            with m.Case(_Mode.PLAN):
                with m.If(self._explore.plan.valid):
                    acts = self._explore.plan.p.acts
                    m.d.sync += mode.eq(Mux(acts, _Mode.ACT, _Mode.STEP))
            with m.Case(_Mode.ACT):
                with m.If(self._acting.done):
                    m.d.sync += mode.eq(_Mode.STEP)
            with m.Case(_Mode.STEP):
                with m.If(machine.command.ready):
                    m.d.sync += [self._coming.eq(~0), mode.eq(_Mode.OBSERVATION)]
            with m.Case(_Mode.OBSERVATION):
                follow(moves, _Mode.NEXT)
            with m.Case(_Mode.NEXT):
                follow(moves, _Mode.ACTION)
            with m.Case(_Mode.ACTION):
                with m.If(moves):
                    m.d.sync += mode.eq(_Mode.REWARD)
            with m.Case(_Mode.REWARD):
                with m.If(moves):
                    ended = item.p.terminated | item.p.truncated
                    m.d.sync += [
                        ends.bit_select(self._environment, 1).eq(ended),
                        mode.eq(_Mode.OBSERVATION),
                    ]
                    turn(_Mode.BEGIN)
            with m.Case(_Mode.BEGIN):
                with m.If(machine.command.ready | ~ends.any()):
                    m.d.sync += [
                        self._coming.eq(ends),
                        mode.eq(Mux(ends.any(), _Mode.BEGUN, _Mode.SETTLE)),
                    ]
            with m.Case(_Mode.BEGUN):
                with m.If(self._to_float.o.valid & self._to_float.o.ready):
                    m.d.sync += self._word.eq(self._word + 1)
                    with m.If(self._last_word):
                        turn(_Mode.SETTLE)
                with m.If(~ends.bit_select(self._environment, 1)):
                    turn(_Mode.SETTLE)
            with m.Default():  # SETTLE
                settled = windows.start.ready & ~windows.o.valid & episodes.start.ready
                m.d.comb += self.done.eq(settled)
                with m.If(settled):
                    m.d.sync += mode.eq(_Mode.IDLE)

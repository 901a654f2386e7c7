"""PLAY, PROGRAM, SAVE and RESUME: the order of vector steps, experiences and iterations.

::

    SETTINGS -> (BEGIN) -> LOOK -> STEP -> (INSERT) -> (LEARN) -> LOOK .. -> END

``hw.learner.play.play_contract`` explains each.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.arith.sfc64 import STATE_LAYOUT
from hw.comparison import lowest
from hw.learner.play.commands import PLAYING, PlayOpcode, lesson
from hw.learner.play.environments import SHIFT, Environments
from hw.learner.play.experience_queue import ExperienceQueue
from hw.learner.play.play_contract import PLAY_SETTINGS, Flag, PlayError, segment_of
from hw.learner.play.rings import EpisodeRing, ReportRing
from hw.learner.play.saver import Saver
from hw.learner.play.segments import Segments
from hw.learner.play.settings_reader import SettingsReader
from hw.learner.play.task_loader import TaskLoader
from hw.replay.commands import Given, Opcode
from hw.replay.job_dispatcher import JOB
from hw.replay.replay_state import state_shapes
from hw.shell.command import round_up
from hw.shell.errors import ShellError
from hw.shell.ports import mux_ports, read_port, write_port
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["Player"]


class Player(wiring.Component):
    """Executes PLAY, PROGRAM, SAVE and RESUME for the core around it, whose replay core stores, and
    whose iterations learn.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    play, program, save, resume : In(1), raw : In(512)
        Pulses: the command ``raw`` begins, which has passed its rules and is steady until ``done``.
    failed : In(1)
        Memory has failed the command.
    stop : In(1)
        PLAY ends before its next vector step.
    operands, results : In(64), capacity : In
        Byte addresses of the buffers; places of the replay memory.
    words, reply : In, Out(stream of beats), replied : In(1)
        Operands of PROGRAM and RESUME; results of SAVE, and whether memory has them.
    done : Out(1), error, detail : Out(32)
        ``done`` is a pulse, with the outcome.
    playing, moving, inserting, learning : Out(1)
        ``playing``: a command is under way, from the clock after it began to ``done``. ``moving``:
        it is one whose beats the dispatcher moves. ``inserting``, ``learning``: the replay core has
        the job ``job``; iterations run.
    read, write : ports to memory, while ``playing`` and not ``moving``
    job : Out(stream of JOB), outcome : In(stream of OUTCOME), experiences : In(read_port)
        An INSERT, its outcome, and its experiences, whatever the addresses are.
    start, lesson : Out(1), Out(512); ended : In(1), lesson_error, lesson_detail : In(32)
        A pulse begins ``iterations`` of the LEARN ``lesson``; ``ended`` is one, with the outcome.
    hyperparameters : In(read_port), reports : In(write_port), iterations : In(64)
        Ports for the iterations, and the gradient steps since reset.
    acting, network_begin, act, loaded, observations, outputs
        As of ``Environments``.
    programmed, begun, step, episodes, explore, state, clipped, total : Out
        For the status block.
    met : Out(1), bar : Out(4)
        As of ``Episodes``.
    """

    def __init__(self, config):
        self.config, width = config, config.engine.data_width
        self._environments = Environments(config)
        environments = self._environments.signature.members
        passed = ("acting", "network_begin", "act", "loaded", "observations", "outputs")
        beats = stream.Signature(unsigned(width))
        capacity = state_shapes(config.replay, config.engine.beat_bytes)["capacity"]
        super().__init__(
            {
                "play": In(1),
                **dict.fromkeys(("program", "save", "resume"), In(1)),
                "raw": In(8 * COMMAND_BYTES),
                "failed": In(1),
                "stop": In(1),
                "operands": In(64),
                "results": In(64),
                "capacity": In(capacity),
                "words": In(beats),
                "reply": Out(beats),
                "replied": In(1),
                "done": Out(1),
                "error": Out(32),
                "detail": Out(32),
                **dict.fromkeys(("playing", "moving", "inserting", "learning"), Out(1)),
                "read": Out(read_port(width)),
                "write": Out(write_port(width)),
                "job": Out(stream.Signature(JOB)),
                "outcome": In(stream.Signature(OUTCOME)),
                "experiences": In(read_port(width)),
                "start": Out(1),
                "lesson": Out(8 * COMMAND_BYTES),
                "ended": In(1),
                "lesson_error": In(32),
                "lesson_detail": In(32),
                "hyperparameters": In(read_port(width)),
                "reports": In(write_port(width)),
                "iterations": In(64),
                **{name: environments[name] for name in passed},
                "programmed": Out(1),
                "begun": Out(1),
                "step": Out(32),
                "episodes": Out(32),
                "explore": Out(32),
                "state": Out(STATE_LAYOUT),
                "clipped": Out(config.play.environments),
                **{name: environments[name] for name in ("total", "met", "bar")},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, width = self.config, self.config.engine.data_width
        units = SimpleNamespace(
            environments=self._environments,
            loader=TaskLoader(config.learner.observation, width),
            queue=ExperienceQueue(config),
            segments=Segments(width, segment_of(config.learner.step_record)),
            episode_ring=EpisodeRing(width),
            report_ring=ReportRing(width),
            saver=Saver(config),
        )
        for name, unit in vars(units).items():
            m.submodules[name] = unit
        environments, loader, queue = units.environments, units.loader, units.queue
        segments, episode_ring, report_ring = units.segments, units.episode_ring, units.report_ring
        command = data.View(PLAYING[PlayOpcode.PLAY].shape, self.raw)
        m.submodules.reader = reader = SettingsReader(config)
        self._reader, self._settings, self._command = reader, reader.settings, command
        self._learns, settings = Signal(), reader.settings
        m.d.comb += [
            self._learns.eq(self._flag(Flag.LEARN)),
            reader.start.eq(self.play),
            reader.address.eq(self.operands + command.source),
            reader.learns.eq(self._learns),
            reader.capacity.eq(self.capacity),
        ]

        connect(m, environments.observations, flipped(self.observations))
        connect(m, flipped(self.outputs), environments.outputs)
        connect(m, environments.episode, episode_ring.i)
        connect(m, environments.experiences, queue.i)
        connect(m, loader.o, environments.image)
        rings = self.results + command.destination
        shift = exact_log2(config.engine.beat_bytes)
        m.d.comb += [
            self.acting.eq(environments.acting),
            self.network_begin.eq(environments.network_begin),
            self.act.eq(environments.act),
            environments.loaded.eq(self.loaded),
            queue.keep.eq(self._learns),
            episode_ring.address.eq(rings),
            report_ring.address.eq(rings + round_up(command.episodes << shift, 64)),
            report_ring.records.eq(command.reports),
            report_ring.number.eq(self.iterations),
            segments.address.eq(self.operands + command.source + PLAY_SETTINGS.size),
            segments.count.eq(command.segments),
            segments.target_interval.eq(settings.target_interval),
            segments.target_phase.eq(settings.target_phase),
            environments.records.eq(command.episodes),
            environments.number.eq(self.step),
            self.episodes.eq(environments.ended),
            self.state.eq(environments.state),
            self.total.eq(environments.total),
            self.met.eq(environments.met),
            self.bar.eq(environments.bar),
            self.lesson.eq(lesson(command, settings.iterations)),
        ]
        self._ports(m, segments, episode_ring, report_ring)
        self._insert(m, queue)
        self._program(m, loader, environments)
        start = self._exploring(m, environments)
        self._saver(m, units.saver, loader, environments)
        self._run(m, start, units)
        return m

    def _flag(self, flag):
        return self._command.flags[exact_log2(flag.value)]

    def _exploring(self, m, environments):
        """Settings of the environments; returns the register of the first epsilon."""
        settings, start = self._settings, Signal(32, name="start_epsilon")
        given, greedy = environments.settings, self._flag(Flag.GREEDY)
        m.d.comb += [
            *(given[name].eq(settings[name]) for name in ("n", "discount", "scale", "window")),
            given.goal.eq(settings.goal),
            given.start.eq(start),
            given.decrement.eq(Mux(greedy, 0, settings.decrement)),
            given.end.eq(Mux(greedy, 0, settings.end)),
            self.explore.eq(Mux(environments.first, start, environments.epsilon)),
        ]
        return start

    def _ports(self, m, segments, episode_ring, report_ring):
        """Memory: the settings, then SEGMENTs; EPISODEs, and while iterations run REPORTs."""
        reader = self._reader
        mux_ports(m, self.read, [(reader.reading, reader.read), (~reader.reading, segments.read)])
        connect(m, flipped(self.hyperparameters), segments.i)
        mux_ports(
            m,
            self.write,
            [(self.learning, report_ring.write), (~self.learning, episode_ring.write)],
        )
        connect(m, flipped(self.reports), report_ring.i)

    def _insert(self, m, queue):
        """The job, and its experiences as if memory had sent them."""
        job, port = self.job.p, self.experiences
        self._drops = Signal(name="drops")  # an INSERT that was refused left them
        m.d.comb += [
            job.opcode.eq(Opcode.INSERT),
            job.count.eq(queue.count),
            job.given.eq(Given.NOTHING),
            job.transfer.eq(queue.count * queue.granules),
            self.job.valid.eq(self.inserting),
            self.outcome.ready.eq(self.inserting),
            queue.taking.eq(self.inserting | self._drops),
            port.request.ready.eq(1),
            port.data.p.data.eq(queue.o.payload),
            port.data.valid.eq(queue.o.valid),
            queue.o.ready.eq(port.data.ready | self._drops),
        ]

    def _program(self, m, loader, environments):
        command = data.View(PLAYING[PlayOpcode.PROGRAM].shape, self.raw)
        shift = Signal(SHIFT)
        m.d.comb += [
            loader.start.eq(self.program),
            loader.count.eq(command.count),
            environments.load.eq(loader.load),
            loader.ready.eq(environments.ready),
            environments.shift.eq(shift),
        ]
        with m.If(self.program):
            m.d.sync += [self.programmed.eq(0), self.begun.eq(0)]
        with m.If(loader.done & ~loader.wrong & ~self.failed):
            m.d.comb += [environments.reseed.eq(1), environments.seed.eq(command.state)]
            m.d.sync += [self.programmed.eq(1), shift.eq(command.shift)]

    def _saver(self, m, saver, loader, environments):
        """Wires the Saver to what environments hold, and to the dispatcher's beats."""
        resumes = Signal()
        with m.If(self.play | self.program | self.save | self.resume):
            m.d.sync += resumes.eq(self.resume)
        connect(m, saver.observations, environments.seen)
        connect(m, saver.running, environments.running)
        connect(m, saver.windows, environments.windows)
        connect(m, saver.returns, environments.returns)
        connect(m, environments.state_o, saver.state_o)
        connect(m, saver.state_i, environments.state_i)
        connect(m, saver.reply, flipped(self.reply))
        kept, header = environments.held, saver.header
        m.d.comb += [
            saver.save.eq(self.save),
            saver.resume.eq(self.resume),
            saver.beats.payload.eq(self.words.payload),
            saver.beats.valid.eq(self.words.valid & resumes),
            loader.beats.payload.eq(self.words.payload),
            loader.beats.valid.eq(self.words.valid & ~resumes),
            self.words.ready.eq(Mux(resumes, saver.beats.ready, loader.beats.ready)),
            saver.now.n.eq(kept.n),
            saver.now.window.eq(environments.window),
            saver.now.discount.eq(kept.discount),
            saver.now.scale.eq(kept.scale),
            Value.cast(saver.now.state).eq(environments.state),
            saver.now.total.eq(environments.total),
            saver.now.episodes.eq(environments.ended),
            saver.states.eq(loader.states),
            saver.ready.eq(environments.done),
            environments.prepare.eq(saver.begin),
            environments.states_begin.eq(saver.states_begin),
            environments.saving.eq(~resumes),
            environments.set.eq(saver.set),
            environments.set_ended.eq(header.episodes),
            environments.set_total.eq(header.total),
        ]
        with m.If(saver.set):
            m.d.comb += [
                environments.reseed.eq(1),
                Value.cast(environments.seed).eq(Value.cast(header.state)),
            ]
        with m.If(resumes):
            names = ("n", "discount", "scale", "window")
            m.d.comb += [environments.settings[name].eq(header[name]) for name in names]

    def _run(self, m, start, units):
        """The order of everything; ``start`` is the register of the first epsilon."""
        self._left, self._phase = Signal(16, name="left"), Signal(16, name="phase")
        self._any_clipped, self._first = lowest(units.environments.clipped)
        with m.FSM() as fsm:
            m.d.comb += [
                self.playing.eq(~fsm.ongoing("IDLE")),
                self.moving.eq(Cat(map(fsm.ongoing, ("PROGRAM", "SAVE", "RESUME"))).any()),
                self.inserting.eq(fsm.ongoing("INSERT")),
                self.learning.eq(fsm.ongoing("LEARN")),
            ]
            self._command_states(m, units)
            self._begin_states(m, start, units)
            self._step_states(m, units)
            self._end_states(m, units)

    def _end(self, m, error, detail=0):
        m.d.sync += [self.error.eq(error), self.detail.eq(detail)]
        m.next = "END"

    def _command_states(self, m, units):
        """The states of a command's begin, and of all commands but PLAY."""
        loader, saver = units.loader, units.saver
        with m.State("IDLE"):
            m.d.sync += [self.error.eq(ShellError.NONE), self.detail.eq(0)]
            with m.If(self.program):
                m.next = "PROGRAM"
            with m.If(self.save):
                m.next = "SAVE"
            with m.If(self.resume):
                m.d.sync += [self.begun.eq(0), self.clipped.eq(0)]
                m.next = "RESUME"
            with m.If(self.play):
                m.next = "SETTINGS"
        with m.State("PROGRAM"):
            with m.If(loader.done):
                self._end(
                    m, Mux(loader.wrong, PlayError.TASK, 0), Mux(loader.wrong, loader.position, 0)
                )
        with m.State("SAVE"):
            with m.If(self.replied):
                m.next = "END"
        with m.State("RESUME"):
            with m.If(saver.done):
                self._end(
                    m, Mux(saver.wrong, PlayError.SAVED, 0), Mux(saver.wrong, saver.position, 0)
                )
                m.d.sync += self.begun.eq(~saver.wrong & ~self.failed)

    def _begin_states(self, m, start, units):
        """The states of PLAY up to its first vector step."""
        reader, settings, command = self._reader, self._settings, self._command
        starts = Signal()
        m.d.comb += [units.segments.start.eq(starts), units.report_ring.start.eq(starts)]
        environments = units.environments
        with m.State("SETTINGS"):
            with m.If(reader.done):
                m.next = "DECIDE"
                with m.If(reader.failed):
                    self._end(m, ShellError.AXI)
        with m.State("DECIDE"):
            with m.If(reader.broken):
                self._end(m, PlayError.SETTINGS, reader.byte)
            with m.Else():
                m.d.comb += starts.eq(1)
                m.d.sync += [
                    self.step.eq(settings.step),
                    start.eq(Mux(self._flag(Flag.GREEDY), 0, settings.explore)),
                    environments.first.eq(1),
                    self._phase.eq(settings.phase),
                    self._left.eq(command.count),
                ]
                m.next = "LOOK"
                with m.If(self._flag(Flag.FRESH)):
                    m.d.comb += environments.begin.eq(1)
                    m.d.sync += self.clipped.eq(0)
                    m.next = "BEGIN"
        with m.State("BEGIN"):
            with m.If(environments.done):
                m.d.sync += [self.begun.eq(1), self.clipped.eq(environments.clipped)]
                m.next = "LOOK"
                with m.If(self._any_clipped):
                    self._end(m, PlayError.ENVIRONMENT, self._first)

    def _step_states(self, m, units):
        """The states of a vector step, and of the iterations after it."""
        environments, queue, settings = units.environments, units.queue, self._settings
        last = self._phase + 1 == settings.period
        with m.State("LOOK"):
            m.next = "STEP"
            with m.If((self._left == 0) | self.stop | (self._flag(Flag.GOAL) & environments.met)):
                m.next = "END"
            with m.Else():
                m.d.comb += environments.step.eq(1)
        with m.State("STEP"):
            with m.If(environments.done):
                m.d.sync += [
                    environments.first.eq(0),
                    self.step.eq(self.step + 1),
                    self._phase.eq(Mux(last, 0, self._phase + 1)),
                    self._left.eq(self._left - 1),
                    self.clipped.eq(self.clipped | environments.clipped),
                ]
                m.next = "SETTLE"
        with m.State("SETTLE"):
            with m.If(queue.settled):
                m.next = "AFTER"
                with m.If(queue.count != 0):
                    m.next = "INSERT"
        with m.State("INSERT"):
            with m.If(self.outcome.valid):
                m.next = "AFTER"
                with m.If(self.outcome.p.error != ShellError.NONE):
                    self._end(m, self.outcome.p.error, self.outcome.p.detail)
        with m.State("AFTER"):
            learns = self._learns & (self._phase == 0) & (settings.iterations != 0)
            m.next = "LOOK"
            with m.If(learns & (self.step >= settings.starts)):
                m.next = "DRAIN"
            with m.If(self._any_clipped):
                self._end(m, PlayError.ENVIRONMENT, self._first)

    def _end_states(self, m, units):
        """The states of iterations, and of a command's end."""
        episode_ring = units.episode_ring
        with m.State("DRAIN"):
            # Tokens that come from now on are the iterations'.
            with m.If(episode_ring.idle):
                m.d.comb += self.start.eq(1)
                m.next = "LEARN"
        with m.State("LEARN"):
            with m.If(self.ended):
                m.next = "LOOK"
                with m.If(self.lesson_error != ShellError.NONE):
                    self._end(m, self.lesson_error, self.lesson_detail)
        with m.State("END"):
            m.d.comb += self._drops.eq(1)
            with m.If(episode_ring.idle & units.queue.empty):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"

"""n-step experiences of transitions, for environments on the card.

The ring of an environment holds observation, action and reward of its last steps. A window opens
with each step, and closes after n rewards or with its episode; then its rewards are read and
summed. ::

    transition taken        rewards of a window      its experience
    2 O + A + 1 words   ->  summed, 2 a clock    ->  2 O + A + 2 words  -> next window, transition
                            to binary32

for O numbers of an observation and A words of an action. While a window waits no word of its
rewards is moved, and a sum is exact until it is rounded.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.config import ConfigBase, check_range
from hw.estimate import together
from hw.learner.play.episodes import access_port
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.weighted_sum import FRACTION, WeightedSum
from hw.stream.delay import delay
from hw.stream.ram import Ram, shallow_memory

__all__ = ["TRANSITION", "WINDOW", "Windows", "WindowsConfig", "window_settings"]

#: word : of an observation or an action; or a reward, signed.
#: fraction, terminated, truncated : with the reward only: its fraction bits, and whether the
#:     episode has ended.
TRANSITION = data.StructLayout({"word": 32, "fraction": 6, "terminated": 1, "truncated": 1})
#: word : of an experience; last : its last one.
WINDOW = data.StructLayout({"word": 32, "last": 1})


@dataclass(frozen=True, kw_only=True)
class WindowsConfig(ConfigBase):
    """Sizes of ``Windows``.

    environments : 1..64.
    observation : numbers of an observation, 1..32.
    action : words of an action, 1..32; one for a discrete action.
    longest : rewards of a window at most, 1..16.
    """

    environments: int = 8
    observation: int = 4
    action: int = 1
    longest: int = 16

    def __post_init__(self):
        check_range("environments", self.environments, 1, 64)
        check_range("observation", self.observation, 1, 32)
        check_range("action", self.action, 1, 32)
        check_range("longest", self.longest, 1, 16)

    @property
    def slots(self):
        """Steps in the ring of an environment, a power of two."""
        return 1 << (self.longest - 1).bit_length()

    @property
    def entry(self):
        """Words between two steps in the ring, a power of two."""
        return 1 << (self.observation + self.action).bit_length()

    def start_clocks(self, n):
        """Clocks of a start with windows of ``n`` rewards."""
        return 1 + self.environments + WeightedSum.weigh_clocks(n)

    def transition_clocks(self, lengths):
        """Clocks of a transition that closes windows of ``lengths`` rewards, if nothing waits."""
        words = 2 * self.observation + self.action + 1
        # Two numbers are converted; an experience has a word more.
        return words + sum(WeightedSum.sum_clocks(each) + 2 + words + 1 for each in lengths)


def window_settings(config):
    """Layout of a start: n is 1..``config.longest``; ``discount``, which is at most 1, and
    ``scale`` are UQ(1, 31)."""
    return data.StructLayout({"n": range(config.longest + 1), "discount": 32, "scale": 32})


def _scaled(config):
    return ScaledConfig(width=WeightedSum.width_of(config.longest))


class _Mode(Enum, shape=3):
    TAKE = 0
    CLEAR = 1  # forgets the windows of all environments
    WEIGHTS = 2
    SUM = 3
    CONVERT = 4
    SEND = 5


class _Field(Enum, shape=2):
    """The order of words in a transition, and in an experience."""

    OBSERVATION = 0
    NEXT = 1
    ACTION = 2
    NUMBERS = 3  # the reward, and the discount of an experience


class Windows(wiring.Component):
    """Makes n-step experiences of the transitions of all environments.

    With n rewards r_0, r_1, .. since a window opened, or fewer if its episode ended before::

        reward   = weight_0 r_0 + weight_1 r_1 + ..    exact, then rounded to binary32 once
        discount = 0 if the episode terminated, else power_n, rounded to binary32
        next observation = the last one of the transitions with these rewards

        power_0  = 1      power_k+1  = power_k  * discount    both rounded half up to UQ(1, 31)
        weight_0 = scale  weight_k+1 = weight_k * discount

    An episode that was truncated and not terminated is bootstrapped from its last observation. A
    window that the end of an episode closes has fewer than n rewards. The order of experiences is
    the environments', and for each the oldest window first (Sutton and Barto, Reinforcement
    Learning, 2018, 7.1; ``host.replay.nstep`` sums in float64).

    Parameters
    ----------
    config : WindowsConfig

    Members
    -------
    start : In(stream of window_settings)
        Forgets all windows; the next transition is from environment 0. Taken before the first
        word of a transition. The first one after a reset comes before any transition.
    i : In(stream of TRANSITION)
        A transition of each environment in turn: observation, next observation, action, reward.
        ``fraction`` is the same in all transitions from a start on.
    o : Out(stream of WINDOW)
        Experiences, in the order of ``record_words``: observation, next observation, action, reward
        and discount; no padding.
    access : Out(access_port())
        For each environment a row: the count of its open windows, then the words of their steps,
        0 for those that are none. A count that is written opens as many windows.
    settings : Out(window_settings)
        Of the last start.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "start": In(stream.Signature(window_settings(config))),
                "i": In(stream.Signature(TRANSITION)),
                "o": Out(stream.Signature(WINDOW)),
                "access": Out(access_port()),
                "settings": Out(window_settings(config)),
            }
        )

    @staticmethod
    def estimate(config):
        """Resources with ``config``."""
        slot, count = (config.slots - 1).bit_length(), config.longest.bit_length()
        return together(
            [
                area("learner.play.windows"),
                WeightedSum.estimate(config.longest),
                ScaledToFloat.estimate(_scaled(config)),
                Ram.estimate(32, config.environments * config.slots * config.entry, "block"),
                shallow_memory(32, config.observation),
                shallow_memory(slot + count, config.environments),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        config, mode = self.config, Signal(_Mode)
        m.submodules.weighted = weighted = WeightedSum(config.longest)
        m.submodules.to_float = to_float = ScaledToFloat(_scaled(config))
        settings = self.settings
        environment, last = Signal(range(config.environments)), Signal()
        came, starts, advance = Signal(), Signal(), Signal()
        m.d.comb += [
            last.eq(environment == config.environments - 1),
            came.eq(self.i.valid & self.i.ready),
            starts.eq(self.start.valid & self.start.ready),
        ]
        walk = self._walk(m, came | ((mode == _Mode.SEND) & advance), mode)
        m.d.comb += [
            self.start.ready.eq((mode == _Mode.TAKE) & walk.first),
            self.i.ready.eq((mode == _Mode.TAKE) & ~starts),
        ]

        # The window that closes: its slot, its rewards, and the windows that close after it.
        slot, open_before = self._opened(m, mode, environment, came & walk.last, settings)
        oldest, length = Signal.like(slot), Signal(range(config.longest + 1))
        more = Signal.like(length)
        fraction, terminated = Signal(6, reset_less=True), Signal(reset_less=True)
        ends, closes, sent = Signal(), Signal(), Signal()
        m.d.comb += [
            ends.eq(self.i.p.terminated | self.i.p.truncated),
            closes.eq(ends | (open_before + 1 == settings.n)),
            sent.eq((mode == _Mode.SEND) & advance & walk.last),
            weighted.weigh.eq((mode == _Mode.CLEAR) & last),
            weighted.sum.eq((came & walk.last & closes) | (sent & (more != 0))),
            weighted.n.eq(settings.n),
            weighted.discount.eq(settings.discount),
            weighted.scale.eq(settings.scale),
            weighted.length.eq(length),
        ]
        with m.If((mode == _Mode.CLEAR) | (came & walk.last & ~closes) | (sent & (more == 0))):
            m.d.sync += environment.eq(Mux(last, 0, environment + 1))
        with m.If(came & walk.last):
            m.d.sync += [
                fraction.eq(self.i.p.fraction),
                terminated.eq(self.i.p.terminated),
                oldest.eq(slot - open_before),
                length.eq(open_before + 1),
                more.eq(Mux(ends, open_before, 0)),
            ]
        with m.If(sent):
            m.d.sync += [oldest.eq(oldest + 1), length.eq(length - 1), more.eq(more - 1)]
            m.d.sync += mode.eq(_Mode.TAKE)
        with m.If(weighted.sum):
            m.d.sync += mode.eq(_Mode.SUM)
        with m.If(starts):
            m.d.sync += [settings.eq(self.start.p), environment.eq(0), mode.eq(_Mode.CLEAR)]
        with m.If(weighted.weigh):
            m.d.sync += mode.eq(_Mode.WEIGHTS)
        with m.If(weighted.done):
            m.d.sync += mode.eq(Mux(mode == _Mode.SUM, _Mode.CONVERT, _Mode.TAKE))

        # The discount follows the reward.
        second = Signal()
        m.d.comb += [
            to_float.i.valid.eq(mode == _Mode.CONVERT),
            to_float.i.p.raw.eq(Mux(second, Mux(terminated, 0, weighted.power), weighted.total)),
            to_float.i.p.fraction.eq(FRACTION + Mux(second, 0, fraction)),
        ]
        with m.If(to_float.i.valid & to_float.i.ready):
            m.d.sync += second.eq(~second)
            with m.If(second):
                m.d.sync += mode.eq(_Mode.SEND)
        self._memories(m, mode, walk, environment, slot, oldest, weighted, to_float, came, advance)
        return m

    def _walk(self, m, moves, mode):
        """A signal with ``field`` and ``word``, the place in a transition or an experience; and
        whether that is the ``first`` or the ``last`` one. ``moves`` : the place is left."""
        config = self.config
        widest = max(config.observation, config.action, 2)
        walk = Signal(
            data.StructLayout({"field": _Field, "word": range(widest), "first": 1, "last": 1})
        )
        field, word = Signal(_Field), Signal(range(widest))
        ends, final = Signal(), Signal(range(widest))
        with m.Switch(field):
            with m.Case(_Field.OBSERVATION, _Field.NEXT):
                m.d.comb += final.eq(config.observation - 1)
            with m.Case(_Field.ACTION):
                m.d.comb += final.eq(config.action - 1)
            with m.Default():
                m.d.comb += final.eq(mode == _Mode.SEND)
        m.d.comb += [
            ends.eq(word == final),
            walk.field.eq(field),
            walk.word.eq(word),
            walk.first.eq((field == _Field.OBSERVATION) & (word == 0)),
            walk.last.eq((field == _Field.NUMBERS) & ends),
        ]
        with m.If(moves):
            m.d.sync += word.eq(Mux(ends, 0, word + 1))
            with m.If(ends):  # NUMBERS is followed by OBSERVATION
                m.d.sync += field.eq(field.as_value() + 1)
        return walk

    def _opened(self, m, mode, environment, takes, settings):
        """``(slot, count)``: of the step that is taken, and windows that were open before it."""
        config = self.config
        layout = data.StructLayout(
            {"slot": range(config.slots), "count": range(config.longest + 1)}
        )
        access, counts = self.access, Signal()
        m.submodules.opened = opened = memory.Memory(
            shape=layout, depth=config.environments, init=[]
        )
        read, write = opened.read_port(domain="comb"), opened.write_port()
        ends, after = self.i.p.terminated | self.i.p.truncated, Signal.like(read.data.count)
        m.d.comb += [
            counts.eq(access.active & access.write & (access.word == 0)),
            read.addr.eq(Mux(access.active, access.row, environment)),
            write.addr.eq(Mux(access.active, access.row, environment)),
            write.en.eq(takes | (mode == _Mode.CLEAR) | counts),
            after.eq(read.data.count + 1),
        ]
        with m.If(access.active):
            m.d.comb += [write.data.slot.eq(access.value), write.data.count.eq(access.value)]
        with m.If(takes):
            m.d.comb += write.data.slot.eq(read.data.slot + 1)
            with m.If(~ends):
                m.d.comb += write.data.count.eq(Mux(after == settings.n, read.data.count, after))
        self._count = read.data.count
        return read.data.slot, read.data.count

    def _memories(
        self, m, mode, walk, environment, slot, oldest, weighted, to_float, came, advance
    ):
        """Words into the ring, and out again."""
        config = self.config
        m.submodules.ring = ring = Ram(
            width=32, depth=config.environments * config.slots * config.entry, style="block"
        )
        m.submodules.latest = latest = memory.Memory(
            shape=unsigned(32), depth=config.observation, init=[]
        )
        kept, shown = latest.write_port(), latest.read_port(domain="comb")
        reward_at = config.observation + config.action
        place, aged = Signal(range(config.entry)), Signal.like(slot)
        with m.Switch(walk.field):
            with m.Case(_Field.OBSERVATION):
                m.d.comb += place.eq(walk.word)
            with m.Case(_Field.ACTION):
                m.d.comb += place.eq(config.observation + walk.word)
            with m.Default():
                m.d.comb += place.eq(reward_at)
        sends, access = mode == _Mode.SEND, self.access
        # Rows are read from the oldest step on, and written from slot 0 on.
        count, kept_slot = self._count, Signal.like(slot)
        shown_step, first = (Signal(name=name, reset_less=True) for name in ("shown_step", "first"))
        s1_count = Signal.like(count, reset_less=True)
        m.d.comb += kept_slot.eq(slot - count + access.step)
        m.d.sync += [
            shown_step.eq(access.step < count),
            first.eq(access.word == 0),
            s1_count.eq(count),
        ]
        m.d.comb += [
            access.held.eq(Mux(first, s1_count, Mux(shown_step, ring.read_data, 0))),
            ring.write_enable.eq(came & (walk.field != _Field.NEXT)),
            ring.write_address.eq(Cat(place, slot, environment)),
            ring.write_data.eq(self.i.p.word),
            kept.en.eq(came & (walk.field == _Field.NEXT)),
            kept.addr.eq(walk.word),
            kept.data.eq(self.i.p.word),
            aged.eq(oldest + weighted.age),  # 0 while an experience is sent
            ring.read_enable.eq(advance | ~sends),
            ring.read_address.eq(Cat(Mux(sends, place, reward_at), aged, environment)),
            weighted.reward.eq(ring.read_data),
        ]
        with m.If(access.active):
            width = len(environment)
            at = access.place[: len(place)]
            m.d.comb += [
                ring.read_enable.eq(1),
                ring.read_address.eq(Cat(at, kept_slot, access.row[:width])),
                ring.write_enable.eq(access.write & (access.word != 0)),
                ring.write_address.eq(Cat(at, access.step[: len(slot)], access.row[:width])),
                ring.write_data.eq(access.value),
            ]
        s1_valid = delay(m, sends, 1, name="sends", enable=advance, reset=True)
        s1_field = delay(m, walk.field, 1, name="field", enable=advance)
        s1_word = delay(m, walk.word, 1, name="word", enable=advance)
        s1_last = delay(m, walk.last, 1, name="last", enable=advance)
        number = s1_field == _Field.NUMBERS
        m.d.comb += [
            shown.addr.eq(s1_word),
            self.o.valid.eq(s1_valid & (~number | to_float.o.valid)),
            self.o.p.word.eq(ring.read_data),
            self.o.p.last.eq(s1_last),
            to_float.o.ready.eq(s1_valid & number & self.o.ready),
            advance.eq(~s1_valid | (self.o.valid & self.o.ready)),
        ]
        with m.If(number):
            m.d.comb += self.o.p.word.eq(to_float.o.payload)
        with m.Elif(s1_field == _Field.NEXT):
            m.d.comb += self.o.p.word.eq(shown.data)

"""Returns and lengths of episodes, their records, and whether the goal is met.

A reward is added in its clock. An episode that ends takes six clocks more: its return becomes
binary32 and enters the window of the last episodes. ::

    reward -> return, length -> ends: window, sum -> to binary32 -> record
                    ^              |
                    +--- 0 --------+
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.config import ConfigBase, check_range
from hw.estimate import together
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.shell.layout import Field, Layout
from hw.stream.ram import Ram, shallow_memory

__all__ = ["EPISODE", "LARGEST_WINDOW", "LONGEST_EPISODE", "PLACED", "REWARD", "Episodes"]
__all__ += ["EpisodesConfig"]

EPISODE = Layout(
    "Episode",
    "An episode that ended.",
    (
        Field("step", "u32", "vector step in which it ended"),
        Field("environment", "u8", "which environment"),
        Field("end", "u8", "bit 0: terminated; bit 1: truncated"),
        Field("length", "u16", "its steps"),
        Field("total", "f32", "its return, a sum of rewards without discount and scale"),
        Field("reserved", "u32", "0"),
    ),
    size=16,
)

#: word : the reward of a step. fraction : its fraction bits.
#: terminated, truncated : whether the step has ended the episode, and how.
REWARD = data.StructLayout({"word": signed(32), "fraction": 6, "terminated": 1, "truncated": 1})

#: record : an EPISODE. place : its place in the ring.
PLACED = data.StructLayout({"place": 16, "record": EPISODE.shape})

#: Episodes in the largest window.
LARGEST_WINDOW = 128
_LENGTH = 16
#: Steps of the longest episode whose length and return are exact.
LONGEST_EPISODE = (1 << _LENGTH) - 1
_RETURN = 32 + _LENGTH
_SCALED = ScaledConfig(width=_RETURN)


@dataclass(frozen=True, kw_only=True)
class EpisodesConfig(ConfigBase):
    """Sizes of ``Episodes``.

    environments : 1..64.
    """

    environments: int = 8

    def __post_init__(self):
        check_range("environments", self.environments, 1, 64)

    @property
    def start_clocks(self):
        """Clocks of a start."""
        return 1 + self.environments

    def step_clocks(self, ended):
        """Clocks of a vector step that ends ``ended`` episodes, if nothing waits."""
        return self.environments + ended * (1 + ScaledToFloat.LATENCY)


class _Mode(Enum, shape=3):
    TAKE = 0
    CLEAR = 1
    ENDED = 2
    COUNT = 3
    SEND = 4


class Episodes(wiring.Component):
    """Sums the rewards of each environment's episode, and keeps the last returns.

    Returns are exact: an episode has at most ``LONGEST_EPISODE`` steps, the largest length of a
    record. ``hw.learner.play.play_contract`` says what wraps in a longer one.
    They have the fraction bits of the rewards, which are the same in all steps from a start on.

    Parameters
    ----------
    config : EpisodesConfig

    Members
    -------
    start : In(stream of {window})
        All episodes begin anew, and none has ended. ``window`` is 0..7: ``total`` has the last
        2^window episodes. The first start after a reset comes before any reward.
    i : In(stream of REWARD)
        A reward of each environment in turn, from environment 0 on after a start.
    step : In(32)
        Number of the vector step, for the records. Like ``records``, steady from its first reward
        until ``i`` is ready for another one.
    records : In(17)
        Records in the ring, a power of two up to 2^16; 0 for no records.
    goal : In(signed(64))
        Sum of returns, with their fraction bits.
    o : Out(stream of PLACED)
        The EPISODE of each episode that ended, and its place in the ring.
    ended : Out(32)
        Episodes that ended since the start. This and the outputs below count all rewards once ``i``
        is ready again.
    total : Out(signed(55)), full : Out(1)
        Sum of the last 2^window returns; and whether as many episodes ended. If not, it is the sum
        of all.
    met : Out(1)
        ``full``, and ``total`` is at least ``goal``.
    bar : Out(4)
        ``total`` is at least an eighth, a quarter, a half of ``goal`` (rounded down), and ``goal``.
    running, returns : Out(access_port())
        A row for each environment: the sum of its rewards, 64 bits, low word first, and its steps.
        A row for each place of the window: a return, 64 bits; 0 for one that is not in the window.
    window : Out(3)
        Of the last start.
    set : In(1), set_ended : In(32), set_total : In(signed(64))
        ``set``, a pulse after a start: ``ended`` and ``total`` become these.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "start": In(stream.Signature(data.StructLayout({"window": 3}))),
                "i": In(stream.Signature(REWARD)),
                "step": In(32),
                "records": In(17),
                "goal": In(signed(64)),
                "o": Out(stream.Signature(PLACED)),
                "ended": Out(32),
                "total": Out(signed(_RETURN + LARGEST_WINDOW.bit_length() - 1)),
                "full": Out(1),
                "met": Out(1),
                "bar": Out(4),
                "running": Out(access_port()),
                "returns": Out(access_port()),
                "window": Out(3),
                "set": In(1),
                "set_ended": In(32),
                "set_total": In(signed(64)),
            }
        )

    @staticmethod
    def estimate(config):
        """Resources with ``config``."""
        return together(
            [
                area("learner.play.episodes"),
                ScaledToFloat.estimate(_SCALED),
                shallow_memory(_RETURN + _LENGTH, config.environments),
                Ram.estimate(_RETURN, LARGEST_WINDOW, "block"),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        mode, environment = Signal(_Mode), Signal(range(self.config.environments))
        last, ends, turns = Signal(), Signal(), Signal()
        running = data.StructLayout({"total": signed(_RETURN), "length": _LENGTH})
        m.submodules.running = sums = memory.Memory(
            shape=running, depth=self.config.environments, init=[]
        )
        read, write = sums.read_port(domain="comb"), sums.write_port()
        episode, taken = Signal(running, reset_less=True), Signal(REWARD, reset_less=True)
        after, came = Signal(running), Signal()
        m.d.comb += [
            last.eq(environment == self.config.environments - 1),
            self.start.ready.eq((mode == _Mode.TAKE) & (environment == 0)),
            self.i.ready.eq((mode == _Mode.TAKE) & ~(self.start.valid & self.start.ready)),
            came.eq(self.i.valid & self.i.ready),
            ends.eq(self.i.p.terminated | self.i.p.truncated),
            after.total.eq(read.data.total + self.i.p.word),
            after.length.eq(read.data.length + 1),
            read.addr.eq(environment),
            write.addr.eq(environment),
            write.en.eq(came | (mode == _Mode.CLEAR)),
            write.data.eq(Mux(came & ~ends, after, 0)),
        ]
        access, sign = self.running, read.data.total[-1].replicate(64 - _RETURN)
        words = Array(
            [*(Cat(read.data.total, sign).word_select(k, 32) for k in range(2)), read.data.length]
        )
        m.d.sync += access.held.eq(words[access.word])
        with m.If(access.active):
            m.d.comb += [
                read.addr.eq(access.row),
                write.addr.eq(access.row),
                write.en.eq(access.write & (access.word == 2)),
                write.data.total.eq(Cat(access.before[1], access.before[0])),
                write.data.length.eq(access.value),
            ]
        with m.If(turns):
            m.d.sync += environment.eq(Mux(last, 0, environment + 1))
        sent = self._record(m, mode, environment, episode, taken)
        with m.Switch(mode):
            with m.Case(_Mode.TAKE):
                m.d.comb += turns.eq(came & ~ends)
                with m.If(came):
                    m.d.sync += [episode.eq(after), taken.eq(self.i.p)]
                with m.If(came & ends):
                    m.d.sync += mode.eq(_Mode.ENDED)
                with m.If(self.start.valid & self.start.ready):
                    m.d.sync += mode.eq(_Mode.CLEAR)
            with m.Case(_Mode.CLEAR):
                m.d.comb += turns.eq(1)
                with m.If(last):
                    m.d.sync += mode.eq(_Mode.TAKE)
            with m.Case(_Mode.ENDED):
                m.d.sync += mode.eq(_Mode.COUNT)
            with m.Case(_Mode.COUNT):
                m.d.sync += mode.eq(_Mode.SEND)
            with m.Default():  # SEND
                m.d.comb += turns.eq(sent)
                with m.If(sent):
                    m.d.sync += mode.eq(_Mode.TAKE)
        self._window(m, mode, episode)
        return m

    def _record(self, m, mode, environment, episode, taken):
        """Sends the record of ``episode``; returns whether that is done in this clock."""
        m.submodules.to_float = to_float = ScaledToFloat(_SCALED)
        keeps, sends, sent = Signal(), Signal(), Signal()
        record = self.o.p.record
        m.d.comb += [
            to_float.i.valid.eq(mode == _Mode.ENDED),
            to_float.i.p.raw.eq(episode.total),
            to_float.i.p.fraction.eq(taken.fraction),
            keeps.eq(self.records != 0),
            sends.eq((mode == _Mode.SEND) & to_float.o.valid),
            sent.eq(sends & (self.o.ready | ~keeps)),
            to_float.o.ready.eq(sent),
            self.o.valid.eq(sends & keeps),
            # Counted already.
            self.o.p.place.eq((self.ended - 1) & (self.records - 1)),
            record.step.eq(self.step),
            record.environment.eq(environment),
            record.end.eq(Cat(taken.terminated, taken.truncated)),
            record.length.eq(episode.length),
            record.total.eq(to_float.o.payload),
        ]
        return sent

    def _window(self, m, mode, episode):
        """The returns of the last episodes, and their sum."""
        bits = (LARGEST_WINDOW - 1).bit_length()
        m.submodules.returns = returns = Ram(width=_RETURN, depth=LARGEST_WINDOW, style="block")
        window, size = self.window, Signal(bits + 1)
        oldest = Signal(signed(_RETURN))
        m.d.comb += [
            size.eq(1 << window),
            # The window's oldest return is read before the newest one takes a place.
            returns.read_address.eq(self.ended[:bits] - size[:bits]),
            returns.write_enable.eq(mode == _Mode.COUNT),
            returns.write_address.eq(self.ended[:bits]),
            returns.write_data.eq(episode.total),
            oldest.eq(Mux(self.full, returns.read_data.as_signed(), 0)),
            self.bar.eq(Cat(self.total >= (self.goal >> k) for k in (3, 2, 1, 0))),
            self.met.eq(self.full & self.bar[-1]),
        ]
        access, low = self.returns, Signal()
        age, inside = Signal(bits), Signal(reset_less=True)
        # Episodes since the one at a place, less one.
        m.d.comb += age.eq(self.ended - 1 - access.row)
        m.d.sync += [
            low.eq(access.word == 0),
            inside.eq((age < size) & ((age < self.ended) | self.full)),
        ]
        whole = Cat(returns.read_data, returns.read_data[-1].replicate(64 - _RETURN))
        m.d.comb += access.held.eq(Mux(inside, Mux(low, whole[:32], whole[32:]), 0))
        with m.If(access.active):
            m.d.comb += [
                returns.read_address.eq(access.row),
                returns.write_enable.eq(access.write & (access.word == 1)),
                returns.write_address.eq(access.row),
                returns.write_data.eq(Cat(access.before[0], access.value)),
            ]
        with m.If(self.set):
            m.d.sync += [
                self.ended.eq(self.set_ended),
                self.total.eq(self.set_total),
                self.full.eq(self.set_ended >= size),
            ]
        with m.If(mode == _Mode.COUNT):
            m.d.sync += [
                self.ended.eq(self.ended + 1),
                self.total.eq(self.total + episode.total - oldest),
            ]
            # From here on it is full, also when the count of episodes wraps.
            with m.If(self.ended[: bits + 1] + 1 == size):
                m.d.sync += self.full.eq(1)
        with m.If(self.start.valid & self.start.ready):
            m.d.sync += [
                window.eq(self.start.p.window),
                self.ended.eq(0),
                self.total.eq(0),
                self.full.eq(0),
            ]


def access_port():
    """The signature of a port for words of a table, as the unit with the table sees it.

    Members
    -------
    active : In(1)
        The port is used, while the unit is idle.
    row, word : In(7), In(16)
        Place of a word in its table; steady while ``active``, but for the clock after ``write``.
    step, place : In(5), In(8)
        Of a word of windows: the step in its row, the oldest is 0, and its place in the step.
    write : In(1), value : In(32)
        ``write``, a pulse: the word becomes ``value``.
    before : In([2] of 32)
        The words before ``value``, the last one first.
    held : Out(32)
        The word, from the clock after its place came on.
    """
    return wiring.Signature(
        {
            "active": In(1),
            "row": In(7),
            "word": In(16),
            "step": In(5),
            "place": In(8),
            "write": In(1),
            "value": In(32),
            "before": In(data.ArrayLayout(32, 2)),
            "held": Out(32),
        }
    )

"""SAVE and RESUME: the words of all tables that a player has, out and in.

A word every two clocks out, a word a clock in. Words are walked table by table, row by row; the
order is the contract's. ::

    SAVE     ROWS: header, states, observations, running, windows, returns
    RESUME   HEADER -> CHECK -> PREPARE -> ROWS: states, .. -> (DROP)
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.environment.task_program import REGISTERS
from hw.learner.network.outputs import pack_numbers
from hw.learner.play.episodes import LARGEST_WINDOW, access_port
from hw.learner.play.play_contract import SAVED, saved_tables, saved_words
from hw.stream.split import Split

__all__ = ["Saver"]

_HEADER = SAVED.size // 4


class _Mode(Enum, shape=3):
    IDLE = 0
    HEADER = 1
    CHECK = 2
    PREPARE = 3
    ADDRESS = 4  # of a word that is saved
    WORD = 5
    TAKE = 6  # a word that comes
    DROP = 7


class _Table(Enum, shape=3):
    """The tables of ``saved_tables``, in order."""

    SAVED = 0
    STATES = 1
    OBSERVATIONS = 2
    RUNNING = 3
    WINDOWS = 4
    RETURNS = 5
    END = 6


class Saver(wiring.Component):
    """Writes and takes what environments, windows and episodes hold.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    save, resume : In(1)
        Pulses: begin.
    done : Out(1)
        A pulse: the last word has been sent or taken.
    wrong : Out(1), position : Out(16)
        RESUME found a wrong word, the first one of all words; valid with ``done``.
    now : In(SAVED), header : Out(SAVED)
        The header that SAVE writes; the one that RESUME has taken.
    begin : Out(1), ready : In(1)
        A pulse: windows and episodes begin with ``header``; a pulse when they have. Then ``set``.
    set : Out(1)
        A pulse: generator and episodes take ``header``, even of one that is wrong.
    states_begin : Out(1)
        A pulse: the machine's SAVE or RESTORE begins.
    states : In(6)
        Words of an environment's state.
    state_o, state_i : In, Out(stream of 32 bits)
        From and to the machine.
    observations, running, windows, returns : In(access_port())
    beats, reply : In, Out(stream of beats)
        The words of RESUME, of SAVE.
    """

    def __init__(self, config):
        self.config, width = config, config.engine.data_width
        word, beats = stream.Signature(signed(32)), stream.Signature(unsigned(width))
        tables = ("observations", "running", "windows", "returns")
        super().__init__(
            {
                "save": In(1),
                "resume": In(1),
                "done": Out(1),
                "wrong": Out(1),
                "position": Out(16),
                "now": In(SAVED.shape),
                "header": Out(SAVED.shape),
                "begin": Out(1),
                "ready": In(1),
                "set": Out(1),
                "states_begin": Out(1),
                "states": In(range(REGISTERS + 1)),
                "state_o": In(word),
                "state_i": Out(word),
                **dict.fromkeys(tables, In(access_port())),
                "beats": In(beats),
                "reply": Out(beats),
            }
        )

    def elaborate(self, platform):
        m = Module()
        total = sum(saved_words(self.config).values())
        m.submodules.split = split = Split(32, len(self.beats.payload) // 32)
        pack = pack_numbers(m, self.reply)
        connect(m, flipped(self.beats), split.i)
        mode, table = Signal(_Mode), Signal(_Table)
        row, word = Signal(range(LARGEST_WINDOW)), Signal(16)
        step, place = Signal(5), Signal(8)
        at, counted = Signal(range(total + 1)), Signal()
        before = Signal.like(self.running.before, reset_less=True)
        last_row, last_word, moves = Signal(), Signal(), Signal()
        self._walk = SimpleNamespace(
            mode=mode, table=table, row=row, word=word, step=step, place=place, at=at, total=total,
            last_row=last_row, last_word=last_word, moves=moves, counted=counted,
        )  # fmt: skip
        with m.Switch(table):
            for name, (count, words) in saved_tables(self.config).items():
                with m.Case(_Table[name.upper()]):
                    m.d.comb += [last_row.eq(row == count - 1), last_word.eq(word == words - 1)]

        # A word of an environment's state that the machine has, or its padding.
        stated, held, there = Signal(), Signal(32), Signal()
        ports = {
            _Table.OBSERVATIONS: self.observations,
            _Table.RUNNING: self.running,
            _Table.WINDOWS: self.windows,
            _Table.RETURNS: self.returns,
        }
        header = Value.cast(self.header)
        m.d.comb += [
            stated.eq((table == _Table.STATES) & (word < self.states)),
            there.eq(~stated | self.state_o.valid),
            held.eq(Mux(table == _Table.SAVED, header[:32], Mux(stated, self.state_o.payload, 0))),
            pack.i.p.data.eq(held),
            pack.i.p.last.eq(at == total - 1),
            pack.i.valid.eq((mode == _Mode.WORD) & there),
            self.state_o.ready.eq((mode == _Mode.WORD) & stated & pack.i.ready),
            self.state_i.payload.eq(split.o.p.data),
            self.state_i.valid.eq((mode == _Mode.TAKE) & stated & split.o.valid),
            split.count.payload.eq(total),
            split.count.valid.eq(counted),
            split.o.ready.eq(
                (mode == _Mode.HEADER)
                | (mode == _Mode.DROP)
                | ((mode == _Mode.TAKE) & (~stated | self.state_i.ready))
            ),
            moves.eq(split.o.valid & split.o.ready),
        ]
        for name, port in ports.items():
            m.d.comb += [
                port.active.eq((table == name) & (mode != _Mode.IDLE)),
                port.row.eq(row),
                port.word.eq(word),
                port.step.eq(step),
                port.place.eq(place),
                port.value.eq(split.o.p.data),
                port.before.eq(before),
                port.write.eq(moves & (mode == _Mode.TAKE) & (table == name)),
            ]
            with m.If(table == name):
                m.d.comb += held.eq(port.held)
        with m.If(split.count.valid & split.count.ready):
            m.d.sync += counted.eq(0)
        with m.If(moves):
            m.d.sync += [before[0].eq(split.o.p.data), before[1].eq(before[0])]
        self._run(m, split, pack)
        return m

    def _run(self, m, split, pack):
        """The walk."""
        walk, play = self._walk, self.config.play
        mode, table, word, at, total = walk.mode, walk.table, walk.word, walk.at, walk.total
        row, step, place, moves = walk.row, walk.step, walk.place, walk.moves
        last_observed, header = self.config.learner.observation + 1, Value.cast(self.header)

        def wrong(position):
            with m.If(~self.wrong):
                m.d.sync += [self.wrong.eq(1), self.position.eq(position)]

        def go(then):
            """The next word; after the last one of a table, the next table."""
            m.d.sync += [at.eq(at + 1), word.eq(word + 1), mode.eq(then)]
            with m.If((table == _Table.WINDOWS) & (word != 0)):
                m.d.sync += place.eq(place + 1)
                with m.If(place == last_observed):
                    m.d.sync += [place.eq(0), step.eq(step + 1)]
            with m.If(walk.last_word):
                m.d.sync += [word.eq(0), place.eq(0), step.eq(0), row.eq(row + 1)]
                with m.If(walk.last_row):
                    m.d.sync += [row.eq(0), table.eq(table.as_value() + 1)]
                    m.d.comb += self.states_begin.eq(table == _Table.SAVED)

        with m.Switch(mode):
            with m.Case(_Mode.IDLE):
                m.d.sync += [at.eq(0), word.eq(0), row.eq(0), step.eq(0), place.eq(0)]
                m.d.sync += table.eq(_Table.SAVED)
                with m.If(self.save):
                    m.d.sync += [header.eq(self.now), mode.eq(_Mode.ADDRESS), self.wrong.eq(0)]
                with m.If(self.resume):
                    m.d.sync += [walk.counted.eq(1), mode.eq(_Mode.HEADER), self.wrong.eq(0)]
            with m.Case(_Mode.ADDRESS):
                m.d.sync += mode.eq(_Mode.WORD)
            with m.Case(_Mode.WORD):
                with m.If(pack.i.valid & pack.i.ready):
                    with m.If(table == _Table.SAVED):
                        m.d.sync += header.eq(header >> 32)
                    go(_Mode.ADDRESS)
                    with m.If(at == total - 1):
                        m.d.comb += self.done.eq(1)
                        m.d.sync += mode.eq(_Mode.IDLE)
            with m.Case(_Mode.HEADER):
                with m.If(moves):
                    m.d.sync += [header.eq(Cat(header, split.o.p.data)[32:]), at.eq(at + 1)]
                    with m.If(at == _HEADER - 1):
                        m.d.sync += mode.eq(_Mode.CHECK)
            with m.Case(_Mode.CHECK):
                saved = self.header
                m.d.sync += mode.eq(_Mode.PREPARE)
                m.d.comb += self.begin.eq(1)
                for position, broken in reversed([*enumerate((
                    (saved.n == 0) | (saved.n > play.longest),
                    saved.window > 7,
                    saved.discount > 1 << 31,
                ))]):  # fmt: skip
                    with m.If(broken):
                        m.d.comb += [self.begin.eq(0), self.set.eq(1)]
                        m.d.sync += [
                            self.wrong.eq(1), self.position.eq(position), mode.eq(_Mode.DROP)
                        ]  # fmt: skip
            with m.Case(_Mode.PREPARE):
                m.d.comb += self.set.eq(self.ready)
                with m.If(self.ready):
                    m.d.comb += self.states_begin.eq(1)
                    m.d.sync += [table.eq(_Table.STATES), mode.eq(_Mode.TAKE)]
            with m.Case(_Mode.TAKE):
                with m.If(moves):
                    counts = (table == _Table.WINDOWS) & (word == 0)
                    with m.If(counts & (split.o.p.data >= self.header.n)):
                        wrong(at)
                    go(_Mode.TAKE)
                    with m.If(split.o.p.last):
                        m.d.comb += self.done.eq(1)
                        m.d.sync += mode.eq(_Mode.IDLE)
            with m.Default():  # DROP
                with m.If(moves & split.o.p.last):
                    m.d.comb += self.done.eq(1)
                    m.d.sync += mode.eq(_Mode.IDLE)

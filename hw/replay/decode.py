"""Decodes a command of the replay core: what it moves, and whether it breaks a rule.

The outputs are right two clocks after ``raw``, and stay so with it.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.commands import (
    BATCHES,
    COMMANDS,
    GRANULE_BYTES,
    ITEM,
    LISTS,
    MAX_COUNT,
    MAX_GRANULES,
    MAX_TRANSFER,
    Error,
    Opcode,
)
from hw.replay.ring import whole_beats
from hw.shell.program import COMMAND_BYTES

__all__ = ["Decode"]


class Decode(wiring.Component):
    """
    Parameters
    ----------
    config : ReplayConfig
    beat_bytes : int

    Members
    -------
    raw : In(512)
        The command as in memory.
    capacity, granules, fill, empty : In
        State of the memory; ``empty``: the total is 0.
    operands_bytes, results_bytes : In(32)
    opcode, count, source, destination : Out
        Fields of every command.
    is_insert, is_sample, is_list, is_batch : Out(1)
        ``is_list``: items come from operands. ``is_batch``: records go to results.
    payload : Out
        Granules of experience in each record of a batch.
    source_beats, destination_beats : Out
        What the command reads of operands and writes to results.
    error : Out(32)
        Why the command as a whole is refused; of several reasons the first of the list below.
    """

    def __init__(self, config, beat_bytes):
        self.config, self.beat_bytes = config, beat_bytes
        places = range(config.capacity + 1)
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                "capacity": In(places),
                "granules": In(range(MAX_GRANULES + 1)),
                "fill": In(places),
                "empty": In(1),
                "operands_bytes": In(32),
                "results_bytes": In(32),
                "opcode": Out(Opcode),
                "count": Out(range(MAX_COUNT + 1)),
                "source": Out(32),
                "destination": Out(32),
                "is_insert": Out(1),
                "is_sample": Out(1),
                "is_list": Out(1),
                "is_batch": Out(1),
                "payload": Out(range(MAX_GRANULES + 1)),
                "source_beats": Out(24),
                "destination_beats": Out(24),
                "error": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = {opcode: data.View(layout.shape, self.raw) for opcode, layout in COMMANDS.items()}
        head = command[Opcode.SET]
        known = Signal()

        def is_one_of(*opcodes):
            return Cat(head.opcode == o.value for o in opcodes).any()

        m.d.comb += [
            self.opcode.eq(head.opcode),
            self.count.eq(head.count),
            self.source.eq(head.source),
            self.destination.eq(head.destination),
            self.is_insert.eq(is_one_of(Opcode.INSERT)),
            self.is_sample.eq(is_one_of(Opcode.SAMPLE)),
            self.is_list.eq(is_one_of(*LISTS)),
            self.is_batch.eq(is_one_of(*BATCHES)),
            known.eq(is_one_of(*COMMANDS)),
            self.payload.eq(Mux(head.opcode == Opcode.GET.value, 0, self.granules)),
        ]

        # Sizes: granules moved, then bytes of either buffer.
        transfer = Signal(32, reset_less=True)
        source_bytes = Signal(36, reset_less=True)
        destination_bytes = Signal(36, reset_less=True)
        m.d.sync += [
            transfer.eq(self.count * (self.payload + ~self.is_insert)),
            source_bytes.eq(
                Mux(
                    self.is_list,
                    self.count * ITEM.size,
                    Mux(self.is_insert, transfer * GRANULE_BYTES, 0),
                )
            ),
            destination_bytes.eq(Mux(self.is_batch, transfer * GRANULE_BYTES, 0)),
        ]
        m.d.comb += [
            self.source_beats.eq(whole_beats(source_bytes, self.beat_bytes)),
            self.destination_beats.eq(whole_beats(destination_bytes, self.beat_bytes)),
        ]

        limit = self.config.priority_limit
        setup, restore = command[Opcode.SETUP], command[Opcode.RESTORE]
        setup_wrong = (
            (setup.capacity < 2)
            | (setup.capacity > self.config.capacity)
            | (setup.granules > MAX_GRANULES)
            | (setup.priority == 0)
            | (setup.priority > limit)
        )
        restore_wrong = (
            (restore.position >= self.capacity)
            | (restore.fill > self.capacity)
            | (restore.maximum > limit)
        )
        counted = self.is_insert | self.is_sample | self.is_list
        rules = [
            (~known, Error.OPCODE),
            (counted & ((head.count == 0) | (head.count > MAX_COUNT)), Error.COUNT),
            (self.is_insert & (head.count > self.capacity), Error.COUNT),
            ((self.is_insert | self.is_batch) & (transfer > MAX_TRANSFER), Error.COUNT),
            ((head.opcode == Opcode.SETUP.value) & setup_wrong, Error.SETUP),
            ((head.opcode == Opcode.RESTORE.value) & restore_wrong, Error.SETUP),
            (self.is_insert & (command[Opcode.INSERT].priority > limit), Error.PRIORITY),
            (self.is_sample & (head.count > self.fill), Error.FILL),
            (self.is_sample & self.empty, Error.EMPTY),
            (
                (self.is_list | self.is_insert)
                & ((head.source[:6] != 0) | (head.source + source_bytes > self.operands_bytes)),
                Error.OPERANDS,
            ),
            (
                self.is_batch
                & (
                    (head.destination[:6] != 0)
                    | (head.destination + destination_bytes > self.results_bytes)
                ),
                Error.RESULTS,
            ),
        ]
        for condition, code in reversed(rules):
            with m.If(condition):
                m.d.comb += self.error.eq(code)
        return m

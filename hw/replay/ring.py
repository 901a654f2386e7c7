"""The ring of experiences: how many, how large, where the next one goes, and at what priority."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.commands import COMMANDS, GRANULE_BYTES, MAX_GRANULES, Opcode
from hw.shell.program import COMMAND_BYTES

__all__ = ["Ring", "whole_beats"]


def whole_beats(size, beat_bytes):
    """``ceil(size / beat_bytes)`` of a value, ``beat_bytes`` a power of two."""
    shift = beat_bytes.bit_length() - 1
    return size[shift:] + size[:shift].any()


class Ring(wiring.Component):
    """State that SETUP and RESTORE write and INSERT advances; what the status block shows of it.

    An experience enters with the priority of the INSERT command, or the largest so far, or, before
    any, that of SETUP (Schaul et al. 2016, algorithm 1, line 6).

    Parameters
    ----------
    config : ReplayConfig
    beat_bytes : int

    Members
    -------
    raw : In(512)
        The command as in memory.
    setup, restore, advance, saturated : In(1)
        One clock each: take SETUP's or RESTORE's fields; one experience more; one clipped priority.
    largest : In(priority_width)
        Largest priority that the manager has SET.
    capacity, granules, stride, position, fill : Out
        ``stride``: beats from one experience to the next.
    maximum, entry : Out(priority_width)
        Largest priority since SETUP; priority of the experience that enters now.
    saturations : Out(32)
    """

    def __init__(self, config, beat_bytes):
        self.config, self.beat_bytes = config, beat_bytes
        places, size = range(config.capacity + 1), range(MAX_GRANULES + 1)
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                **{name: In(1) for name in ("setup", "restore", "advance", "saturated")},
                "largest": In(config.priority_width),
                "capacity": Out(places, init=config.capacity),
                "granules": Out(size),
                "stride": Out(size),
                "position": Out(places),
                "fill": Out(places),
                "maximum": Out(config.priority_width),
                "entry": Out(config.priority_width),
                "saturations": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        setup, restore, insert = (
            data.View(COMMANDS[opcode].shape, self.raw)
            for opcode in (Opcode.SETUP, Opcode.RESTORE, Opcode.INSERT)
        )
        initial = Signal(self.config.priority_width, init=self.config.one)
        restored = Signal(self.config.priority_width)
        m.d.comb += [
            self.maximum.eq(Mux(self.largest > restored, self.largest, restored)),
            self.entry.eq(
                Mux(insert.priority != 0, insert.priority,
                    Mux(self.maximum != 0, self.maximum, initial))
            ),
        ]  # fmt: skip
        with m.If(self.setup):
            m.d.sync += [
                self.capacity.eq(setup.capacity),
                self.granules.eq(setup.granules),
                self.stride.eq(whole_beats(setup.granules * GRANULE_BYTES, self.beat_bytes)),
                initial.eq(setup.priority),
                restored.eq(0),
                self.position.eq(0),
                self.fill.eq(0),
                self.saturations.eq(0),
            ]
        with m.Elif(self.restore):
            m.d.sync += [
                self.position.eq(restore.position),
                self.fill.eq(restore.fill),
                restored.eq(restore.maximum),
            ]
        with m.Elif(self.advance):
            last = self.position == self.capacity - 1
            m.d.sync += self.position.eq(Mux(last, 0, self.position + 1))
            with m.If(self.fill != self.capacity):
                m.d.sync += self.fill.eq(self.fill + 1)
        with m.Elif(self.saturated & ~self.saturations.all()):
            m.d.sync += self.saturations.eq(self.saturations + 1)
        return m

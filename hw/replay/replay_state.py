"""The state of storage: number and size of experiences, and place and priority of the next one."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.replay.commands import COMMANDS, MAX_GRANULES, Opcode
from hw.replay.records import GRANULE_BYTES
from hw.shell.command import round_up
from hw.shell.program import COMMAND_BYTES

__all__ = ["ReplayState", "state_shapes"]


def state_shapes(config, beat_bytes):
    """``{name: shape}`` of the members of a ``ReplayState`` that the rules of commands read.

    ``beat_bytes``: bytes of a beat, as in ``ReplayState``.
    """
    largest = round_up(MAX_GRANULES, beat_bytes // GRANULE_BYTES)
    return {
        "capacity": range(config.capacity + 1),
        "granules": range(MAX_GRANULES + 1),
        "extent": range(config.capacity * largest + 1),
        "fill": range(config.capacity + 1),
    }


class ReplayState(wiring.Component):
    """Holds the state that SETUP and RESTORE write, that INSERT advances, and that the status block
    shows.

    An experience enters with the priority of its INSERT. If the command has none, it enters with
    the largest priority so far, or, before there is one, with SETUP's (Schaul et al. 2016,
    algorithm 1, line 6).

    Parameters
    ----------
    config : ReplayConfig
    beat_bytes : int
        Bytes of a beat: an experience begins on a beat.

    Members
    -------
    raw : In(512)
        The command's 64 bytes.
    setup, restore, advance, saturated : In(1)
        Pulses: take the fields of SETUP, or of RESTORE; one experience more; one more clipped
        priority.
    transfer : In
        With ``setup``: the granules of all places of storage together.
    priority : In(priority_width)
        While an INSERT is executed: the priority that it gives its experiences, or 0 for none.
    mark, rewind : In(1)
        Pulses: remember position and fill; return to the remembered ones.
    largest : In(priority_width)
        Largest priority that the manager has SET.
    capacity, granules, stride, extent, position, fill : Out
        ``capacity``: places. ``granules``: of an experience. ``stride``: beats from one place to
        the next. ``extent``: SETUP's ``transfer``. ``position``: place of the next experience.
        ``fill``: experiences stored.
    maximum, entry : Out(priority_width)
        ``maximum``: the largest priority since SETUP, or RESTORE's if that is larger. ``entry``:
        the priority with which the next experience enters: ``priority`` if it is not 0, otherwise
        ``maximum`` if it is not 0, otherwise SETUP's.
    saturations : Out(32)
        Clipped priorities since SETUP; it stays at its largest value.
    """

    def __init__(self, config, beat_bytes):
        self.config, self.beat_bytes = config, beat_bytes
        places, size = range(config.capacity + 1), range(MAX_GRANULES + 1)
        extent = state_shapes(config, beat_bytes)["extent"]
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                **{
                    name: In(1)
                    for name in ("setup", "restore", "advance", "saturated", "mark", "rewind")
                },
                "transfer": In(extent),
                "priority": In(config.priority_width),
                "largest": In(config.priority_width),
                "capacity": Out(places, init=config.capacity),
                "granules": Out(size),
                "stride": Out(size),
                "extent": Out(extent),
                "position": Out(places),
                "fill": Out(places),
                "maximum": Out(config.priority_width),
                "entry": Out(config.priority_width),
                "saturations": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        setup, restore = (
            data.View(COMMANDS[opcode].shape, self.raw) for opcode in (Opcode.SETUP, Opcode.RESTORE)
        )
        granules = self.beat_bytes // GRANULE_BYTES
        kept_position, kept_fill = Signal.like(self.position), Signal.like(self.fill)
        with m.If(self.mark):
            m.d.sync += [kept_position.eq(self.position), kept_fill.eq(self.fill)]
        initial = Signal(self.config.priority_width, init=self.config.one)
        restored = Signal(self.config.priority_width)
        m.d.comb += [
            self.maximum.eq(Mux(self.largest > restored, self.largest, restored)),
            self.entry.eq(
                Mux(self.priority != 0, self.priority,
                    Mux(self.maximum != 0, self.maximum, initial))
            ),
        ]  # fmt: skip
        with m.If(self.setup):
            m.d.sync += [
                self.capacity.eq(setup.capacity),
                self.granules.eq(setup.granules),
                self.stride.eq(round_up(setup.granules, granules) >> exact_log2(granules)),
                self.extent.eq(self.transfer),
                initial.eq(setup.priority),
                restored.eq(0),
                self.position.eq(0),
                self.fill.eq(0),
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
        with m.Elif(self.rewind):
            m.d.sync += [self.position.eq(kept_position), self.fill.eq(kept_fill)]
        # Beside an advance: a TD error of an INSERT may be clipped.
        with m.If(self.setup):
            m.d.sync += self.saturations.eq(0)
        with m.Elif(self.saturated & ~self.saturations.all()):
            m.d.sync += self.saturations.eq(self.saturations + 1)
        return m

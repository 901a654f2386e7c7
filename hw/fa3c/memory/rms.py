"""RMSProp and the traffic of parameters: all that reads or writes theta and squares (FA3C 4.2.3).

Commands run one after the other; a command ends when memory has answered its last write. An UPDATE
reads two rows and writes two rows for each row of the gradient, so it takes two clocks a row, or
16 / rms_units clocks if that is more. The other commands take one clock a row. The clocks of an
UPDATE: ``update_clocks.py``.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.memory.rms_command import RMS_COMMAND, RmsKind
from hw.fa3c.memory.rms_unit import RMS_COEFFICIENTS
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.memory.transposed_image import TransposedImage
from hw.fa3c.rows import ROW_WIDTH
from hw.shell.ports import read_port, write_port

__all__ = ["Rms"]


class Rms(wiring.Component):
    """Executes ``RMS_COMMAND``; reads begin only when memory has answered all earlier writes.

    UPDATE takes groups * (depth + 1) rows of ``gradients[unit]``; it does not touch the padding
    rows at the end of a group. LOAD and STORE move ``theta_rows`` rows, a SYNC ``snapshot_rows``.

    With the layout "alt2", rows of theta that UPDATE and LOAD write go to its transposed image too:
    weights of all layers but the first, and whatever LOAD writes there.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    command : In(stream.Signature(RMS_COMMAND))
        Commands; each is taken while no other command is executed.
    done : Out(1)
        One clock for each command, when all its rows have moved and all its writes are answered.
    theta, squares : In(64)
        Byte addresses of the two images: multiples of a row, steady.
    gradients : In(stream.Signature(unsigned(512))).array(units)
        Gradient rows of each compute unit, for UPDATE.
    theta_read, squares_read : Out(read_port(512))
        Reads of the two images.
    theta_write, squares_write : Out(write_port(512))
        Writes to the two images.
    transposed_write : Out(write_port(512))
        Writes to the transposed image; there if the config has ``transposed_rows``.
    snapshot_write : Out(write_port(512))
        Byte addresses in the space of snapshots: snapshot s begins at row s * snapshot_rows.
    words : In(stream.Signature(unsigned(512)))
        Rows that LOAD writes to memory.
    reply : Out(stream.Signature(unsigned(512)))
        Rows that STORE reads from memory.
    overflow : Out(2)
        A bit is high for one clock for each row, before ``done`` of the UPDATE, if the new row of
        theta (bit 0) or of squares (bit 1) has a number that is infinite or a NaN.
    """

    def __init__(self, config):
        self.config, self._twofold = config, config.transposed_rows > 0
        row = stream.Signature(unsigned(ROW_WIDTH))
        super().__init__(
            {
                "command": In(stream.Signature(RMS_COMMAND)),
                "done": Out(1),
                "theta": In(64),
                "squares": In(64),
                "gradients": In(row).array(len(config.units)),
                **{f"{name}_read": Out(read_port(ROW_WIDTH)) for name in ("theta", "squares")},
                **{
                    f"{name}_write": Out(write_port(ROW_WIDTH))
                    for name in ("theta", "squares", "snapshot")
                },
                **({"transposed_write": Out(write_port(ROW_WIDTH))} if self._twofold else {}),
                "words": In(row),
                "reply": Out(row),
                "overflow": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, command = self.config, self.command.payload
        running, take = Signal(), Signal()
        current = Signal(RMS_COMMAND, reset_less=True)
        m.d.comb += [self.command.ready.eq(~running), take.eq(self.command.valid & ~running)]
        with m.If(take):
            m.d.sync += [running.eq(1), current.eq(command)]
        kind = {each: Signal(name=each.name.lower()) for each in RmsKind}
        for each, signal in kind.items():
            m.d.comb += signal.eq(running & (current.kind == each))

        groups = self._walk(m, take)
        written = {name: getattr(self, f"{name}_write").data for name in ("theta", "squares")}
        # A command waits for the tokens of its writes, and LOAD and STORE for their rows.
        most = 3 * max(layer.groups for layer in config.layers)
        tokens, rows = Signal(range(most + 1)), Signal(range(config.theta_rows + 1))
        writes = [self.theta_write, self.squares_write, self.snapshot_write]
        copies = 0  # writes of the command to the transposed image
        if self._twofold:
            writes.append(self.transposed_write)
            written["theta"], copies = self._fork(m, take, kind, current, groups, rows)
        came = sum((port.done.valid for port in writes), C(0, 1))
        m.d.comb += [port.done.ready.eq(1) for port in writes]
        m.d.comb += self.done.eq(running & (tokens == 0) & (rows == 0))
        with m.If(take):
            writes_any = command.kind != RmsKind.STORE
            update = command.kind == RmsKind.UPDATE
            moves = (command.kind == RmsKind.LOAD) | (command.kind == RmsKind.STORE)
            m.d.sync += [
                tokens.eq(Mux(update, groups << 1, writes_any) + copies),
                rows.eq(Mux(moves, config.theta_rows, 0)),
            ]
        with m.Elif(self.done):
            m.d.sync += running.eq(0)
        with m.Else():
            moved = (self.words.valid & self.words.ready) | (self.reply.valid & self.reply.ready)
            m.d.sync += [tokens.eq(tokens - came), rows.eq(rows - moved)]

        self._update(m, kind, current, written)
        self._move(m, kind, current.squares, rows != 0, written)
        return m

    def _walk(self, m, take):
        """Requests of the command that is taken; returns the number of groups of its layer."""
        config, command = self.config, self.command.payload
        space = max(2, config.snapshots) * config.snapshot_rows
        m.submodules.reads = reads = RunWalk(2, space)
        m.submodules.writes = writes = RunWalk(3, space)
        for number, name in enumerate(("theta", "squares", "snapshot")):
            for walk, direction in ((reads, "read"), (writes, "write")):
                if name == "snapshot" and direction == "read":
                    continue
                port = getattr(self, f"{name}_{direction}")
                wiring.connect(m, walk.requests[number], wiring.flipped(port.request))
                m.d.comb += walk.bases[number].eq(0 if name == "snapshot" else getattr(self, name))

        layers = config.layers
        tables = {
            "row": config.parameter_bases,
            "step": [layer.group_rows for layer in layers],
            "beats": [layer.depth + 1 for layer in layers],
            "count": [layer.groups for layer in layers],
        }
        layer = {name: Array(values)[command.layer] for name, values in tables.items()}
        snapshots = Array(s * config.snapshot_rows for s in range(config.snapshots))
        update = command.kind == RmsKind.UPDATE
        sync = command.kind == RmsKind.SYNC
        whole = Mux(sync, config.snapshot_rows, config.theta_rows)
        for walk in (reads, writes):
            run = walk.runs.p
            m.d.comb += [
                walk.runs.valid.eq(take),
                run.row.eq(Mux(update, layer["row"], 0)),
                run.step.eq(layer["step"]),
                run.beats.eq(Mux(update, layer["beats"], whole)),
                run.count.eq(Mux(update, layer["count"], 1)),
            ]
        one = Cat(~command.squares, command.squares)
        with m.Switch(command.kind):
            with m.Case(RmsKind.UPDATE):
                m.d.comb += [reads.runs.p.targets.eq(0b11), writes.runs.p.targets.eq(0b11)]
            with m.Case(RmsKind.SYNC):
                m.d.comb += [reads.runs.p.targets.eq(0b01), writes.runs.p.targets.eq(0b100)]
            with m.Case(RmsKind.LOAD):
                m.d.comb += writes.runs.p.targets.eq(one)
            with m.Case(RmsKind.STORE):
                m.d.comb += reads.runs.p.targets.eq(one)
        with m.If(sync):
            m.d.comb += writes.runs.p.row.eq(snapshots[command.snapshot])
        return layer["count"]

    def _fork(self, m, take, kind, current, groups, left):
        """Rows of theta that are written go to the transposed image, too. Returns the stream of
        these rows, and how many writes the command that is taken makes to that image.

        left : rows of a LOAD that have not moved
        """
        config, command = self.config, self.command.payload
        m.submodules.transposed = image = TransposedImage(config)
        rows, port = stream.Signature(unsigned(ROW_WIDTH)).create(), self.theta_write.data
        update, copied = command.kind == RmsKind.UPDATE, Signal()
        loads = (command.kind == RmsKind.LOAD) & ~command.squares
        place, depths = Signal(range(config.theta_rows)), [layer.depth for layer in config.layers]
        bias, goes = Signal(), Signal()  # the row is one of biases; it goes to the image
        wiring.connect(m, image.write, wiring.flipped(self.transposed_write))
        m.d.comb += [
            copied.eq((update & (command.layer != 0)) | loads),
            image.theta.eq(self.theta),
            image.take.eq(take & copied),
            image.update.eq(update),
            image.layer.eq(command.layer),
            bias.eq(place == Array(depths)[current.layer]),
            goes.eq(
                (kind[RmsKind.UPDATE] & (current.layer != 0) & ~bias)
                | (kind[RmsKind.LOAD] & (left <= config.transposed_rows))
            ),
            port.payload.eq(rows.payload),
            image.rows.payload.eq(rows.payload),
            port.valid.eq(rows.valid & (image.rows.ready | ~goes)),
            image.rows.valid.eq(rows.valid & port.ready & goes),
            rows.ready.eq(port.ready & (image.rows.ready | ~goes)),
        ]
        with m.If(rows.valid & rows.ready & kind[RmsKind.UPDATE]):
            m.d.sync += place.eq(Mux(bias, 0, place + 1))
        return rows, Mux(copied, Mux(update, groups, 1), 0)

    def _update(self, m, kind, current, written):
        """Rows of memory and rows of a gradient pass through the RUs."""
        m.submodules.update = update = RowUpdate(self.config)
        m.d.comb += self.overflow.eq(update.overflow)
        for name in RMS_COEFFICIENTS.members:
            m.d.comb += update.coefficients[name].eq(current[name])
        with m.Switch(current.unit):
            for number, gradient in enumerate(self.gradients):
                with m.Case(number):
                    m.d.comb += [
                        update.gradient.payload.eq(gradient.payload),
                        update.gradient.valid.eq(gradient.valid & kind[RmsKind.UPDATE]),
                        gradient.ready.eq(update.gradient.ready),
                    ]
        for name in ("theta", "squares"):
            old, new = getattr(update, name), getattr(update, f"new_{name}")
            read, write = getattr(self, f"{name}_read").data, written[name]
            m.d.comb += [
                old.payload.eq(read.p.data),
                old.valid.eq(read.valid & kind[RmsKind.UPDATE]),
                new.ready.eq(write.ready),
            ]
            with m.If(kind[RmsKind.UPDATE]):
                m.d.comb += [
                    read.ready.eq(old.ready),
                    write.payload.eq(new.payload),
                    write.valid.eq(new.valid),
                ]

    def _move(self, m, kind, squares, going, written):
        """SYNC: rows of theta go to a snapshot. STORE: rows go to ``reply``. LOAD: ``words`` go to
        memory."""
        snapshot = self.snapshot_write.data
        m.d.comb += [
            snapshot.payload.eq(self.theta_read.data.p.data),
            snapshot.valid.eq(self.theta_read.data.valid & kind[RmsKind.SYNC]),
        ]
        with m.If(kind[RmsKind.SYNC]):
            m.d.comb += self.theta_read.data.ready.eq(snapshot.ready)
        for name, chosen in (("theta", ~squares), ("squares", squares)):
            read, write = getattr(self, f"{name}_read").data, written[name]
            with m.If(kind[RmsKind.STORE] & chosen):
                m.d.comb += [
                    self.reply.payload.eq(read.p.data),
                    self.reply.valid.eq(read.valid),
                    read.ready.eq(self.reply.ready),
                ]
            # Words behind the last row belong to the next command.
            with m.If(kind[RmsKind.LOAD] & chosen):
                m.d.comb += [
                    write.payload.eq(self.words.payload),
                    write.valid.eq(self.words.valid & going),
                    self.words.ready.eq(write.ready & going),
                ]
        return m

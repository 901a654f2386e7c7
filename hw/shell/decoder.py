"""Command tables in hardware: which command it is, what it moves, and whether it breaks a rule.

The outputs are valid ``LATENCY`` clocks after ``raw`` and ``state``, for as long as these are
steady::

    clock 1          the opcode, fields and padding are compared; the first stage; the room
                     after each offset
    clocks 2, ...    later stages
    clock LATENCY    rules, sizes of footprints against their room; per command, the first
                     check that fails
    afterwards       without a register: whether any fails, and the first of all
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.shell.command import MAX_BEATS
from hw.shell.errors import ShellError
from hw.shell.program import COMMAND_BYTES, misaligned

__all__ = ["Decoder"]


class _State:
    """``s`` of the table's functions: the members of ``view``, and ``config``."""

    def __init__(self, view, config):
        self._view, self.config = view, config

    def __getattr__(self, name):
        return getattr(self._view, name)


class Decoder(wiring.Component):
    """Decodes and checks a command, in ``LATENCY`` clocks.

    All outputs are valid ``LATENCY`` clocks after ``raw``, ``state`` and the sizes, as long as
    these stay the same. ``error`` and ``detail`` equal those of
    ``sim.model.command.CommandCheck``.

    Parameters
    ----------
    table : CommandTable
        The commands that may come.
    config : the kernel's
        What the table's functions read in ``s.config``.
    state : data.Layout
        What the table's functions read in ``s`` besides ``s.config``.
    buffers : dict of str to (Buffer, int)
        The buffers of the table's footprints, each with the bytes of its beat.

    Members
    -------
    raw : In(512)
        The command as in memory.
    state : In(state)
        The core's state, against which a command is checked.
    <size name> : In(32)
        Size of each buffer, as the launch gives it: bytes, or pages of a ``large`` buffer.
    selected : Out
        A bit for each command, named as its opcode in lower case: 1 if ``raw`` has this opcode. All
        are 0 if the opcode is not in the table.
    stages : Out
        The values of the table's stages, by name.
    beats : Out
        Beats of each footprint, by name; 0 in a command without it.
    refused : Out(1)
        1 if a check fails: ``error != 0``, without the choice of the first.
    error, detail : Out(32)
        Error code of the first check that fails, and its detail: a byte of the command (FIELD),
        what the rule's ``detail`` says, or else 0. Both are 0 if the command is not refused.
    """

    def __init__(self, table, config, state, buffers):
        self.table, self.config, self.buffers = table, config, buffers
        # A clock for ``selected``, in which the first stage is computed, too.
        self.LATENCY = max(1, len(table.stages)) + 1
        # Shapes follow from the table's own arithmetic, tried on signals that lead nowhere.
        raw, s = Signal(8 * COMMAND_BYTES), _State(Signal(state), config)
        self._shapes = {
            name: reduce(or_, (value for _, value in self._values(name, raw, s))).shape()
            for name in table.names
        }
        common = self._common(raw)
        for name, shape in self._shapes.items():
            setattr(common, name, Signal(shape))
        shapes = {}
        for name, stage in table.stages.items():
            shapes[name] = Value.cast(stage(common, s)).shape()
            setattr(common, name, Signal(shapes[name]))
        super().__init__(
            {
                "raw": In(8 * COMMAND_BYTES),
                "state": In(state),
                **{buffer.size_name: In(32) for buffer, _ in buffers.values()},
                "selected": Out(data.StructLayout({o.name.lower(): 1 for o in table})),
                "stages": Out(data.StructLayout(shapes)),
                "beats": Out(
                    data.StructLayout(dict.fromkeys(table.footprints, MAX_BEATS.bit_length()))
                ),
                "refused": Out(1),
                "error": Out(32),
                "detail": Out(32),
            }
        )

    def _fields(self, command, raw):
        """``c`` of one command: fields as wide as their limits, which are checked first."""
        view, c = data.View(command.shape, raw), SimpleNamespace()
        limits = {field.name: (low, high) for field, low, high in command.checked(self.config)}
        for field in command.fields:
            value = getattr(view, field.name)
            low, high = limits.get(field.name, (None, None))
            # A signed field without a lower limit may have any number below the upper one.
            bounded = low is not None or field.kind[0] != "i"
            if field.count == 1 and high is not None and bounded:
                shape = Shape.cast(range(min(low or 0, 0), high + 1))
                value = value[: shape.width]
                value = value.as_signed() if shape.signed else value
            setattr(c, field.name, value)
        return c

    def _whole(self, command, common):
        """``c`` of one command with values and stages: what rules and footprints get."""
        c = self._fields(command, self.raw)
        for name in (*self.table.names, *self.table.stages):
            setattr(c, name, getattr(common, name))
        return c

    def _common(self, raw):
        """``c`` for the stages: the count, as wide as the longest list needs, and the values."""
        counts = [c.count for c in (self._fields(cmd, raw) for cmd in self.table.values())]
        width = max(len(Value.cast(count)) for count in counts)
        return SimpleNamespace(count=self.table.field("count", raw)[:width])

    def _values(self, name, raw, s):
        """``(opcode, value)`` of the commands that name the value."""
        return [
            (opcode, Value.cast(command.values[name](self._fields(command, raw), s)))
            for opcode, command in self.table.items()
            if name in command.values
        ]

    def elaborate(self, platform):
        m = Module()
        s = _State(self.state, self.config)
        # Values of the stages begin in the first clock, and with an opcode's lowest bits: those of
        # one that is not in the table count for nothing.
        now = Signal.like(self.selected)
        width = max(each.value for each in self.table).bit_length()
        for each in self.table:
            name = each.name.lower()
            m.d.comb += getattr(now, name).eq(self.raw[:width] == each.value)
            m.d.sync += getattr(self.selected, name).eq(self.raw[:32] == each.value)

        common = self._common(self.raw)
        for name, shape in self._shapes.items():
            value = Signal(shape, name=name)
            m.d.comb += value.eq(self._one_of(now, self._values(name, self.raw, s)))
            setattr(common, name, value)
        for name, stage in self.table.stages.items():
            value = getattr(self.stages, name)
            m.d.sync += value.eq(stage(common, s))
            setattr(common, name, value)

        # Whether a word is not 0, once for all commands: what lies behind their fields.
        words = Signal(COMMAND_BYTES // 4)
        m.d.comb += words.eq(
            Cat(self.raw.word_select(k, 32).any() for k in range(COMMAND_BYTES // 4))
        )
        broken = [self._broken(m, command, common, words, s) for command in self.table.values()]
        # At most one command is selected; error and detail of all others are 0.
        refusals = [tuple(reduce(or_, values) for values in zip(*broken, strict=True))]
        none = ~Value.cast(self.selected).any()
        late = self._footprints(m, common, s)
        for wrong, *why in [(none, ShellError.OPCODE, 0), *late]:
            s2_wrong = Signal(reset_less=True)
            m.d.sync += s2_wrong.eq(wrong)
            refusals.append((s2_wrong, *why))
        refused, error, detail = _first(m, refusals)
        m.d.comb += [
            self.refused.eq(refused),
            self.error.eq(Mux(refused, error, ShellError.NONE)),
            self.detail.eq(Mux(refused, detail, 0)),
        ]
        return m

    @staticmethod
    def _one_of(selected, choices):
        """The value of the command under way; 0 if the command is not among ``choices``."""
        return reduce(
            or_,
            (Mux(getattr(selected, o.name.lower()), value, 0) for o, value in choices),
            C(0),
        )

    def _broken(self, m, command, common, words, s):
        """``(wrong, error, detail)`` of a command's fields, padding and rules, ``LATENCY`` clocks
        after ``raw``; all 0 for another command. Fields and padding, which wait for no stage, are
        compared in the first clock, and the first error is found in the last."""
        name = command.opcode.name.lower()
        refusals = list(command.outside(data.View(command.shape, self.raw), self.config))
        if command.used < COMMAND_BYTES:
            behind = Cat(words[command.used // 4 :]).any()
            refusals.append((behind, ShellError.FIELD, command.used))
        s1_wrong = Signal(len(refusals), name=f"s1_{name}_wrong", reset_less=True)
        m.d.sync += s1_wrong.eq(Cat(wrong for wrong, *_ in refusals))
        fields = _first(m, [(s1_wrong[k], *why) for k, (_, *why) in enumerate(refusals)])
        rules = _first(m, list(command.broken(self._whole(command, common), s)))
        wrong, *why = _first(m, [fields, rules])
        s2_wrong = Signal(name=f"s2_{name}_wrong", reset_less=True)
        m.d.sync += s2_wrong.eq(wrong & getattr(self.selected, name))
        found = [s2_wrong]
        for own, value in zip(("error", "detail"), why, strict=True):
            s2_value = Signal.like(value, name=f"s2_{name}_{own}", reset_less=True)
            m.d.sync += s2_value.eq(value)
            found.append(Mux(s2_wrong, s2_value, 0))
        return found

    def _footprints(self, m, common, s):
        """Beats of each footprint, registered; and the conditions that refuse them."""
        late = []
        for name, (buffer, offset) in self.table.footprints.items():
            declared, beat_bytes = self.buffers[buffer]
            users, sizes = [], []
            for opcode, command in self.table.items():
                for footprint in command.footprints:
                    if footprint.name == name:
                        c = self._whole(command, common)
                        sizes.append((opcode, Value.cast(footprint.bytes(c, s))))
                        users.append((opcode, footprint))
            # In bytes: of at most one command.
            size = Signal(max(len(size) for _, size in sizes), name=f"{name}_size")
            m.d.comb += size.eq(self._one_of(self.selected, sizes))
            shift = exact_log2(beat_bytes)
            beats = (size + (beat_bytes - 1)) >> shift
            s2_beats = Signal(MAX_BEATS.bit_length(), name=f"s2_{name}_beats", reset_less=True)
            m.d.sync += s2_beats.eq(beats)
            m.d.comb += getattr(self.beats, name).eq(s2_beats)
            begin = C(0)
            if offset:
                begin = self.table.field(offset, self.raw)
            used = self._one_of(self.selected, [(opcode, C(1)) for opcode, _ in users])
            # The room after ``begin``, in beats; it waits for no stage.
            behind = (getattr(self, declared.size_name) << exact_log2(declared.unit)) - begin
            room = Signal.like(behind >> shift, name=f"{name}_room", reset_less=True)
            m.d.sync += room.eq(behind >> shift)
            if offset and len(beats) > MAX_BEATS.bit_length():
                late.append((beats > MAX_BEATS, ShellError.COUNT, 0))
            beyond = size > Cat(C(0, shift), room).as_signed()  # whole beats fit
            late.append((used & (misaligned(begin) | beyond), users[0][1].error, 0))
        return late


def _first(m, conditions):
    """``(any, error, detail)`` of ``conditions``, triples of the same kind: whether any holds, and
    error and detail of the first that does; if none does, these two may be anything. A tree: the
    depth of a chain of ``If`` grows with its length."""
    if not conditions:
        return C(0), C(0), C(0)
    found = Signal()
    if len(conditions) == 1:
        ((wrong, error, detail),) = conditions
        m.d.comb += found.eq(wrong)
        return found, Value.cast(error), Value.cast(detail)
    half = (len(conditions) + 1) // 2
    lower, error, detail = _first(m, conditions[:half])
    upper, other, position = _first(m, conditions[half:])
    m.d.comb += found.eq(lower | upper)
    return found, Mux(lower, error, other), Mux(lower, detail, position)

"""Commands as data: one entry has a command's fields, what it moves, and the rules it must keep.

Hardware (``hw.shell.decoder``), twin (``sim.model.program``), ``registers.md`` and the host's
refusals come from the entry, so that a rule is written once. Its functions get two namespaces:
``c``, the command's fields and ``values``, and ``s``, the core's state with ``s.config``. They must
work on Amaranth values and on Python integers alike: arithmetic, comparisons, ``&`` and ``|`` of
comparisons, shifts by constants.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

from hw.shell.layout import Field, Layout
from hw.shell.program import COMMAND_BYTES, ShellError

__all__ = [
    "MAX_BEATS",
    "Command",
    "CommandTable",
    "Footprint",
    "Rule",
    "counted",
    "operands",
    "results",
    "round_up",
]

#: Beats of one request to memory, and so of one footprint.
MAX_BEATS = (1 << 24) - 1

#: Commands that a table remembers.
_KEPT = 1024


def round_up(size, to):
    """``size``, an Amaranth value or an integer, rounded up to ``to``, a power of two."""
    shift = to.bit_length() - 1
    return ((size + (to - 1)) >> shift) << shift


def counted(high, doc="items"):
    """The field ``count`` of a command that takes 1 to ``high`` items."""
    return Field("count", "u32", doc, low=1, high=high, error=ShellError.COUNT)


@dataclass(frozen=True)
class Footprint:
    """What a command reads or writes of a buffer: whole beats, from ``offset`` on.

    Parameters
    ----------
    buffer : str
    bytes : callable
        ``(c, s)`` to bytes, which are rounded up to whole beats in one place; of 0 nothing is
        touched, but the offset must be right all the same.
    doc : str
        What lies there, for documents.
    offset : str or None
        The field with the byte offset, a multiple of 64, of what is moved in one request; None:
        what the core itself reaches piece by piece, from the buffer's first byte on.
    error : int
        The code for a footprint that is not inside the buffer.
    moved : bool
        Of operands and results: the dispatcher asks for it, or announces it, as a whole.
    """

    buffer: str
    bytes: Callable
    doc: str
    offset: str | None = None
    error: int = ShellError.BUFFER
    moved: bool = False

    @property
    def name(self):
        """One name for one place: commands whose footprints share it share the hardware."""
        return self.offset or self.buffer


def operands(size, doc, offset="source", moved=True):
    """Footprint of ``size(c, s)`` bytes of operands."""
    return Footprint("operands", size, doc, offset, ShellError.OPERANDS, moved)


def results(size, doc, offset="destination", moved=True):
    """Footprint of ``size(c, s)`` bytes of results."""
    return Footprint("results", size, doc, offset, ShellError.RESULTS, moved)


@dataclass(frozen=True)
class Rule:
    """``error`` refuses the command where ``broken(c, s)``.

    ``doc`` says what must hold. ``detail(c, s)`` is the position that the status then shows.
    """

    error: int
    broken: Callable
    doc: str
    detail: Callable = lambda c, s: 0


class Command(Layout):
    """One command of 64 bytes: the header, then ``fields``, then zeros.

    Parameters
    ----------
    opcode : enum member
    doc : str
    fields : sequence of Field
    count : Field or None
        See ``counted``; None: the command has no count.
    footprints, rules : sequences of Footprint, of Rule
    values : dict of str to callable
        Named ``(c, s)`` that the table's stages use; 0 in commands that do not name them.

    What refuses it, in this order: fields, what lies behind them, rules, footprints.
    """

    def __init__(self, opcode, doc, fields=(), *, count=None, footprints=(), rules=(), values=None):
        self.opcode = opcode
        self.footprints, self.rules = tuple(footprints), tuple(rules)
        self.values = dict(values or {})
        places = {f.offset: f.doc for f in self.footprints}

        def offset(name):
            if name not in places:
                return Field(name, "u32", "0", high=0)
            return Field(name, "u32", f"byte offset, a multiple of 64: {places[name]}")

        header = (
            Field("opcode", "u32", str(opcode.value)),
            count or Field("count", "u32", "0", high=0),
            offset("source"),
            offset("destination"),
        )
        super().__init__(
            opcode.name, f"Opcode {opcode.value}. {doc}", (*header, *fields), size=COMMAND_BYTES
        )

    @functools.lru_cache(maxsize=1024)  # noqa: B019 -- commands live as long as their module
    def checked(self, config):
        """``(field, low, high)`` of the fields that have a limit for ``config``."""
        limits = [(field, *field.limits(config)) for field in self.fields]
        return tuple((f, low, high) for f, low, high in limits if (low, high) != (None, None))

    def refusal(self, raw, fields, config):
        """``(error, detail)`` where a field of ``raw``, or what lies behind them, is not right."""
        for field, low, high in self.checked(config):
            number = fields[field.name]
            if (low is not None and number < low) or (high is not None and number > high):
                return self.outside(field)
        return (ShellError.FIELD, self.used) if any(raw[self.used :]) else None

    def outside(self, field):
        """``(error, detail)`` of a field outside of its limits: FIELD says which byte it is."""
        if field.error is not None:
            return field.error, 0
        return ShellError.FIELD, self.offsets[field.name]

    def markdown(self, config=None):
        """The command's section of the register document."""
        lines = [f"- `{f.buffer}`: {f.doc}" for f in self.footprints]
        lines += [f"- error {int(rule.error)} unless {rule.doc}" for rule in self.rules]
        return super().markdown(config) + "".join(f"{line}\n" for line in ("", *lines))


class CommandTable(dict):
    """Opcode to ``Command``: the commands of one core.

    Parameters
    ----------
    commands : iterable of Command
    stages : dict of str to callable
        Named ``(c, s)`` that are the same for all commands, in order; each is a register in
        hardware, so that a product may be one, and later ones may use it.
    """

    def __init__(self, commands, stages=None):
        super().__init__((command.opcode, command) for command in commands)
        self.stages = dict(stages or {})
        self.names = tuple(dict.fromkeys(n for command in self.values() for n in command.values))
        self._config, self._seen = None, {}

    @functools.cached_property
    def footprints(self):
        """Name to ``(buffer, offset)`` of all places that the commands touch.

        ValueError where two commands mean different places by one name.
        """
        places = {}
        for command in self.values():
            for footprint in command.footprints:
                place = (footprint.buffer, footprint.offset)
                if places.setdefault(footprint.name, place) != place:
                    raise ValueError(
                        f"footprint {footprint.name} must be in one buffer, not in {place[0]} and "
                        f"{places[footprint.name][0]}"
                    )
        return places

    def movers(self, name):
        """Opcodes of the commands whose footprint ``name`` the dispatcher moves."""
        return [
            opcode
            for opcode, command in self.items()
            if any(f.name == name and f.moved for f in command.footprints)
        ]

    def _order(self, footprint):
        """Footprints are checked in the order of the table, in hardware and here."""
        return list(self.footprints).index(footprint.name)

    @functools.cached_property
    def by_number(self):
        """Opcode's number to ``Command``."""
        return {opcode.value: command for opcode, command in self.items()}

    def _decoded(self, raw, config):
        """``(command, fields, refused, values, footprints)`` of 64 bytes: all that they say by
        themselves. ``refused``: ``(error, detail)``, or None; ``values``: what ``check`` computes,
        in order. Programs repeat themselves, so the last ones are kept, for one config: that of a
        kernel is always the same."""
        if config is not self._config or len(self._seen) >= _KEPT:
            self._config, self._seen = config, {}
        seen = self._seen.get(raw)
        if seen is None:
            command = self.by_number.get(int.from_bytes(raw[:4], "little"))
            if command is None:
                return None, None, (ShellError.OPCODE, 0), None, None
            zeros = dict.fromkeys((n for n in self.names if n not in command.values), 0)
            values = [(n, command.values[n]) for n in self.names if n in command.values]
            fields = command.unpack(raw)
            seen = self._seen[raw] = (
                command,
                {**fields, **zeros},
                command.refusal(raw, fields, config),
                [*values, *self.stages.items()],
                sorted(command.footprints, key=self._order),
            )
        return seen

    def check(self, raw, state, room, beat_bytes):
        """The command in ``raw``, and why it is refused: what the decoder does in hardware.

        Parameters
        ----------
        raw : bytes-like, 64
        state : the core's twin
        room : callable
            Buffer name to its bytes.
        beat_bytes : callable
            Buffer name to the bytes of a beat of its master.

        Returns ``(command, c, error, detail)``; ``c`` has fields, values, stages, and in
        ``c.beats`` the beats of each footprint by name.
        """
        command, fields, refused, values, footprints = self._decoded(bytes(raw), state.config)
        c = SimpleNamespace(**fields, beats={}) if command else None
        if refused:
            return command, c, *refused
        for name, value in values:
            setattr(c, name, value(c, state))
        for rule in command.rules:
            if rule.broken(c, state):
                return command, c, rule.error, int(rule.detail(c, state))
        for footprint in footprints:
            buffer, place = footprint.buffer, footprint.offset
            size = beat_bytes(buffer)
            c.beats[place or buffer] = beats = -(-footprint.bytes(c, state) // size)
            offset = fields[place] if place else 0
            if place and beats > MAX_BEATS:
                return command, c, ShellError.COUNT, 0
            if offset % 64 or offset + beats * size > room(buffer):
                return command, c, footprint.error, 0
        return command, c, ShellError.NONE, 0

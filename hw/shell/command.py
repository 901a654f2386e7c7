"""Commands as data: an entry has a command's fields, the memory that it moves, and its rules.

Hardware (``hw.shell.decoder``), twin (``sim.model.command``), ``registers.md`` and the host's
refusals come from the entry, so that a rule is written once. Its functions get two namespaces:
``c``, the command's fields and ``values``, and ``s``, the core's state with ``s.config``. They must
work on Amaranth values and on Python integers alike: arithmetic, comparisons, ``&`` and ``|`` of
comparisons, shifts by constants.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from amaranth.lib import data

from hw.comparison import beyond
from hw.errors import UsageError
from hw.shell.errors import ShellError
from hw.shell.layout import Field, Layout
from hw.shell.program import COMMAND_BYTES

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


def round_up(size, to):
    """``size`` (an Amaranth value or an integer) rounded up to a multiple of ``to``.

    ``to`` is an integer and a power of two.
    """
    shift = to.bit_length() - 1
    return ((size + (to - 1)) >> shift) << shift


def counted(high, doc="items"):
    """The field ``count`` of a command that takes 1 to ``high`` items.

    ``high`` is a number, or a function of the kernel's config that gives one; ``doc`` says what is
    counted. A command whose count is outside these limits is refused with COUNT.
    """
    return Field("count", "u32", doc, low=1, high=high, error=ShellError.COUNT)


@dataclass(frozen=True)
class Footprint:
    """The part of a buffer that a command reads or writes: whole beats, from ``offset`` on.

    Parameters
    ----------
    buffer : str
        The buffer's name.
    bytes : callable
        A function of ``(c, s)`` that gives the bytes, which are then rounded up to whole beats.
        With 0 bytes nothing is touched, but the offset must still be right.
    doc : str
        What lies there, for documents.
    offset : str or None
        The field with the byte offset, a multiple of 64, if the part is moved in one request. None:
        the core accesses the buffer piece by piece, from its first byte on.
    error : int
        The code for a footprint that is not inside the buffer.
    moved : bool
        In operands and results: whether the dispatcher requests the whole footprint from memory
        at once. It says nothing for other buffers.
    """

    buffer: str
    bytes: Callable
    doc: str
    offset: str | None = None
    error: int = ShellError.BUFFER
    moved: bool = False

    @property
    def name(self):
        """The place's name. Commands whose footprints have the same name share the hardware."""
        return self.offset or self.buffer


def operands(size, doc, offset="source", moved=True):
    """The ``Footprint`` of ``size(c, s)`` bytes in the buffer ``operands``.

    ``doc``, ``offset`` and ``moved`` are those of ``Footprint``; its error is OPERANDS.
    """
    return Footprint("operands", size, doc, offset, ShellError.OPERANDS, moved)


def results(size, doc, offset="destination", moved=True):
    """The ``Footprint`` of ``size(c, s)`` bytes in the buffer ``results``.

    ``doc``, ``offset`` and ``moved`` are those of ``Footprint``; its error is RESULTS.
    """
    return Footprint("results", size, doc, offset, ShellError.RESULTS, moved)


@dataclass(frozen=True)
class Rule:
    """A rule: if ``broken(c, s)`` is 1 or True, the command is refused with ``error``.

    ``c`` has the command's fields, ``s`` the core's state. ``doc`` says what must hold.
    ``detail(c, s)`` is the number of the item that breaks the rule, which the status block shows
    if the command is refused.
    """

    error: int
    broken: Callable
    doc: str
    detail: Callable = lambda c, s: 0


class Command(Layout):
    """One command of 64 bytes: the header, then ``fields``, then zeros.

    The header is four u32: opcode, count, source and destination. The last two are the byte
    offsets of the footprints with these names; count, source and destination must be 0 in a command
    that has no use for them.

    Parameters
    ----------
    opcode : enum member
        Its value is the first number of the command.
    doc : str
        What the command does, for documents.
    fields : sequence of Field
        What follows the header, in order.
    count : Field or None
        See ``counted``; None: the command has no count.
    footprints, rules : sequences of Footprint, of Rule
        The parts of buffers that the command touches; what its fields must obey besides limits.
    values : dict of str to callable
        Named functions of ``(c, s)`` that the table's stages use; they are 0 in commands that do
        not name them.

    A command is checked in this order: fields, the zeros after them, rules, footprints.
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

    def blank(self, field, config):
        """The number of ``field`` where a program does not give it; None if it must be given.

        It is the field's own default, or 0 if it is a footprint's offset, or may be nothing else.
        """
        if field.default is not None:
            return field.default
        offset = any(field.name == footprint.offset for footprint in self.footprints)
        low, high = field.limits(config)
        return 0 if offset or (not low and high == 0) else None

    def outside(self, c, config):
        """Yields ``(condition, error, detail)`` for each limit of the command's fields.

        ``condition`` is whether the field in ``c`` is below its lower or above its upper limit. The
        detail of an error FIELD is the field's byte in the command, that of another error 0. A
        limit has no condition if the type of the field in ``c`` keeps it.
        """
        for field, low, high in self.checked(config):
            for wrong in beyond(getattr(c, field.name), low, high):
                yield wrong, *self.refusal(field)

    def refusal(self, field):
        """``(error, detail)`` of ``field`` outside its limits."""
        if field.error is not None:
            return field.error, 0
        return ShellError.FIELD, self.offsets[field.name]

    def broken(self, c, s):
        """Yields ``(condition, error, detail)`` for each rule: whether ``c`` and ``s`` break it,
        its error, and the number of the item that breaks it."""
        for rule in self.rules:
            yield rule.broken(c, s), rule.error, rule.detail(c, s)

    def markdown(self, config=None):
        """The command's section of the register document."""
        lines = [f"- `{f.buffer}`: {f.doc}" for f in self.footprints]
        lines += [f"- error {int(rule.error)} unless {rule.doc}" for rule in self.rules]
        return super().markdown(config) + "".join(f"{line}\n" for line in ("", *lines))


class CommandTable(dict):
    """The commands of one core, by opcode.

    Parameters
    ----------
    commands : iterable of Command
        The commands, each with an opcode of its own.
    stages : dict of str to callable
        Named functions of ``(c, s)`` that are the same for all commands, in order of computation.
        Each is a register in hardware, so a product is a stage of its own; later stages may read
        earlier ones in ``c``.
    """

    def __init__(self, commands, stages=None):
        super().__init__((command.opcode, command) for command in commands)
        self.stages = dict(stages or {})
        self.names = tuple(dict.fromkeys(n for command in self.values() for n in command.values))

    @functools.cached_property
    def footprints(self):
        """``{footprint's name: (buffer, offset)}`` of all places that the commands touch.

        ``buffer`` is a buffer's name, ``offset`` the name of the field with the byte offset, or
        None. ValueError if two commands use one name for different places, or have its field at
        different bytes, since the decoder reads only one of them.
        """
        places, fields = {}, {}
        for command in self.values():
            for footprint in command.footprints:
                name, place = footprint.name, (footprint.buffer, footprint.offset)
                if places.setdefault(name, place) != place:
                    raise UsageError(
                        f"footprint {name} must be in one buffer, not in {place[0]} and "
                        f"{places[name][0]}"
                    )
                byte = command.offsets.get(footprint.offset)
                if fields.setdefault(name, byte) != byte:
                    raise UsageError(
                        f"footprint {name} must be at one byte of all commands, not at {byte} of "
                        f"{command.name} and at {fields[name]} of another"
                    )
        return places

    def field(self, name, raw):
        """The field ``name`` of the command bits ``raw`` (512), read before its opcode is known.

        All commands that have the field have it at the same bits; those of another command mean
        something else there. ValueError if no command has the field, or two have it at different
        bytes or of different kinds: then it must be read from the command's own layout.
        """
        places = {}
        for command in self.values():
            for field in command.fields:
                if field.name == name:
                    kind = field.kind if field.count == 1 else f"{field.kind}[{field.count}]"
                    places[command.offsets[name], kind] = command
        if len(places) != 1:
            where = ", ".join(f"{kind} at {byte}" for byte, kind in sorted(places)) or "nowhere"
            raise UsageError(f"field {name} must be at one byte of all commands, not {where}")
        (command,) = places.values()
        return data.View(command.shape, raw)[name]

    def movers(self, name):
        """Opcodes of the commands whose footprint ``name`` the dispatcher moves."""
        return [
            opcode
            for opcode, command in self.items()
            if any(f.name == name and f.moved for f in command.footprints)
        ]

"""The twin's check of a command: it does the same as ``hw.shell.decoder``, from the same table."""

from collections.abc import Callable
from typing import NamedTuple

from hw.shell.command import MAX_BEATS, Command
from hw.shell.errors import ShellError

__all__ = ["CommandCheck"]

#: Commands that are remembered.
_KEPT = 1024

# Error and detail of a command that is not refused.
_RIGHT = ShellError.NONE, 0


class _Place(NamedTuple):
    """A footprint of one command; ``requested``: moved in one request, from ``begin`` on."""

    name: str
    requested: bool
    begin: int
    beat_bytes: int
    buffer: str
    bytes: Callable
    error: int


class _Decoded(NamedTuple):
    """What 64 bytes mean by themselves, whatever the state."""

    command: Command | None = None
    fields: dict = {}
    refused: tuple | None = (ShellError.OPCODE, 0)  # error and detail
    values: tuple = ()  # names and functions of the table's values and stages, in order
    footprints: tuple = ()  # a _Place each


class _Asked:
    """A command's fields, values and stages by name, and its ``beats``."""


class CommandCheck:
    """Decodes commands of one table and checks them by its rules, as ``hw.shell.decoder`` does, for
    one config. An object is called with the bytes of a command.

    Parameters
    ----------
    table : CommandTable
        The commands that may come.
    config : the config of the kernel
        Limits of fields depend on it.
    beat_bytes : callable
        Gives, for a buffer's name, the bytes of a beat of its master.
    """

    def __init__(self, table, config, beat_bytes):
        self._table, self._config, self._beat_bytes = table, config, beat_bytes
        self._by_number = {opcode.value: command for opcode, command in table.items()}
        self._order = list(table.footprints)
        self._seen = {}
        self._zeros = {opcode: dict.fromkeys(each.offsets, 0) for opcode, each in table.items()}
        self._limits = {
            opcode: [
                (field.name, low, high, command.refusal(field))
                for field, low, high in command.checked(config)
            ]
            for opcode, command in table.items()
        }

    def __call__(self, raw, state, room):
        """Decodes the command in ``raw``, and says whether it is refused, and why.

        Parameters
        ----------
        raw : bytes-like, 64
            The command as in memory.
        state : the core's twin
            What the table's functions read in ``s``.
        room : callable
            Gives, for a buffer's name, its bytes.

        Returns ``(command, c, error, detail)``. ``command`` is the Command of the table, None if
        no command has this opcode. ``error`` is ShellError.NONE if the command is not refused; then
        ``c`` has the command's fields, values and stages as attributes, and in ``c.beats`` the
        beats of each footprint by name. If the command is refused, some of these may be missing.
        """
        raw = bytes(raw)
        return self._examined(self._seen.get(raw) or self._remembered(raw), state, room)

    def job(self, opcode, fields, state, room, streams=()):
        """Checks a command that is not in memory, and returns the same as ``__call__``. It is given
        by its ``opcode`` and a dict of ``fields``; fields that are not named are 0. ``streams`` are
        names of footprints that are in no buffer; they are not checked, and not in ``c.beats``."""
        command = self._table[opcode]
        fields = {**self._zeros[opcode], **fields}
        decoded = self._meaning(command, fields, self._outside(command, fields), streams)
        return self._examined(decoded, state, room)

    @staticmethod
    def _examined(decoded, state, room):
        """What a call returns."""
        command, fields, refused, values, footprints = decoded
        c, beats = _Asked(), {}
        c.__dict__ = names = {**fields, "beats": beats}
        if refused:
            return command, c, *refused
        for name, value in values:
            names[name] = value(c, state)
        for rule in command.rules:
            if rule.broken(c, state):
                return command, c, rule.error, int(rule.detail(c, state))
        for place, requested, begin, size, buffer, touched, error in footprints:
            beats[place] = count = -(-touched(c, state) // size)
            if requested and count > MAX_BEATS:
                return command, c, ShellError.COUNT, 0
            if begin % 64 or begin + count * size > room(buffer):
                return command, c, error, 0
        return command, c, *_RIGHT

    def _remembered(self, raw):
        """Decoded commands, kept because programs repeat them."""
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        decoded = self._seen[raw] = self._decode(raw)
        return decoded

    def _decode(self, raw):
        command = self._by_number.get(int.from_bytes(raw[:4], "little"))
        if command is None:
            return _Decoded()
        fields = command.unpack(raw)
        refused = self._outside(command, fields)
        if not refused and any(raw[command.used :]):
            refused = ShellError.FIELD, command.used
        return self._meaning(command, fields, refused)

    def _meaning(self, command, fields, refused, streams=()):
        table = self._table
        unnamed = {name: 0 for name in table.names if name not in command.values}
        return _Decoded(
            command,
            fields | unnamed,
            refused,
            (*command.values.items(), *table.stages.items()),
            tuple(
                self._place(f, fields)
                for f in sorted(command.footprints, key=lambda f: self._order.index(f.name))
                if f.name not in streams
            ),
        )

    def _place(self, footprint, fields):
        f, begin = footprint, fields[footprint.offset] if footprint.offset else 0
        size = self._beat_bytes(f.buffer)
        return _Place(f.name, bool(f.offset), begin, size, f.buffer, f.bytes, f.error)

    def _outside(self, command, fields):
        """``(error, detail)`` of the first field outside its limits, or None."""
        for name, low, high, refused in self._limits[command.opcode]:
            value = fields[name]
            if (low is not None and value < low) or (high is not None and value > high):
                return refused
        return None

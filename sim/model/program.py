"""Bit-exact twins of ``hw.shell.sequencer`` and ``hw.shell.dispatcher``: launches and commands.

A twin does not know clock counts: they are 0 in its status blocks.
"""

import functools

from hw.shell.axi import engine_of
from hw.shell.buffers import HOST_BUFFERS
from hw.shell.errors import ShellError
from hw.shell.program import COMMAND_BYTES
from hw.shell.status_block import MAGIC, STATUS
from sim.model.command import CommandCheck

__all__ = ["CommandTwin", "ProgramTwin"]

# Members of an enum are slow to look up.
_NONE = ShellError.NONE


class CommandTwin:
    """A core's twin: a command is checked by the table, then executed by its method.

    A subclass gives the table ``COMMANDS``, ``BUFFERS`` (those beside operands and results), and
    ``config``; the attributes that the table's rules read of the state; ``status()``, which returns
    the core's part of the status block (bytes, or uint8); and for each opcode the method ``_<name
    in lower case>(c)``, which executes the command and returns ``(error, detail)``. ``c`` is that
    of ``CommandCheck``: it has the command's fields, values, stages and beats.
    """

    BUFFERS = ()

    #: Of the launch under way: arguments by name, and card memory.
    arguments, memory = None, None

    def execute(self, raw, arguments, memory):
        """Checks and runs one command, the 64 bytes ``raw``; returns ``(error, detail)``. A command
        that the check refuses does nothing. ``arguments`` and ``memory`` are the launch's."""
        self.arguments, self.memory = arguments, memory
        command, c, error, detail = self._check(raw, self, self.room)
        if error:
            return error, detail
        return self._methods[command.name](c)

    def room(self, buffer):
        """Bytes that the buffer with this name has in the launch under way."""
        size_name, unit, _ = self._declared[buffer]
        return self.arguments[size_name] * unit

    def beat_bytes(self, buffer):
        """Bytes of a beat of the AXI master through which the buffer with this name is reached."""
        return self._declared[buffer][2]

    @functools.cached_property
    def _check(self):
        return CommandCheck(self.COMMANDS, self.config, self.beat_bytes)

    @functools.cached_property
    def _declared(self):
        """``{buffer: (argument with its size, bytes of a unit of it, bytes of a beat)}``."""
        return {
            b.name: (b.size_name, b.unit, engine_of(self.config, b.master).beat_bytes)
            for b in (*HOST_BUFFERS, *self.BUFFERS)
        }

    @functools.cached_property
    def _methods(self):
        """``{command: method that executes it}``."""
        names = (command.name for command in self.COMMANDS.values())
        return {name: getattr(self, f"_{name.lower()}") for name in names}

    def at(self, c, name):
        """The bytes of card memory that the footprint ``name`` of the command ``c`` covers, in
        whole beats: a uint8 array. To write to the array is to write to memory."""
        return self.memory.view(*self._part(c, name))

    def words(self, c, name):
        """``at(c, name)`` as an array of uint32, which is also writable."""
        return self.memory.words(*self._part(c, name))

    def _part(self, c, name):
        """Address and bytes of a footprint."""
        buffer, offset = self.COMMANDS.footprints[name]
        begin = self.arguments[buffer] + (getattr(c, offset) if offset else 0)
        return begin, c.beats[name] * self._declared[buffer][2]


class ProgramTwin:
    """A kernel's twin (see ``sim.model.kernels.KernelTwin``): it runs programs on a core's twin,
    ``self.core``, which it keeps from launch to launch.

    A subclass gives the method ``make_core(description)``, which returns the core's twin, a
    ``CommandTwin`` with ``status()``.
    """

    def __init__(self, description):
        self.description = description
        self.core = self.make_core(description)
        self._pointers = [(a.name, a.id) for a in description.arguments if a.kind == "pointer"]
        self._status_bytes = STATUS.size + len(self.core.status())

    def execute(self, arguments, memory):
        """Runs one launch: the commands in order until the first error, then the write of the
        status block. If the status block does not fit its buffer, or the address is not a multiple
        of 64, the launch does nothing."""
        size = self._status_bytes
        if arguments["status"] % COMMAND_BYTES or arguments["status_bytes"] < size:
            return
        error, detail = self._refusal(arguments)
        executed, position = 0, 0
        if not error:
            executed, error, position, detail = self._run(arguments, memory)
        header = (MAGIC, executed, self.description.config_hash, error, position, detail, 0, 0)
        block = STATUS.pack(header) + bytes(self.core.status())
        memory.bytes(arguments["status"], size)[:] = block

    def _refusal(self, arguments):
        """``(error, detail)`` of the launch as a whole."""
        for name, number in self._pointers:
            if arguments[name] % COMMAND_BYTES:
                return ShellError.POINTER, number
        if arguments["command_count"] * COMMAND_BYTES > arguments["program_bytes"]:
            return ShellError.PROGRAM, 0
        return _NONE, 0

    def _run(self, arguments, memory):
        """``(executed, error, error_command, error_detail)``."""
        count = arguments["command_count"]
        for position in range(count):
            address = arguments["program"] + position * COMMAND_BYTES
            command = memory.bytes(address, COMMAND_BYTES).tobytes()
            error, detail = self.core.execute(command, arguments, memory)
            if error:
                return position, error, position, detail
        return count, _NONE, 0, 0

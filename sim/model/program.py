"""Bit-exact twins of ``hw.shell.sequencer`` and ``hw.shell.dispatcher``: launches and commands.

Clock counts are the one thing that a twin does not know: they stay 0 in its status blocks.
"""

import numpy as np

from hw.shell.axi import engine_of
from hw.shell.buffers import HOST_BUFFERS
from hw.shell.program import COMMAND_BYTES, MAGIC, STATUS, ShellError

__all__ = ["CommandTwin", "ProgramTwin"]


class CommandTwin:
    """A core's twin: commands are checked by their table, then executed by a method each.

    A subclass gives ``COMMANDS``, ``BUFFERS`` (beyond operands and results), ``config``, what the
    table's rules read of the state, ``status()``, and for each opcode ``_<name in lower case>(c)``,
    which returns ``(error, detail)``. ``c`` has the command's fields, values and stages, and its
    beats.
    """

    BUFFERS = ()

    #: Of the launch under way: arguments by name, and card memory.
    arguments, memory = None, None

    def execute(self, raw, arguments, memory):
        """Run one command (64 uint8); return ``(error, detail)``."""
        self.arguments, self.memory = arguments, memory
        command, c, error, detail = self.COMMANDS.check(raw, self, self.room, self.beat_bytes)
        if error:
            return error, detail
        return getattr(self, f"_{command.opcode.name.lower()}")(c)

    def room(self, buffer):
        """Bytes of a buffer of this launch."""
        declared = self._declared(buffer)
        return self.arguments[declared.size_name] * declared.unit

    def beat_bytes(self, buffer):
        """Of the master that reaches it."""
        return engine_of(self.config, self._declared(buffer).master).beat_bytes

    def _declared(self, buffer):
        return next(b for b in (*HOST_BUFFERS, *self.BUFFERS) if b.name == buffer)

    def at(self, c, name):
        """The whole beats of a footprint, uint8, writable."""
        buffer, offset = self.COMMANDS.footprints[name]
        begin = self.arguments[buffer] + (getattr(c, offset) if offset else 0)
        return self.memory.view(begin, c.beats[name] * self.beat_bytes(buffer))


class ProgramTwin:
    """A kernel's twin (see ``sim.model.kernels.KernelTwin``) around ``self.core``.

    A subclass gives ``make_core(description)``, a ``CommandTwin`` with ``status()``.
    """

    def __init__(self, description):
        self.description = description
        self.core = self.make_core(description)
        self._pointers = [a for a in description.arguments if a.kind == "pointer"]

    def execute(self, arguments, memory):
        """One launch: commands in order until the first error, then the status block."""
        size = STATUS.size + len(self.core.status())
        if arguments["status"] % COMMAND_BYTES or arguments["status_bytes"] < size:
            return
        status = np.zeros((), STATUS.dtype)
        status["magic"], status["config_hash"] = MAGIC, self.description.config_hash
        error, detail = self._refusal(arguments)
        if error:
            status["error"], status["error_detail"] = error, detail
        else:
            self._run(arguments, memory, status)
        block = np.concatenate([np.frombuffer(status.tobytes(), np.uint8), self.core.status()])
        memory.view(arguments["status"], len(block))[:] = block

    def _refusal(self, arguments):
        """``(error, detail)`` of the launch as a whole."""
        for pointer in self._pointers:
            if arguments[pointer.name] % COMMAND_BYTES:
                return ShellError.POINTER, pointer.id
        if arguments["command_count"] * COMMAND_BYTES > arguments["program_bytes"]:
            return ShellError.PROGRAM, 0
        return ShellError.NONE, 0

    def _run(self, arguments, memory, status):
        for position in range(arguments["command_count"]):
            address = arguments["program"] + position * COMMAND_BYTES
            command = memory.view(address, COMMAND_BYTES)
            error, detail = self.core.execute(command, arguments, memory)
            if error:
                status["error"], status["error_command"] = error, position
                status["error_detail"] = detail
                return
            status["executed"] += 1

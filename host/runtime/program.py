"""Programs on a card: lists of commands in, results and the status block out. Any design.

One launch runs a whole program, so that the cost of a launch is not paid for each command.
"""

import numpy as np

from hw.shell.program import COMMAND_BYTES, PAGE_BYTES, STATUS

__all__ = ["CommandError", "Launcher", "aligned", "encode"]


def aligned(size, to=COMMAND_BYTES):
    """``size`` rounded up to whole beats."""
    return -(-size // to) * to


def encode(commands, program):
    """A program as in memory, uint8 [commands, 64].

    commands : dict of opcode to Layout
    program : list of (opcode, dict); fields that are not named are 0
    """
    raw = np.zeros((len(program), COMMAND_BYTES), np.uint8)
    for row, (opcode, values) in zip(raw, program, strict=True):
        record = row.view(commands[opcode].dtype)
        record["opcode"] = opcode.value
        for name, value in values.items():
            record[name] = value
    return raw


class CommandError(RuntimeError):
    """A command was refused by the card.

    Attributes
    ----------
    code, name : int, str
        From the design's table of errors.
    command, detail : int
        Position in the program; position of the item, where the error has one.
    """

    def __init__(self, code, errors, command, detail, opcode):
        self.code, self.command, self.detail = int(code), int(command), int(detail)
        self.name, meaning = errors.get(self.code, ("unknown", f"error {code} of another version"))
        super().__init__(
            f"command {self.command} ({opcode}) must be valid, not {self.name}: "
            f"{meaning} (item {self.detail})"
        )


class Launcher:
    """The buffers that every kernel has, and a launch around them.

    Parameters
    ----------
    kernel : host.card.Kernel
    commands : dict of opcode to Layout
        The design's command table.
    errors : dict
        The design's error table.
    status : Layout
        The design's status block.
    pointers : dict of str to Buffer
        The design's own buffers.
    sizes : dict of str to int
        Bytes that a buffer has from the start; one that is not named, or must hold more, grows.
    timeout_s : float
        Bound of every launch.

    Attributes
    ----------
    cycles : int or None
        Clocks of all launches; None on a card that has none (model).
    launches : int
    """

    def __init__(self, kernel, *, commands, errors, status, pointers, sizes=None, timeout_s=600.0):
        self.kernel, self.commands, self.errors = kernel, commands, errors
        self.status_layout, self.pointers, self.timeout_s = status, pointers, timeout_s
        self.cycles, self.launches = 0, 0
        self._buffers, self._sizes = {}, sizes or {}
        self.status = None

    def _buffer(self, name, size):
        """The buffer ``name`` with at least ``size`` bytes; grows to powers of two."""
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            first = self._sizes.get(name, PAGE_BYTES)
            size = first if size <= first else 1 << (size - 1).bit_length()
            buffer = self._buffers[name] = self.kernel.buffer(name, size)
        return buffer

    def run(self, program, operands=(), results_bytes=0):
        """Run ``program``; return the bytes of results (uint8).

        Parameters
        ----------
        program : list of (opcode, dict)
            Fields of the command's layout by name; others are 0.
        operands : list of (offset, array)
            Bytes to place in operands.
        results_bytes : int

        Raises CommandError, CardTimeout, CardError. ``status`` holds the design's block after it,
        also after a CommandError.
        """
        raw = encode(self.commands, program)
        size = max((offset + array.nbytes for offset, array in operands), default=0)
        operand_buffer = self._buffer("operands", aligned(max(size, 1)))
        results = self._buffer("results", aligned(max(results_bytes, 1)))
        status = self._buffer("status", STATUS.size + self.status_layout.size)
        program_buffer = self._buffer("program", max(raw.nbytes, 1))
        if len(program):
            program_buffer.write(raw)
        for offset, array in operands:
            operand_buffer.view[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)
        if size:
            operand_buffer.to_device(size)
        self.kernel.launch(
            timeout_s=self.timeout_s,
            program=program_buffer,
            operands=operand_buffer,
            results=results,
            status=status,
            command_count=len(program),
            **self.pointers,
        )
        self.launches += 1
        block = status.read(np.uint8, STATUS.size + self.status_layout.size)
        shell = block[: STATUS.size].view(STATUS.dtype)[0]
        self.status = block[STATUS.size :].view(self.status_layout.dtype)[0]
        # A card that cannot count says so by 0 (the model) and is not added up.
        self.cycles = (
            None
            if self.cycles is None or not shell["cycles"]
            else self.cycles + int(shell["cycles"])
        )
        if shell["error"]:
            position = int(shell["error_command"])
            opcode = program[position][0].name if position < len(program) else "none"
            raise CommandError(shell["error"], self.errors, position, shell["error_detail"], opcode)
        return results.read(np.uint8, results_bytes) if results_bytes else np.zeros(0, np.uint8)

"""Programs on a card: lists of commands in, results and the status block out. Any design.

One launch runs a whole program, so that the cost of a launch is not paid for each command.
"""

import functools
import operator

import numpy as np

from hw.designs import DESIGNS
from hw.shell.program import COMMAND_BYTES, PAGE_BYTES, STATUS

__all__ = ["CommandError", "Launcher", "aligned", "encode"]


def aligned(size, to=COMMAND_BYTES):
    """``size`` rounded up to whole beats."""
    return -(-size // to) * to


def encode(commands, program, config):
    """A program as in memory, uint8 [commands, 64].

    commands : dict of opcode to Command
    program : list of (opcode, dict); fields that are not named are 0
    config : the kernel's, on which limits of fields depend

    ValueError for a field that is unknown, or that is no integer within its limits.
    """
    rows = [_packed(commands[opcode], values, config) for opcode, values in program]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, COMMAND_BYTES)


def _packed(command, values, config):
    """The bytes of one command."""
    ranges, numbers = _ranges(command, config), [command.opcode.value]
    if not values.keys() <= ranges.keys():
        raise ValueError(f"no field of name {next(n for n in values if n not in ranges)}")
    for name, (low, high, blank) in ranges.items():
        given = values.get(name, blank)
        if blank == 0:
            numbers.append(_within(command, name, given, low, high))
            continue
        if len(given) != len(blank):
            raise ValueError(
                f"{command.name}.{name} must be {len(blank)} numbers, not {len(given)}"
            )
        for place, number in enumerate(given):
            numbers.append(_within(command, f"{name}[{place}]", number, low, high))
    return command.pack(numbers)


@functools.lru_cache(maxsize=1024)
def _ranges(command, config):
    """Field name to ``(low, high, blank)``: what it may be, and is where it is not given."""
    ranges = {}
    for field in command.fields[1:]:  # behind the opcode
        limits = zip(field.limits(config), field.span, strict=True)
        low, high = (span if own is None else own for own, span in limits)
        ranges[field.name] = low, high, (0,) * field.count if field.count > 1 else 0
    return ranges


def _within(command, name, number, low, high):
    """``number`` as an int; ValueError unless it is one in low..high."""
    try:
        whole = operator.index(number)
    except TypeError:
        whole = None
    if whole is None or not low <= whole <= high:
        rule = f"in {low}..{high}" if low < high else low
        raise ValueError(f"{command.name}.{name} must be {rule}, not {number}")
    return whole


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
    pointers : dict of str to Buffer
        The design's own buffers.
    design : Design
        That of the kernel's name, if None.
    timeout_s : float
        Bound of every launch.

    Attributes
    ----------
    config : the kernel's
    pointers : dict
        As given; buffers may be added before the first launch.
    status : record or None
        The design's status block after the last launch.
    cycles : int or None
        Clocks of all launches; None on a card that has none (model).
    launches : int
    """

    def __init__(self, kernel, *, pointers=None, design=None, timeout_s=600.0):
        self.kernel, self.pointers, self.timeout_s = kernel, dict(pointers or {}), timeout_s
        self.design = design or DESIGNS[kernel.description.name]
        self.config = self.design.config_type.from_dict(kernel.description.config)
        self.status, self.cycles, self.launches = None, 0, 0
        self._buffers, self._sizes = {}, self.design.buffers(self.config)

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

        Raises ValueError for a field out of its limits, which launches nothing; CommandError,
        CardTimeout, CardError. ``status`` holds the design's block after it, also after a
        CommandError.
        """
        raw, layout = encode(self.design.commands, program, self.config), self.design.status
        size = max((offset + array.nbytes for offset, array in operands), default=0)
        operand_buffer = self._buffer("operands", aligned(max(size, 1)))
        results = self._buffer("results", aligned(max(results_bytes, 1)))
        status = self._buffer("status", STATUS.size + layout.size)
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
        block = status.read(np.uint8, STATUS.size + layout.size)
        shell = block[: STATUS.size].view(STATUS.dtype)[0]
        self.status = block[STATUS.size :].view(layout.dtype)[0]
        # A card that cannot count says so by 0 (the model) and is not added up.
        self.cycles = (
            None
            if self.cycles is None or not shell["cycles"]
            else self.cycles + int(shell["cycles"])
        )
        if shell["error"]:
            position = int(shell["error_command"])
            opcode = program[position][0].name if position < len(program) else "none"
            raise CommandError(
                shell["error"], self.design.errors, position, shell["error_detail"], opcode
            )
        return results.read(np.uint8, results_bytes) if results_bytes else np.zeros(0, np.uint8)

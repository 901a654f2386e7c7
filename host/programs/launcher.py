"""Programs on a card: lists of commands in, results and the status block out. Any design.

One launch runs a whole program, so that the cost of a launch is not paid for each command.
"""

import itertools
import re

import numpy as np

from host.cards.buffer import OnCard
from host.cards.kernel import CapacityError
from host.programs.encoder import Encoder
from hw.designs import DESIGNS
from hw.errors import Failure
from hw.shell.errors import ShellError
from hw.shell.program import COMMAND_BYTES, PAGE_BYTES
from hw.shell.status_block import STATUS

__all__ = ["CommandError", "Launcher", "aligned"]

_NOTHING = np.zeros(0, np.uint8)


def aligned(size, to=COMMAND_BYTES):
    """``size``, in bytes, rounded up to a multiple of ``to``, by default a beat of 64 bytes."""
    return -(-size // to) * to


class CommandError(Failure):
    """The card refused a command, or failed in it; the commands after it were not executed.

    Attributes
    ----------
    code, name : int, str
        The error's number and name in the design's table of errors.
    command, detail : int
        Position of the command in the program, from 0 on; a number that the error explains, mostly
        the position of an item in the command's list.
    """

    def __init__(self, code, errors, command, detail, opcode, doc=""):
        self.code, self.command, self.detail = int(code), int(command), int(detail)
        self.name, meaning = errors.get(self.code, ("unknown", f"error {code} of another version"))
        super().__init__(
            f"command {self.command} ({opcode}) must be valid, not {self.name}: "
            f"{meaning} (item {self.detail})" + _left_behind(self.code, doc)
        )


def _left_behind(code, doc):
    """What a command's document says of one that memory failed."""
    found = re.search(r"[^.]*\bmemory fails\b.*", doc, re.S)
    return f": {found[0].strip()}" if code == ShellError.AXI and found else ""


class Launcher(OnCard):
    """Runs programs on a kernel; it has the buffers that every kernel needs: program, operands,
    results and status.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel.
    pointers : dict of str to Buffer
        The design's own buffers, by the argument's name.
    design : Design, optional
        None: the design that has the kernel's name.
    timeout_s : float
        Seconds after which a launch that has not ended raises CardTimeout.
    claim : host.cards.kernel.Claim or None
        If it is given, a launch raises RuntimeError unless this claim to the kernel still holds.

    Attributes
    ----------
    config : ConfigBase
        The kernel's config, an object of the design's class.
    design : Design
        The design of a kernel with this config.
    pointers : dict
        A copy of the dict that was given; buffers may be added before the first launch.
    status : record or None
        The design's status block after the last launch; None before the first.
    cycles : int or None
        Clocks of all launches so far; None on a card that does not count (model).
    launches : int
        Launches that have ended, also with a CommandError.
    """

    _INSTEAD = "be made where it is used"

    def __init__(self, kernel, *, pointers=None, design=None, timeout_s=600.0, claim=None):
        self.kernel, self.pointers, self.timeout_s = kernel, dict(pointers or {}), timeout_s
        design = design or DESIGNS[kernel.description.name]
        self.config = design.config_type.from_dict(kernel.description.config)
        self.design = design.of(self.config)
        self.claim = claim
        self.cycles, self.launches = 0, 0
        self._block = self._status = None
        self._buffers, self._sizes = {}, self.design.buffers(self.config)
        self._status_bytes = STATUS.size + self.design.status.size
        self._encode = Encoder(self.design.commands, self.config)

    @property
    def status(self):
        if self._status is None and self._block is not None:
            layout = self.design.status
            self._status = np.frombuffer(self._block, layout.dtype, 1, STATUS.size)[0]
        return self._status

    def _taken(self, sizes):
        """The buffers with at least ``sizes``, ``{name: bytes}``. Where the bank has no room, those
        that grew for other programs are given back, and these take no more than they need."""
        try:
            return {name: self._buffer(name, size) for name, size in sizes.items()}
        except CapacityError:
            self._buffers.clear()
        # Here, since the error would hold the buffers that were made before it.
        return {name: self._buffer(name, size, grows=False) for name, size in sizes.items()}

    def _buffer(self, name, size, grows=True):
        """The buffer ``name`` with at least ``size`` bytes, in whole beats. One that ``grows`` has
        a power of two."""
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            size = aligned(max(size, 1))
            first = self._sizes.get(name, PAGE_BYTES)
            if size <= first:
                size = first
            elif grows:
                size = 1 << (size - 1).bit_length()
            buffer = self._buffers[name] = self.kernel.buffer(name, size)
        return buffer

    def _in_words(self, program):
        names = [self.design.commands[opcode].name for opcode, _ in program]
        runs = [(name, len(list(same))) for name, same in itertools.groupby(names)]
        return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in runs) or "none"

    def run(self, program, operands=(), results_bytes=0, cleared=0):
        """Runs ``program`` in one launch and returns the first ``results_bytes`` bytes of the
        results (uint8).

        Parameters
        ----------
        program : list of (opcode, dict)
            The commands in order, each with its fields by name. Offsets of operands and results
            that are not named are 0, and so is a field whose default is 0; all others are needed.
        operands : list of (offset, array)
            Arrays whose bytes are written to the buffer ``operands``, from ``offset`` (bytes) on.
        results_bytes : int
            Bytes that the commands may write to the buffer ``results``.
        cleared : int
            The first bytes of the results, this number, are 0 when the launch begins.

        UsageError for a field that is unknown, missing or out of its limits; nothing is launched
        then. CommandError if the
        card reports an error; ``status`` is then that of this launch, too. CardTimeout and
        CardError have the program's commands in a note.
        """
        if self.claim is not None:
            self.kernel.claims.confirm(self.claim)
        raw, size = self._encode(program), 0
        for offset, array in operands:
            end = offset + array.nbytes
            if end > size:
                size = end
        taken = self._taken(
            {
                "operands": size,
                "results": results_bytes,
                "status": self._status_bytes,
                "program": len(raw),
            }
        )
        if raw:
            taken["program"].write_bytes(raw)
        for offset, array in operands:
            taken["operands"].stage_bytes(array.tobytes(), offset)
        if size:
            taken["operands"].to_device(size)
        if cleared:
            taken["results"].write_bytes(bytes(cleared))
        try:
            self.kernel.launch(
                timeout_s=self.timeout_s, command_count=len(program), **taken, **self.pointers
            )
        except Failure as error:  # the card has not said in which command
            note = f"the launch was of the commands {self._in_words(program)}"
            error.__notes__ = [*getattr(error, "__notes__", ()), note]
            raise
        self.launches += 1
        self._block, self._status = taken["status"].read_bytes(self._status_bytes), None
        _, _, _, error, position, detail, _, cycles = STATUS.numbers(self._block)
        # A card that cannot count says so by 0 (the model) and is not added up.
        self.cycles = None if self.cycles is None or not cycles else self.cycles + cycles
        if error:
            name, doc = "none", ""
            if position < len(program):
                command = self.design.commands[program[position][0]]
                name, doc = command.name, command.doc
            raise CommandError(error, self.design.errors, position, detail, name, doc)
        if not results_bytes:
            return _NOTHING
        return np.frombuffer(taken["results"].read_bytes(results_bytes), np.uint8)

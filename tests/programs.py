"""Programs of any kernel for tests: built, run on any card, compared byte for byte."""

from dataclasses import dataclass, field

import numpy as np

from hw.shell.program import COMMAND_BYTES
from hw.shell.status_block import STATUS

__all__ = ["BLANK", "Builder", "Launch", "Rig", "assert_left", "bits_of", "masked", "status_of"]

#: What lies in results before a launch: a byte that no command wrote shows.
BLANK = 0xA5


@dataclass
class Launch:
    """Arguments of a launch and what its buffers hold: program, operands, by name those of the
    design that are filled (uint8). ``sizes``: arguments, of buffers that have more room."""

    program: np.ndarray
    operands: np.ndarray
    operands_bytes: int
    results_bytes: int
    own: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)

    @property
    def command_count(self):
        return len(self.program)


class Builder:
    """Commands and their operands in order; operands and results each begin on 64 bytes.

    ``commands``: opcode -> Layout. ``beat``: bytes of a beat, what sizes are rounded up to.
    """

    def __init__(self, commands, beat=64):
        self._commands, self._rows, self._lists, self._beat = commands, [], [], beat
        self._own = {}
        self.operands_bytes = self.results_bytes = 0

    def __len__(self):
        return len(self._rows)

    @property
    def last(self):
        """The newest command, uint8 [64], to be spoilt."""
        return self._rows[-1]

    def raw(self, opcode, **fields):
        """Any 64 bytes that begin with ``opcode``, or with a number that is none."""
        row = np.zeros(COMMAND_BYTES, np.uint8)
        layout = self._commands.get(opcode, next(iter(self._commands.values())))
        record = row.view(layout.dtype)[0]
        for name, value in fields.items():
            record[name] = value
        record["opcode"] = opcode.value if opcode in self._commands else opcode
        self._rows.append(row)

    def operand(self, array):
        """Offset at which ``array`` will lie in operands."""
        offset = -(-self.operands_bytes // 64) * 64
        self._lists.append((offset, np.ascontiguousarray(array).reshape(-1).view(np.uint8)))
        self.operands_bytes = offset + -(-array.nbytes // self._beat) * self._beat
        return offset

    def result(self, size):
        """Offset of ``size`` bytes of results."""
        offset = -(-self.results_bytes // 64) * 64
        self.results_bytes = offset + -(-size // self._beat) * self._beat
        return offset

    def own(self, name, array, beat=64):
        """Offset at which ``array`` will lie in a buffer of the design's, of ``beat`` bytes."""
        held = self._own.get(name, np.zeros(0, np.uint8))
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        offset = -(-held.nbytes // 64) * 64
        grown = np.zeros(offset + -(-data.nbytes // beat) * beat, np.uint8)
        grown[: held.nbytes], grown[offset : offset + data.nbytes] = held, data
        self._own[name] = grown
        return offset

    def launch(self):
        """The sizes of the buffers are exact: one beat more would leave them."""
        operands = np.zeros(-(-max(1, self.operands_bytes) // 64) * 64, np.uint8)
        for offset, data in self._lists:
            operands[offset : offset + data.nbytes] = data
        program = np.array(self._rows, np.uint8).reshape(-1, COMMAND_BYTES)
        sizes = {f"{name}_bytes": data.nbytes for name, data in self._own.items()}
        return Launch(
            program, operands, self.operands_bytes, self.results_bytes, dict(self._own), sizes
        )


def bits_of(commands, opcode, **fields):
    """One command as a number of 512 bits."""
    builder = Builder(commands)
    builder.raw(opcode, **fields)
    return int.from_bytes(builder.last.tobytes(), "little")


class Rig:
    """A kernel (``host.cards.Kernel``) with buffers for every launch of a test.

    Parameters
    ----------
    kernel : host.cards.Kernel
    pointers : dict of str to int
        The design's own buffers, and their bytes.
    status, clocks : Layout, sequence of str
        The design's status block, and its fields that a twin does not know.
    sizes : dict of str to int
        Bytes of buffers of all kernels, where they differ from SIZES.
    """

    SIZES = {"program": 1 << 16, "operands": 1 << 21, "results": 1 << 20, "status": 4096}

    def __init__(self, kernel, pointers, status, clocks, timeout_s=60.0, sizes=None):
        self.kernel, self.timeout_s = kernel, timeout_s
        self.status, self.clocks = status, clocks
        self.written = ("results", *pointers, "status")
        sizes = {**self.SIZES, **(sizes or {}), **pointers}
        self.buffers = {name: kernel.buffer(name, size) for name, size in sizes.items()}
        for name in pointers:  # the same on all cards, and nothing that a kernel may count on
            buffer = self.buffers[name]
            buffer.view[:] = np.random.default_rng(0).integers(0, 256, buffer.size, np.uint8)
            buffer.to_device()

    def run(self, launch, **arguments):
        """All that a launch could have written, the clock counts of status masked.

        ``arguments``: those that are not the launch's own, by name.
        """
        buffers = self.buffers
        buffers["program"].write(launch.program)
        buffers["operands"].write(launch.operands)
        for name, data in launch.own.items():
            buffers[name].write(data)
        for name in ("results", "status"):
            buffers[name].view[:] = BLANK
            buffers[name].to_device()
        own = dict(
            command_count=launch.command_count,
            program_bytes=launch.program.nbytes,
            operands_bytes=launch.operands_bytes,
            results_bytes=launch.results_bytes,
            **launch.sizes,
        )
        self.kernel.launch(timeout_s=self.timeout_s, **{**own, **buffers, **arguments})
        outputs = {}
        for name in self.written:
            buffers[name].from_device()
            outputs[name] = buffers[name].view.copy()
        outputs["status"] = masked(outputs["status"], self.status, self.clocks)
        return outputs


def status_of(block, layout):
    """``(STATUS record, record of layout)`` of the bytes of a status block."""
    return (
        block[: STATUS.size].view(STATUS.dtype)[0],
        block[STATUS.size : STATUS.size + layout.size].view(layout.dtype)[0],
    )


def masked(block, layout, clocks):
    """A copy with the clock counts, the one thing that a twin does not know, at 0."""
    block = block.copy()
    shell, own = status_of(block, layout)
    shell["cycles"] = 0
    for name in clocks:
        own[name] = 0
    return block


def assert_left(left, expected, label):
    """Every byte that a launch has left."""
    for name, data in expected.items():
        different = np.flatnonzero(left[name] != data)
        assert not len(different), f"{label}: {name} from byte {different[0]:#x} on"

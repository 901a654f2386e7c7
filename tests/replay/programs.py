"""Programs of the replay kernel for tests: built, run on any card, compared byte for byte."""

from dataclasses import dataclass

import numpy as np

from hw.replay.commands import COMMANDS, GRANULE_BYTES, HEADER, ITEM, REPLAY_STATUS, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.shell.program import COMMAND_BYTES, STATUS

__all__ = ["STATUS_BYTES", "Launch", "Program", "Rig", "masked", "status_of", "tour"]

STATUS_BYTES = STATUS.size + REPLAY_STATUS.size
#: What lies in results before a launch: a byte that no command wrote shows.
BLANK = 0xA5


@dataclass
class Launch:
    """Arguments of a launch and what its buffers hold: program, operands (uint8)."""

    program: np.ndarray
    operands: np.ndarray
    operands_bytes: int
    results_bytes: int

    @property
    def command_count(self):
        return len(self.program)


class Program:
    """Commands and their operands in order; lists and batches each begin on 64 bytes.

    ``granules`` of an experience: what the kernel will hold when the next command runs.
    """

    def __init__(self, granules=0):
        self.granules, self._rows, self._lists = granules, [], []
        self.operands_bytes = self.results_bytes = 0

    def __len__(self):
        return len(self._rows)

    def raw(self, opcode, **fields):
        """Any 64 bytes that begin with ``opcode``, an ``Opcode`` or a number that is none."""
        row = np.zeros(COMMAND_BYTES, np.uint8)
        known = opcode if isinstance(opcode, Opcode) else Opcode.SET
        record = row.view(COMMANDS[known].dtype)[0]
        for name, value in fields.items():
            record[name] = value
        record["opcode"] = opcode.value if isinstance(opcode, Opcode) else opcode
        self._rows.append(row)

    def setup(self, capacity, granules, priority):
        self.granules = granules
        self.raw(Opcode.SETUP, capacity=capacity, granules=granules, priority=priority)

    def listed(self, opcode, items, **fields):
        """SET, UPDATE (pairs of index and value), GET (indexes) or FIND (positions)."""
        if opcode == Opcode.FIND:
            array = np.array(items, "<u8")
        else:
            array = np.zeros(len(items), ITEM.dtype)
            array["index"], array["value"] = np.array(
                [(i, 0) for i in items] if opcode == Opcode.GET else items, np.uint64
            ).T
        payload = self.granules if opcode == Opcode.FIND else 0
        if opcode in (Opcode.FIND, Opcode.GET) and "destination" not in fields:
            fields["destination"] = self._result(len(items), payload)
        self.raw(opcode, **{"count": len(items), "source": self._operand(array), **fields})

    def update(self, indexes, errors, **fields):
        bits = np.array(errors, np.float32).view(np.uint32)
        self.listed(Opcode.UPDATE, list(zip(indexes, bits, strict=True)), **fields)

    def insert(self, records, priority=0):
        """``records``: uint8 [n, 16 * granules]."""
        self.raw(
            Opcode.INSERT, count=len(records), source=self._operand(records), priority=priority
        )

    def sample(self, count, *, beta=0, step=1 << FRACTION_WIDTH):
        self.raw(
            Opcode.SAMPLE,
            count=count,
            step=step,
            beta=beta,
            destination=self._result(count, self.granules),
        )

    def _operand(self, array):
        offset = -(-self.operands_bytes // 64) * 64
        self._lists.append((offset, np.ascontiguousarray(array).reshape(-1).view(np.uint8)))
        self.operands_bytes = offset + array.nbytes
        return offset

    def _result(self, count, granules):
        offset = -(-self.results_bytes // 64) * 64
        self.results_bytes = offset + count * (HEADER.size + granules * GRANULE_BYTES)
        return offset

    def launch(self):
        """The sizes of the buffers are exact: one item more would leave them."""
        operands = np.zeros(-(-max(1, self.operands_bytes) // 64) * 64, np.uint8)
        for offset, data in self._lists:
            operands[offset : offset + data.nbytes] = data
        program = np.array(self._rows, np.uint8).reshape(-1, COMMAND_BYTES)
        return Launch(program, operands, self.operands_bytes, self.results_bytes)


class Rig:
    """A kernel (``host.card.Kernel``) with buffers for every launch of a test.

    ``run`` returns all that a launch could have written, the clock counts of status masked.
    """

    SIZES = {"program": 1 << 16, "operands": 1 << 20, "results": 1 << 20, "status": 4096}

    def __init__(self, kernel, storage_bytes, timeout_s=60.0):
        self.kernel, self.timeout_s = kernel, timeout_s
        self.buffers = {
            name: kernel.buffer(name, size)
            for name, size in {**self.SIZES, "storage": storage_bytes}.items()
        }

    def run(self, launch):
        buffers = self.buffers
        buffers["program"].write(launch.program)
        buffers["operands"].write(launch.operands)
        for name in ("results", "status"):
            buffers[name].view[:] = BLANK
            buffers[name].to_device()
        self.kernel.launch(
            timeout_s=self.timeout_s,
            command_count=launch.command_count,
            operands_bytes=launch.operands_bytes,
            results_bytes=launch.results_bytes,
            **buffers,
        )
        outputs = {}
        for name in ("results", "storage", "status"):
            buffers[name].from_device()
            outputs[name] = buffers[name].view.copy()
        outputs["status"] = masked(outputs["status"])
        return outputs


def status_of(block):
    """``(STATUS record, REPLAY_STATUS record)`` of the bytes of a status block."""
    return (
        block[: STATUS.size].view(STATUS.dtype)[0],
        block[STATUS.size : STATUS_BYTES].view(REPLAY_STATUS.dtype)[0],
    )


def masked(block):
    """A copy with the clock counts, the one thing that a twin does not know, at 0."""
    block = block.copy()
    shell, replay = (record.view() for record in (block[: STATUS.size], block[STATUS.size :]))
    shell.view(STATUS.dtype)["cycles"] = 0
    for name in ("draw_cycles", "gather_cycles", "write_cycles"):
        replay[: REPLAY_STATUS.size].view(REPLAY_STATUS.dtype)[name] = 0
    return block


def tour(config, granules, seed=1):
    """Launches with every command, an insert over the end of the ring, and one bad item."""
    rng = np.random.default_rng(seed)
    replay, capacity = config.replay, config.replay.capacity
    record = (granules * GRANULE_BYTES,)

    def records(count):
        return rng.integers(0, 256, (count, *record), np.uint8)

    first = Program()
    first.setup(capacity, granules, replay.one)
    first.raw(Opcode.SEED, state=rng.integers(0, 1 << 63, 4))
    first.insert(records(capacity - 7))
    first.sample(8, beta=1 << 14)

    second = Program(granules)
    second.insert(records(20), priority=3)
    indexes = rng.permutation(capacity)[:12]
    second.listed(Opcode.SET, [(i, rng.integers(0, replay.priority_limit)) for i in indexes])
    second.update(indexes[:9], rng.standard_normal(9) * 3, alpha=19661, epsilon=7)
    second.insert(records(2))
    second.sample(16, beta=1 << 15, step=(1 << FRACTION_WIDTH) // 16)
    second.listed(Opcode.FIND, [0, 1, 2, replay.one // 2, replay.one], beta=100)
    second.listed(Opcode.GET, range(capacity), beta=1 << 15)

    third = Program(granules)
    third.listed(Opcode.SET, [(0, 0), (capacity, 1), (1, 5)])
    third.sample(1)

    fourth = Program()
    fourth.setup(5, 0, 9)
    fourth.raw(Opcode.RESTORE, position=4, fill=3, maximum=77)
    fourth.insert(records(3)[:, :0])
    fourth.sample(5, beta=7)
    return [program.launch() for program in (first, second, third, fourth, Program())]

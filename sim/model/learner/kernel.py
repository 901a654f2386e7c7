"""Bit-exact twin of the kernels ``dqn`` and ``ddpg``: the replay core's twin, and a learner's.

An iteration of LEARN is a SAMPLE, a gradient step, an UPDATE and an INSERT, one after the other.
"""

import numpy as np

from hw.learner.commands import (
    COMMANDS,
    KINDS,
    LEARNER_STATUS,
    REPORT,
    STEP,
    LearnError,
    LearnOpcode,
    record_granules,
)
from hw.learner.image import sections
from hw.learner.kernel_config import LearnerKernelConfig
from hw.replay.commands import (
    COMMANDS as REPLAY_COMMANDS,
)
from hw.replay.commands import GRANULE_BYTES, HEADER, ITEM, MAX_COUNT, MAX_TRANSFER, Error, Opcode
from hw.shell.program import COMMAND_BYTES
from sim.model.learner.learner import Learner
from sim.model.program import ProgramTwin, leaves
from sim.model.replay.kernel import ReplayCore

__all__ = ["LearnerCore", "LearnerKernel"]

_OPCODES = {opcode.value: opcode for opcode in LearnOpcode}
#: Where the replay core finds what a LEARN keeps inside the kernel: no buffer is there.
_INSIDE = 1 << 64


class _Inside:
    """Card memory, and ``block`` (uint8) at the address ``_INSIDE``."""

    def __init__(self, memory, block):
        self._memory, self._block = memory, block

    def view(self, address, size):
        if address >= _INSIDE:
            return self._block[address - _INSIDE :][:size]
        return self._memory.view(address, size)


class LearnerCore:
    """The commands of ``hw.learner.commands``.

    ``make_learner(LearnerConfig)``: the learner's twin, ``sim.model.learner.learner.Learner``.
    """

    def __init__(self, config, make_learner=Learner):
        self.config = config
        self.replay = ReplayCore(config)
        self.learner = make_learner(config.learner)
        self.iterations = 0
        self.saturations = np.zeros(3, np.uint64)
        fields = config.fields
        experience = np.dtype(
            {
                "names": list(fields),
                "formats": list(fields.values()),
                "itemsize": record_granules(config.learner) * GRANULE_BYTES,
            }
        )
        self._record = np.dtype([("header", HEADER.dtype), ("experience", experience)])

    def status(self):
        """Bytes of LEARNER_STATUS; clock counts are 0."""
        block = np.zeros(LEARNER_STATUS.size, np.uint8)
        replay = self.replay.status()
        block[: len(replay)] = replay
        block.view(LEARNER_STATUS.dtype)["iterations"] = self.iterations
        return block

    def execute(self, raw, arguments, memory):
        """Run one command; return ``(error, detail)``."""
        opcode = _OPCODES.get(int(raw[:4].view("<u4")[0]))
        if opcode is None:
            return self.replay.execute(raw, arguments, memory)
        command = raw.view(COMMANDS[opcode].dtype)[0]
        return getattr(self, f"_{opcode.name.lower()}")(command, arguments, memory)

    # -- LEARN

    def _check_learn(self, command, arguments):
        """The error of the command as a whole: before anything has happened."""
        learner, replay = self.config.learner, self.replay
        count, batch, inserts = (int(command[name]) for name in ("count", "batch", "inserts"))
        if not 1 <= count <= MAX_COUNT:
            return Error.COUNT
        if not 1 <= batch <= learner.batch or batch % learner.lanes:
            return LearnError.BATCH
        if replay.granules != record_granules(self.config.learner):
            return LearnError.RECORD
        granules = inserts * replay.granules
        if inserts > min(replay.capacity, MAX_COUNT) or granules > MAX_TRANSFER:
            return Error.COUNT
        size = arguments["operands_bytes"]
        if leaves(command["source"], count * STEP.size, size):
            return Error.OPERANDS
        if inserts and leaves(command["experiences"], count * self._stride(inserts), size):
            return Error.OPERANDS
        if leaves(command["destination"], count * REPORT.size, arguments["results_bytes"]):
            return Error.RESULTS
        return Error.NONE

    def _stride(self, inserts):
        """Bytes of operands from the experiences of one iteration to the next one's: whole
        beats, as every list."""
        size = inserts * record_granules(self.config.learner) * GRANULE_BYTES
        return -(-size // COMMAND_BYTES) * COMMAND_BYTES

    def _learn(self, command, arguments, memory):
        error = self._check_learn(command, arguments)
        if error:
            return error, 0
        count = int(command["count"])
        source = arguments["operands"] + int(command["source"])
        steps = memory.view(source, count * STEP.size).view(STEP.dtype)
        destination = arguments["results"] + int(command["destination"])
        reports = memory.view(destination, count * REPORT.size).reshape(count, REPORT.size)
        for iteration in range(count):
            error, detail, report = self._iterate(
                command, iteration, steps[iteration], arguments, memory
            )
            if error:
                return error, detail
            # The whole record, what no field names being zeros.
            reports[iteration] = np.frombuffer(report.tobytes(), np.uint8)
        return Error.NONE, 0

    def _iterate(self, command, iteration, step, arguments, memory):
        """One iteration; ``(error, detail, report)``."""
        batch, inserts = int(command["batch"]), int(command["inserts"])
        # Whole beats, as the replay core writes them.
        records = np.zeros(batch * self._record.itemsize + COMMAND_BYTES, np.uint8)
        error, detail = self._replay(
            Opcode.SAMPLE,
            arguments,
            memory,
            results=records,
            count=batch,
            step=command["step"],
            beta=step["beta"],
        )
        if error:
            return error, detail, None
        records = records[: batch * self._record.itemsize].view(self._record)
        indexes, experiences = records["header"]["index"], records["experience"]
        bad = self._bad(experiences)
        if bad.any():
            return LearnError.NUMBER, int(indexes[np.argmax(bad)]), None

        names = experiences.dtype.names
        result = self.learner.train(
            {name: experiences[name] for name in names},
            indexes,
            records["header"]["weight"],
            step,
        )
        self.saturations += np.asarray(result.saturations, np.uint64)
        if result.diverged is not None:
            return LearnError.DIVERGED, int(indexes[result.diverged]), None
        items = np.zeros(batch, ITEM.dtype)
        items["index"], items["value"] = indexes, np.asarray(result.td, "<f4").view("<u4")
        error, detail = self._replay(
            Opcode.UPDATE,
            arguments,
            memory,
            operands=items.view(np.uint8),
            count=batch,
            alpha=command["alpha"],
            epsilon=command["epsilon"],
        )
        if not error and inserts:
            source = int(command["experiences"]) + iteration * self._stride(inserts)
            error, detail = self._replay(
                Opcode.INSERT, arguments, memory, count=inserts, source=source
            )
        self.iterations += 1
        return error, detail, self._report(result)

    def _report(self, result):
        report = np.zeros((), REPORT.dtype)
        report["loss"], report["td"] = result.loss, result.td_sum
        report["value"], report["weight"] = result.value, result.weight
        report["saturations"] = np.minimum(self.saturations, 0xFFFF_FFFF)
        report["position"] = self.replay.position
        return report

    def _bad(self, experiences):
        """Which experiences have a number or an action that is none, bool [batch]."""
        bad = np.zeros(len(experiences), bool)
        if self.config.learner.algorithm == "dqn":
            bad |= experiences["action"] >= self.config.learner.action
        for name in experiences.dtype.names:
            values = experiences[name]
            if values.dtype.kind == "f":
                bad |= ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        return bad

    def _replay(self, opcode, arguments, memory, *, operands=None, results=None, **fields):
        """A command of the replay core; operands or results given here stay inside."""
        raw = np.zeros(COMMAND_BYTES, np.uint8)
        record = raw.view(REPLAY_COMMANDS[opcode].dtype)
        record["opcode"] = opcode.value
        for name, value in fields.items():
            record[name] = value
        arguments = dict(arguments)
        for name, block in (("operands", operands), ("results", results)):
            if block is not None:
                arguments |= {name: _INSIDE, f"{name}_bytes": 1 << 32}
                memory = _Inside(memory, block)
        return self.replay.execute(raw, arguments, memory)

    # -- LOAD and STORE

    def _image(self, command, offset, buffer_bytes, code):
        """``(error, kinds, bytes)`` of a LOAD or STORE."""
        bits, count = int(command["kinds"]), int(command["count"])
        if not 0 < bits < 1 << len(KINDS):
            return LearnError.IMAGE, (), 0
        kinds = tuple(kind for k, kind in enumerate(KINDS) if bits >> k & 1)
        last = sections(self.config.learner, kinds)[-1]
        if count != last.offset + last.size:
            return LearnError.IMAGE, (), 0
        return (code if leaves(offset, count, buffer_bytes) else Error.NONE), kinds, count

    def _load(self, command, arguments, memory):
        offset = int(command["source"])
        error, kinds, size = self._image(
            command, offset, arguments["operands_bytes"], Error.OPERANDS
        )
        if not error:
            numbers = memory.view(arguments["operands"] + offset, size).view("<u4")
            self.learner.load(numbers.copy(), kinds)
        return error, 0

    def _store(self, command, arguments, memory):
        offset = int(command["destination"])
        error, kinds, size = self._image(command, offset, arguments["results_bytes"], Error.RESULTS)
        if not error:
            numbers = np.ascontiguousarray(self.learner.store(kinds))
            memory.view(arguments["results"] + offset, size)[:] = numbers.view(np.uint8)
        return error, 0


class LearnerKernel(ProgramTwin):
    """Twin of the whole kernels ``dqn`` and ``ddpg``."""

    def make_core(self, description):
        return LearnerCore(LearnerKernelConfig.from_dict(description.config))

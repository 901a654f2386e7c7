"""Bit-exact twin of the kernel ``gae``: ``hw.gae.core`` with its engines."""

import numpy as np

from hw.gae.commands import COMMANDS, GAE_STATUS, MOMENTS, Error, Kind, Opcode, Phase
from hw.gae.config import GaeKernelConfig
from hw.gae.decode import EXPONENT_LIMIT, FACTOR_WIDTH, MAX_COUNT, MEAN_WIDTH, SHIFT_LIMIT
from sim.model.gae.estimator import Estimator
from sim.model.gae.intake import Intake, signed
from sim.model.program import ProgramTwin, leaves

__all__ = ["GaeCore", "GaeKernel"]

_OPCODES = {opcode.value: opcode for opcode in COMMANDS}
_DTYPES = {opcode: layout.dtype for opcode, layout in COMMANDS.items()}

#: Commands that take slots from operands, and the numbers that lie there.
_READS = {Opcode.STATISTICS: "numbers", Opcode.PUSH: "numbers", Opcode.PUSH_CODES: "codes"}
_PUSHES = (Opcode.PUSH, Opcode.PUSH_CODES)


def _outside(number, width):
    """Whether a signed field of 32 bits needs more than ``width``."""
    return not -(1 << (width - 1)) <= signed(number) < 1 << (width - 1)


class GaeCore:
    """The commands of ``hw.gae.commands`` on an ``Estimator`` and card memory."""

    def __init__(self, config):
        self.config = config
        self.estimator = Estimator(config.gae)
        self.intake = Intake(config)
        self.phase, self.clipped = Phase.CODES, 0
        self.open = np.zeros(config.gae.rows, bool)

    def status(self):
        """Bytes of GAE_STATUS; clock counts are 0."""
        record = np.zeros((), GAE_STATUS.dtype)
        record["phase"], record["clipped"] = self.phase.value, self.clipped & 0xFFFF_FFFF
        for name in ("fill", "saturated", "overflows", "busy"):
            record[name] = getattr(self.estimator, name)
        return np.frombuffer(record.tobytes(), np.uint8)

    def execute(self, raw, arguments, memory):
        """Run one command; return ``(error, detail)``."""
        opcode = _OPCODES.get(int(raw[:4].view("<u4")[0]))
        if opcode is None:
            return Error.OPCODE, 0
        command = raw.view(_DTYPES[opcode])[0]
        error, detail = self._check(opcode, command, arguments)
        if error:
            return error, detail
        return getattr(self, f"_{opcode.name.lower()}")(command, arguments, memory)

    def _bytes(self, planes):
        """Of a slot."""
        return sum(self.config.slot_beats[planes]) * self.config.engine.beat_bytes

    def _check(self, opcode, command, arguments):
        """The error of the command as a whole and its detail, in the order of ``hw.gae.decode``."""
        count, fill = int(command["count"]), self.estimator.fill
        results, pull = self.phase == Phase.RESULTS, opcode == Opcode.PULL
        estimate, pushes = opcode == Opcode.ESTIMATE, opcode in _PUSHES
        if (opcode in _READS or pull) and not 1 <= count <= MAX_COUNT:
            return Error.COUNT, 0
        if (pushes or estimate) and results or pull and not results:
            return Error.PHASE, 0
        if pull and count > fill or estimate and not fill:
            return Error.COUNT, 0
        if pushes and count + fill > self.config.gae.depth + 1:
            return Error.FULL, 0
        one = 1 << self.config.gae.coefficient.fraction
        names = ("gamma", "decay", "decay_power")
        if estimate and any(command[name] > one for name in names):
            return Error.COEFFICIENT, 0
        if self._wrong(opcode, command):
            return Error.FACTOR, 0
        if estimate and self.open.any():
            return Error.UNFINISHED, int(np.argmax(self.open))
        source = count * self._bytes(_READS[opcode]) if opcode in _READS else 0
        if source and leaves(command["source"], source, arguments["operands_bytes"]):
            return Error.OPERANDS, 0
        destination = {
            Opcode.PULL: count * self._bytes("results"),
            Opcode.STATISTICS: 2 * MOMENTS.size,
        }.get(opcode, 0)
        if destination and leaves(command["destination"], destination, arguments["results_bytes"]):
            return Error.RESULTS, 0
        return Error.NONE, 0

    def _wrong(self, opcode, command):
        """Whether a mean, factor, shift, scale or exponent is out of range."""
        gae, both = self.config.gae, ("reward", "value")
        if opcode in (Opcode.PUSH, Opcode.STATISTICS):
            exponents = (signed(command[f"{name}_exponent"]) for name in both)
            if any(abs(exponent) > EXPONENT_LIMIT for exponent in exponents):
                return True
        if opcode == Opcode.PUSH:
            return any(
                _outside(command[f"{name}_mean"], MEAN_WIDTH)
                or command[f"{name}_factor"] >= 1 << FACTOR_WIDTH
                or not 1 <= command[f"{name}_shift"] <= SHIFT_LIMIT
                for name in both
            )
        if opcode != Opcode.ESTIMATE or gae.code_width == 32:
            return False
        means = ("reward_mean", "value_mean", "result_mean")
        return any(command[f"{name}_scale"] > gae.scale.high for name in both) or any(
            _outside(command[name], min(32, gae.word.width)) for name in means
        )

    def _clear(self, command, arguments, memory):
        self.estimator.clear()
        self.phase, self.clipped = Phase.CODES, 0
        self.open[:] = False
        return Error.NONE, 0

    def _statistics(self, command, arguments, memory):
        slots = self._slots(Opcode.STATISTICS, command, arguments, memory)
        error, detail, moments = self.intake.statistics(slots, command)
        if error:
            return error, detail
        address = arguments["results"] + int(command["destination"])
        memory.view(address, len(moments))[:] = moments
        return Error.NONE, 0

    def _push(self, command, arguments, memory):
        slots = self._slots(Opcode.PUSH, command, arguments, memory)
        return self._pushed(*self.intake.numbers(slots, command, self.open))

    def _push_codes(self, command, arguments, memory):
        slots = self._slots(Opcode.PUSH_CODES, command, arguments, memory)
        return self._pushed(*self.intake.codes(slots, self.open))

    def _slots(self, opcode, command, arguments, memory):
        """Bytes of the command's slots."""
        size = int(command["count"]) * self._bytes(_READS[opcode])
        return memory.view(arguments["operands"] + int(command["source"]), size)

    def _pushed(self, error, detail, slots, clipped):
        if error:
            return error, detail
        last = slots.kinds[self.config.gae.depth - self.estimator.fill :]
        if np.isin(last, (Kind.STEP.value, Kind.TERMINAL.value)).any():
            return Error.FULL, 0
        self.estimator.push(*slots)
        self.open = slots.kinds[-1] == Kind.STEP.value
        self.clipped += clipped
        return Error.NONE, 0

    def _estimate(self, command, arguments, memory):
        gae = self.config.gae
        numbers = {name: int(command[name]) for name in ("gamma", "decay", "decay_power")}
        numbers["result_mean"] = signed(command["result_mean"])
        if gae.code_width < 32:
            for name in ("reward", "value"):
                numbers[f"{name}_scale"] = int(command[f"{name}_scale"])
                numbers[f"{name}_mean"] = signed(command[f"{name}_mean"])
        self.estimator.estimate(**numbers)
        self.phase = Phase.RESULTS
        return Error.NONE, 0

    def _pull(self, command, arguments, memory):
        gae, beat = self.config.gae, self.config.engine.beat_bytes
        count, planes = int(command["count"]), self.config.slot_beats["results"]
        raw = np.zeros((count, sum(planes) * beat), np.uint8)
        begin, kind = 0, f"<i{gae.result_width // 8}"
        for beats, plane in zip(planes, self.estimator.pull(count), strict=True):
            plane = np.ascontiguousarray(plane.astype(kind))
            raw[:, begin : begin + gae.rows * plane.itemsize] = plane.view(np.uint8)
            begin += beats * beat
        address = arguments["results"] + int(command["destination"])
        memory.view(address, raw.size)[:] = raw.reshape(-1)
        return Error.NONE, 0


class GaeKernel(ProgramTwin):
    def make_core(self, description):
        return GaeCore(GaeKernelConfig.from_dict(description.config))

"""Bit-exact twin of the kernel ``fixar``: the learner's core with FORMAT and ACT's noise."""

import numpy as np

from hw.fixar.commands import FIXAR, FIXAR_STATUS, shift_bytes
from hw.fixar.config import CODE_WIDTH, FixarKernelConfig
from hw.fixar.precision import Precision, slots
from hw.replay.records import Error
from sim.model.arith.noise import with_noise
from sim.model.fixar.learner import FixarTrainer
from sim.model.learner.core import LearnerCore
from sim.model.program import ProgramTwin

__all__ = ["FixarCore", "FixarKernel"]


class FixarCore(LearnerCore):
    """Executes the commands of ``hw.fixar.commands`` on ``FixarTrainer``: those of the learner's
    core, the command FORMAT, and ACT with exploration noise. INSERT checks experiences here."""

    COMMANDS, CHECKS_INSERTS = FIXAR, True

    def __init__(self, config):
        super().__init__(config, FixarTrainer)
        self._shifts = np.zeros((2, 3), "<u4")

    def status(self):
        """Bytes of FIXAR_STATUS; clock counts are 0."""
        block = np.zeros(FIXAR_STATUS.size, np.uint8)
        learner = super().status()
        block[: len(learner)] = learner
        record, precision = block.view(FIXAR_STATUS.dtype), self.learner.precision
        record["precision"] = precision.activations | precision.errors << 1
        record["activation_shifts"], record["error_shifts"] = self._shifts
        for name in ("activation", "error"):
            ranges = getattr(self.learner.watch, f"{name}s")
            record[f"{name}_ranges"][0, : ranges.size] = ranges.ravel()
        return block

    def _format(self, c):
        shifts = (c.activation_shifts, c.error_shifts)
        self._shifts[:] = shifts
        counts = slots(self.config.learner)
        activations, errors = (
            tuple(int(shift) for shift in shift_bytes(words)[:count])
            for words, count in zip(shifts, counts, strict=True)
        )
        self.learner.set_precision(
            Precision(
                activations=bool(c.activations),
                errors=bool(c.errors),
                activation_bits=c.activation_bits or CODE_WIDTH,
                activation_shifts=activations,
                error_shifts=errors,
            )
        )
        if c.clear:
            self.learner.watch.clear()
        return Error.NONE, 0

    def acted(self, c, observations):
        noise = np.array(c.noise, "<u4").view("<f4")
        return with_noise(super().acted(c, observations), noise, c.seed)


class FixarKernel(ProgramTwin):
    """Twin of the whole kernel ``fixar``."""

    def make_core(self, description):
        return FixarCore(FixarKernelConfig.from_dict(description.config))

"""Bit-exact twin of the kernel ``adder``: ``design.adder.core`` with its engines."""

import numpy as np
from design.adder.commands import BUFFERS, COMMANDS
from design.adder.config import NUMBER_BYTES, AdderConfig
from design.adder.records import ADDER_STATUS, Error

from sim.model.program import CommandTwin, ProgramTwin

__all__ = ["AdderCore", "AdderKernel"]


class AdderCore(CommandTwin):
    """The commands of ``design.adder.commands`` on card memory."""

    COMMANDS, BUFFERS = COMMANDS, BUFFERS

    def __init__(self, config):
        self.config = config
        self.given = self.bias = self.added = 0

    def status(self):
        """Bytes of ADDER_STATUS; clock counts are 0."""
        record = np.zeros((), ADDER_STATUS.dtype)
        for name in ("added", "bias", "given"):
            record[name] = getattr(self, name)
        return np.frombuffer(record.tobytes(), np.uint8)

    def _bias(self, c):
        self.given, self.bias = 1, c.bias
        return Error.NONE, 0

    def _add(self, c):
        size, out = c.count * NUMBER_BYTES, self.at(c, "destination")
        x, y = (self.at(c, name)[:size].view("<u4") for name in ("x", "y"))
        out[:size] = (x + y + np.uint32(self.bias)).view(np.uint8)
        out[size:] = 0
        self.added += c.count
        return Error.NONE, 0


class AdderKernel(ProgramTwin):
    """Twin of the whole kernel."""

    def make_core(self, description):
        return AdderCore(AdderConfig.from_dict(description.config))

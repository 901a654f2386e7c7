"""Draws of a replay memory: what a SAMPLE asks for, and what it brings."""

import functools
from typing import TypeAlias

import numpy as np

from host.runtime.experience import Batch
from host.runtime.program import aligned
from hw.arith.power import SCALE_FORMAT
from hw.errors import UsageError
from hw.replay.commands import MAX_COUNT, MAX_TRANSFER, Opcode
from hw.replay.config import FRACTION_WIDTH

__all__ = ["Draw", "Draws", "quantized"]

#: (batch_size, beta)
Draw: TypeAlias = tuple[int, float]


@functools.lru_cache(maxsize=16)
def quantized(exponent):
    """alpha or beta as the card counts it."""
    return int(SCALE_FORMAT.quantize(exponent)[0])


class Draws:
    """Of ``host.runtime.replay.PrioritizedReplayBuffer``: batches."""

    @property
    def _batch_limit(self):
        return min(MAX_COUNT, MAX_TRANSFER // (self._granules + 1))

    def _stratum(self, count):
        """``step`` of a command that draws ``count``."""
        return (1 << FRACTION_WIDTH) // (int(count) if self.stratified else 1)

    def _put_draws(self, program, draws, fill):
        """Append a SAMPLE for each (batch_size, beta); the place of each batch in results."""
        places, end = [], 0
        for count, beta in draws:
            if not isinstance(count, (int, np.integer)) or not 1 <= count <= self._batch_limit:
                raise UsageError(
                    f"batch_size must be an integer in 1..{self._batch_limit}, not {count!r}"
                )
            if count > fill:
                raise UsageError(f"batch_size must be at most the fill ({fill}), not {count}")
            if not 0 <= beta <= 1:
                raise UsageError(f"beta must be in 0..1, not {beta!r}")
            begin = aligned(end)
            end = begin + count * self.batch_dtype.itemsize
            places.append(slice(begin, end))
            fields = {"count": count, "destination": begin, "beta": quantized(float(beta))}
            program.append((Opcode.SAMPLE, fields | {"stratum_width": self._stratum(count)}))
        return places

    def _batch(self, results) -> Batch:
        records = results.view(self.batch_dtype)
        batch = {
            name: np.ascontiguousarray(records["experience"][name]) for name in self.dtype.names
        }
        weights = records["header"]["weight"]
        batch["weights"] = weights / weights.max()
        batch["indexes"] = records["header"]["index"].copy()
        return batch

"""What all layers of a learner have in common."""

from dataclasses import dataclass

from hw.arith.arithmetic import Arithmetic
from hw.config import ConfigBase, check_flag, check_range
from hw.errors import UsageError
from hw.nn.optimizer_config import OptimizerConfig

__all__ = ["KINDS", "MAX_WIDTH", "LayerConfig"]

#: Arithmetics that layers have, the largest first: a product is one DSP block in fixed point.
KINDS = ("float32", "fixed")

#: Inputs and outputs of a layer, at most.
MAX_WIDTH = 512


@dataclass(frozen=True, kw_only=True)
class LayerConfig(ConfigBase):
    """What all layers of a learner have in common.

    arithmetic : of weights, activations and gradients.
    lanes : samples side by side (CF'22's DP); a power of two, at most 16.
    batch : largest batch, a multiple of lanes.
    optimizer : one of ``OPTIMIZERS`` of ``hw.nn.optimizer_config``.
    update_units : the most numbers of a layer that are updated at the same time, each by an
        optimizer of its own; 0 for one optimizer for all layers of a network.
    clip_norm : whether the norm of a network's gradient can be limited; not with update_units 0.
    """

    arithmetic: Arithmetic = Arithmetic()
    lanes: int = 1
    batch: int = 64
    optimizer: str = "adam"
    update_units: int = 8
    clip_norm: bool = False

    def __post_init__(self):
        if self.arithmetic.kind not in KINDS:
            raise UsageError(
                f"arithmetic.kind must be one of {', '.join(KINDS)}, not {self.arithmetic.kind!r}"
            )
        check_range("lanes", self.lanes, 1, 16)
        if self.lanes & (self.lanes - 1):
            raise UsageError(f"lanes must be a power of two, not {self.lanes!r}")
        check_range("batch", self.batch, self.lanes, 4096)
        if self.batch % self.lanes:
            raise UsageError(
                f"batch must be a multiple of lanes ({self.lanes}; PI * DP), not {self.batch!r}"
            )
        check_range("update_units", self.update_units, 0, 512)
        check_flag("clip_norm", self.clip_norm)
        if self.clip_norm and self.network_optimizer:
            raise UsageError("update_units must be at least 1 with clip_norm, not 0")
        self.optimizer_config  # noqa: B018, it checks the optimizer

    @property
    def optimizer_config(self):
        """The config of every parameter's optimizer."""
        return OptimizerConfig(optimizer=self.optimizer, arithmetic=self.arithmetic)

    @property
    def network_optimizer(self):
        """Whether the layers of a network have one optimizer, and update one after the other."""
        return self.update_units == 0

    @property
    def bias_sum_shape(self):
        """Shape of the gradient of a bias: a sum of ``batch`` numbers of kind "gradient"."""
        return self.arithmetic.sum_shape("gradient", count=self.batch)

    def part(self, multipliers):
        """Numbers of a block of ``multipliers`` numbers that are updated at the same time: a power
        of two, at most ``update_units`` and no more than the block has."""
        return 1 << (min(max(self.update_units, 1), multipliers).bit_length() - 1)

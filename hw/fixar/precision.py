"""The content of FORMAT: how many bits numbers have, and the shift of each layer's codes.

Half precision is dynamic fixed point: a code of 16 bits, and a power of two for each layer that the
host chooses from the range that the card has seen (FIXAR IV; its Q_n with delta = 2^shift and z =
0). After a relu codes have no sign.
"""

from dataclasses import dataclass

from hw.arith.fixed import SQ, UQ
from hw.config import ConfigBase, check_range, freeze_lists
from hw.errors import UsageError
from hw.fixar.config import CODE_WIDTH, LEAST_CODE_BITS

__all__ = ["Precision", "activation_slot", "code_limits", "error_slot", "shift_limits", "slots"]


def slots(config):
    """``(activations, errors)``: how many layers have a range and a shift of their own.

    Activations: the frame (observation and action, which both networks read in common), then the
    hidden layers of the critic and of the actor. Errors: at the outputs of the critic's layers,
    then of the actor's.
    """
    hidden = len(config.hidden)
    return 1 + 2 * hidden, 2 * (hidden + 1)


def activation_slot(config, network, position):
    """The slot of the activations that layer ``position`` of ``network`` reads."""
    return (
        0 if position == 0 else list(config.networks).index(network) * len(config.hidden) + position
    )


def error_slot(config, network, position):
    """The slot of the errors at the outputs of layer ``position`` of ``network``."""
    return list(config.networks).index(network) * (len(config.hidden) + 1) + position


@dataclass(frozen=True, kw_only=True)
class Precision(ConfigBase):
    """Which numbers are codes of 16 bits, and the shift of each layer's codes: a FORMAT.

    activations, errors : whether they are codes of 16 bits; errors only if activations are.
    activation_shifts, error_shifts : the shifts of the ``slots``: value = code * 2^shift units of
        full precision. They are ignored in full precision; () stands for all zeros.
    activation_bits : bits of an activation's code, 8 to 16 (n of FIXAR's Algorithm 1). They are the
        upper ones of its 16: the others are 0, so that shifts and sums are those of 16 bits.
    """

    activations: bool = False
    errors: bool = False
    activation_shifts: tuple = ()
    error_shifts: tuple = ()
    activation_bits: int = CODE_WIDTH

    def __post_init__(self):
        freeze_lists(self, "activation_shifts", "error_shifts")
        if self.errors and not self.activations:
            raise UsageError("errors must be full where activations are, not half")
        check_range("activation_bits", self.activation_bits, LEAST_CODE_BITS, CODE_WIDTH)

    def check(self, config):
        """Raises ValueError unless the shifts fit the FixarConfig ``config``: one for each slot, or
        none, each of 0 to its limit."""
        limits = shift_limits(config)
        for name, count, limit in zip(
            ("activation_shifts", "error_shifts"), slots(config), limits, strict=True
        ):
            values = getattr(self, name)
            if len(values) not in (0, count):
                raise UsageError(f"{name} must be {count} numbers, not {len(values)}")
            for value in values:
                check_range(name, value, 0, limit)


def code_limits(signed, bits=CODE_WIDTH):
    """``(lowest, highest)`` code of 16 bits with zeros below its upper ``bits``. ``signed``: codes
    have a sign, unless they are activations after a relu."""
    form = SQ(CODE_WIDTH, 0) if signed else UQ(CODE_WIDTH, 0)
    return form.low, form.high + 1 - (1 << (CODE_WIDTH - bits))


def shift_limits(config):
    """``(activations, errors)``: the largest shifts, which give codes the range of full
    precision."""
    formats = config.arithmetic
    return formats.activation.width - CODE_WIDTH, formats.gradient.width - CODE_WIDTH

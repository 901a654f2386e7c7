"""The precision in which an agent computes, and when it changes (FIXAR, IV, Algorithm 1)."""

from host.fixar.precision_plan import ACTIVATION, ERROR, WEIGHT, shifts
from host.summaries import CAPTURED, STATIC
from hw.arith.fixed import SQ

__all__ = ["FIXED_SUMS", "PrecisionSchedule"]

#: Largest hidden layer and batch: sums of so many products are exact in float64.
FIXED_SUMS = 512

#: SQ(8,8): the one static format has to hold activations and errors. Observations reach some tens,
#: hidden activations more, and an error of SQ(8,19) has as many integer bits.
_STATIC_FRACTION = 8


class PrecisionSchedule:
    """Sets the precision of an agent's networks before each gradient step, by ``config.precision``.

    - fixed32: full precision.
    - qat: full precision before ``quantization_delay`` environment steps; then activations and
      errors have 16 bits, by the ranges captured in the share ``quantization_window`` at the end of
      the delay (by default in all of it, as in FIXAR's Algorithm 1). If no gradient step fell into
      this window, the ranges are those of the first step after the delay.
    - qat_errors_full: as qat, but errors keep full precision.
    - fixed16_captured: as qat with no delay, by the ranges of the first gradient step.
    - fixed16_static: activations and errors are SQ(8,8) from the first gradient step on.
    - fixed16_all: as fixed16_static, and weights are SQ(4,12).

    Where activations have 16 bits, ``activation_bits`` says how many of them are used: n of
    Algorithm 1. Agents in float32 have no such schedule.

    Parameters
    ----------
    config : FixarDDPGConfig
    """

    def __init__(self, config):
        self.precision, self._delay = config.precision, config.quantization_delay
        self._window, self._bits = config.quantization_window, config.activation_bits
        self.shifts, self._captured = None, False

    @property
    def weight(self):
        """Format of the stored weights."""
        return SQ(4, 12) if self.precision == "fixed16_all" else WEIGHT

    @property
    def delay(self):
        """Environment steps before the switch to 16 bits. None: there is no switch, since
        ``quantization_delay`` is None and no run has given it a length."""
        return 0 if self.precision == "fixed16_captured" else self._delay

    def begin(self, networks, clock):
        """Sets shifts and ``capture`` of ``networks`` for the gradient step that follows ``clock``.

        networks : dict
            Name -> FakeQuantizedMLP, or another object with the attributes ``layers``, ``ranges``,
            ``capture``, ``activation_shifts``, ``activation_bits`` and ``error_shifts``.
        """
        if self.shifts is None and self.precision in STATIC:
            self._apply(networks, {name: _static(each.layers) for name, each in networks.items()})
        delay = self.delay
        if self.shifts is not None or self.precision not in CAPTURED or delay is None:
            return
        if clock.steps >= delay and self._captured:
            ranges = {name: each.ranges for name, each in networks.items()}
            self._apply(networks, shifts(ranges, self._bits))
            for name, each in networks.items():
                each.ranges = ranges[name]  # the ranges of which the plan was made stay
        capture = self.shifts is None and clock.steps >= delay - int(delay * self._window)
        self._captured |= capture
        for each in networks.values():
            each.capture = capture

    def _apply(self, networks, found):
        self.shifts = found
        for name, each in networks.items():
            each.activation_shifts = list(found[name]["activation"])
            each.activation_bits = self._bits
            full = self.precision == "qat_errors_full"
            each.error_shifts = None if full else list(found[name]["error"])

    def state_dict(self, networks):
        return {
            "shifts": self.shifts,
            "captured": self._captured,
            "ranges": {name: each.ranges for name, each in networks.items()},
        }

    def load_state_dict(self, state, networks):
        self._captured = bool(state["captured"])
        for name, each in networks.items():
            each.ranges = state["ranges"][name]
        if state["shifts"] is not None:
            self._apply(networks, state["shifts"])


def _static(layers):
    activation, error = (form.fraction - _STATIC_FRACTION for form in (ACTIVATION, ERROR))
    return {"activation": [activation] * layers, "error": [error] * layers}

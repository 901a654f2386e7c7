"""The learner on the card whose precision is switched while it learns: kernel ``fixar``."""

from functools import partial
from types import SimpleNamespace

from host.algorithms.precision import PrecisionSchedule
from host.learners.card import CardLearner
from hw.fixar.precision import Precision, activation_slot, error_slot, slots

__all__ = ["FixarLearner"]


class FixarLearner(CardLearner):
    """As ``CardLearner``; before a launch of gradient steps the kernel has the precision that the
    agent's ``precision`` and ``quantization_delay`` say for the environment steps so far.

    Parameters
    ----------
    As ``CardLearner``; ``buffer`` is a ``FixarReplay``.
    """

    def __init__(self, config, policy, clock, buffer, algorithm, *, phases):
        super().__init__(config, policy, clock, buffer, algorithm, phases=phases)
        self._schedule = PrecisionSchedule(config.agent)
        if config.act == "card" and config.agent.noise == "gaussian":
            policy.explore = self._explore
        self._ranges = _KernelRanges(buffer)

    def _explore(self, obs, deviation, seed):
        """Actions with the card's own noise (FIXAR III)."""
        act = partial(self.buffer.act, noise=deviation, seed=seed)
        return self._card.submit(act, obs).result()

    def plan(self, fill, learning):
        planned = super().plan(fill, learning)
        if planned is None:
            return None
        return *planned, SimpleNamespace(steps=self.clock.steps, total=self.config.steps)

    def launch(self, experience, plan):
        if plan is not None:
            *plan, clock = plan
            self._schedule.begin(self._ranges.networks, clock)
            self._ranges.apply(errors=self._schedule.precision != "qat_errors_full")
        return super().launch(experience, plan)

    def state_dict(self):
        self._ranges.keep()
        own = self._schedule.state_dict(self._ranges.networks)
        return super().state_dict() | {"precision": own}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self._schedule.load_state_dict(state["precision"], self._ranges.networks)
        self._ranges.taken()


class _KernelRanges:
    """The kernel's ranges and shifts as ``PrecisionSchedule`` has them: by network and layer.

    networks : name -> ``layers``; ``ranges``: {"activation", "error"} -> pairs of each layer;
        ``capture``; ``activation_shifts``, ``error_shifts``: a number a layer, or None.
    """

    def __init__(self, buffer):
        self._buffer, config = buffer, buffer.learner
        self._capturing, self._shifts = False, None
        self.networks = {
            name: _NetworkRanges(self, config, name, len(layers))
            for name, layers in config.networks.items()
        }

    def apply(self, *, errors):
        """Let the kernel have what the schedule wants."""
        buffer, networks = self._buffer, self.networks.values()
        shifts = [(each.activation_shifts, each.error_shifts) for each in networks]
        if any(pair != (None, None) for pair in shifts) and shifts != self._shifts:
            buffer.set_precision(self._precision(errors))
            self._shifts = shifts
        capture = any(each.capture for each in networks)
        if capture and not self._capturing:
            buffer.set_precision(buffer.precision, clear=True)
        self._capturing = capture

    def _precision(self, errors):
        config = self._buffer.learner
        counts = slots(config)
        activations, error_shifts = [0] * counts[0], [0] * counts[1]
        for name, each in self.networks.items():
            for position in range(each.layers):
                slot = activation_slot(config, name, position)
                activations[slot] = each.activation_shifts[position]
                if errors:
                    error_shifts[error_slot(config, name, position)] = each.error_shifts[position]
        return Precision(
            activations=True,
            errors=errors,
            activation_shifts=tuple(activations),
            error_shifts=tuple(error_shifts),
        )

    def keep(self):
        """Remember the kernel's ranges, which do not come back with a checkpoint."""
        for each in self.networks.values():
            each.ranges = each.ranges

    def taken(self):
        """A checkpoint was loaded: the kernel has its precision and has forgotten its ranges."""
        self._capturing = any(each.capture for each in self.networks.values())
        shifts = [(e.activation_shifts, e.error_shifts) for e in self.networks.values()]
        self._shifts = shifts if any(pair != (None, None) for pair in shifts) else None

    def of(self, config, name, layers):
        """Pairs of a network's layers as the kernel has them now."""
        activations, errors = self._buffer.ranges
        return {
            "activation": [activations[activation_slot(config, name, k)] for k in range(layers)],
            "error": [errors[error_slot(config, name, k)] for k in range(layers)],
        }


class _NetworkRanges:
    """One network of ``_KernelRanges``."""

    def __init__(self, kernel, config, name, layers):
        self._kernel, self._config, self._name, self.layers = kernel, config, name, layers
        self.capture, self.activation_shifts, self.error_shifts = False, None, None
        self._before = None

    @property
    def ranges(self):
        """Pairs (low, high) as integers; what a checkpoint had, and what the kernel saw since.

        Actions are in -1..1 wherever they come from, and go with the observations.
        """
        one = 1 << self._config.arithmetic.activation.fraction
        found = self._kernel.of(self._config, self._name, self.layers)
        pairs = {kind: [tuple(map(int, pair)) for pair in rows] for kind, rows in found.items()}
        low, high = pairs["activation"][0]
        pairs["activation"][0] = min(low, -one), max(high, one)
        if self._before is not None:
            pairs = {
                kind: [
                    (min(a[0], b[0]), max(a[1], b[1]))
                    for a, b in zip(rows, self._before[kind], strict=True)
                ]
                for kind, rows in pairs.items()
            }
        return {
            kind: [(low, high) if low <= high else (0, 0) for low, high in rows]
            for kind, rows in pairs.items()
        }

    @ranges.setter
    def ranges(self, pairs):
        self._before = {kind: [tuple(pair) for pair in rows] for kind, rows in pairs.items()}

"""A replay buffer whose kernel is ``fixar``: DDPG whose precision can be switched during
training."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.cards.kernel import Kernel
from host.learner.experience_checks import check_experiences
from host.learner.learning_replay import LearningReplay
from host.learner.sent_replay import SentReplay
from host.replay.experience import Experiences, Fields
from host.rules import check_number
from hw.config import check_range
from hw.fixar.commands import FixarOpcode
from hw.fixar.precision import Precision, slots

__all__ = ["FixarReplay", "SentFixarReplay"]

#: Of binary32.
_LARGEST = float(np.finfo(np.float32).max)


class FixarReplay(LearningReplay):
    """As ``LearningReplay``, for the kernel ``fixar``: DDPG whose precision can be switched. The
    kernel updates the critic first, and then the actor through the updated critic.

    Bad experiences are refused when they are added, not when they are drawn (ValueError): a number
    that is not finite, an action outside of -1..1, a discount outside of 0..1.

    Attributes
    ----------
    precision : Precision
        The kernel's present precision; full precision after this object was made.
    """

    def __init__(
        self, kernel: Kernel, fields: Fields | None = None, **options: int | float | bool
    ) -> None:
        super().__init__(kernel, fields, **options)
        self.precision = Precision()
        self.set_precision(self.precision, clear=True)

    def set_precision(self, precision: Precision, *, clear: bool = False) -> None:
        """Switches the precision of training and acting from now on.

        precision : Precision
        clear : whether the kernel also forgets the ``ranges`` that it has seen so far.

        ValueError for shifts that the kernel does not take. Parameters keep full precision and do
        not change.
        """
        precision.check(self.learner)
        shifts = {
            f"{name}_shifts": _packed(getattr(precision, f"{name}_shifts"))
            for name in ("activation", "error")
        }
        flags = dict(activations=precision.activations, errors=precision.errors, clear=clear)
        flags["activation_bits"] = precision.activation_bits
        self.launcher.run([(FixarOpcode.FORMAT, {**flags, **shifts})])
        self.precision = precision

    def records_of(self, experiences: Experiences) -> NDArray[np.void]:
        records = super().records_of(experiences)
        check_experiences(self.learner, records)
        return records

    @property
    def ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``(activations, errors)``, each int64 [slots, 2]: the lowest and the highest number of
        each slot, as integers of full precision, since the ranges were forgotten, as of the last
        launch. If no number was seen, the lowest is above the highest.

        A slot is a layer's numbers (``hw.fixar.precision.slots``).
        """
        status, counts = self.status, slots(self.learner)
        activations, errors = (
            np.asarray(status[f"{name}_ranges"], np.int64).reshape(-1, 2)[:count]
            for name, count in zip(("activation", "error"), counts, strict=True)
        )
        return activations, errors

    def act(
        self, observations: ArrayLike, *, noise: float = 0.0, seed: int = 0
    ) -> NDArray[np.float32]:
        """As ``LearningReplay.act``: the actor's actions, float32 [n, action], for observations [n,
        observation], in the kernel's present precision.

        noise : standard deviation of the Gaussian noise that is added to each number of an action;
            0: no noise.
        seed : integer in 0..2^64 - 1; the same seed gives the same noise.
        """
        noise, seed = (x.item() if isinstance(x, np.generic) else x for x in (noise, seed))
        rule = "a number of at least 0 in binary32"
        check_number("noise", noise, rule, lambda x: 0 <= x <= _LARGEST)
        check_range("seed", seed, 0, (1 << 64) - 1)
        bits = int(np.abs(np.array(noise, "<f4")).view("<u4"))  # not those of -0
        return self._act(observations, noise=bits, seed=seed)

    def state_dict(self) -> dict[str, object]:
        """As ``LearningReplay.state_dict``, with the precision. The ranges are not saved:
        ``load_state_dict`` lets the kernel forget its ranges."""
        return {**super().state_dict(), "precision": self.precision.to_json()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """As ``LearningReplay.load_state_dict``, with the precision; the kernel forgets its ranges.
        ValueError also for a precision that this kernel does not take."""
        self._check_identity(state)  # another kernel's state has no precision
        precision = Precision.from_json(str(state["precision"]))
        precision.check(self.learner)
        super().load_state_dict(state)
        self.set_precision(precision, clear=True)


def _packed(shifts):
    """The shifts, a byte each, in three words."""
    numbers = np.zeros(12, np.uint8)
    numbers[: len(shifts)] = shifts
    return numbers.view("<u4").tolist()


class SentFixarReplay(SentReplay):
    """As ``SentReplay``, for a ``FixarReplay``, whose precision can be switched."""

    @property
    def precision(self) -> Precision:
        """As ``FixarReplay.precision``."""
        return self.trainer.precision

    @property
    def ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As ``FixarReplay.ranges``."""
        return self.trainer.ranges

    def set_precision(self, precision: Precision, *, clear: bool = False) -> None:
        """As ``FixarReplay.set_precision``."""
        self.trainer.set_precision(precision, clear=clear)

"""An advantage estimator that makes its own kernel."""

from host.card import Card, Kernel, is_simulated
from host.runtime import gae
from host.runtime.standardize import Standardization
from rlfabric.kernels import Setting, load_kernel

__all__ = ["AdvantageEstimator"]

#: Rows of a kernel at most: as many as fit every board. Environments beyond come after the others.
_ROWS = 64


class AdvantageEstimator(gae.AdvantageEstimator):
    """``A_t = delta_t + gamma * lambda * A_{t+1}``, ``delta_t = r_t + gamma * V_{t+1} - V_t``
    (Schulman et al., 2016; HEPPO, equations 2 to 5), estimated on a card.

    Parameters
    ----------
    environments, steps : int
        The largest rollout: of the cards ``model`` and ``sim`` the kernel is made for it, in words
        of 32 bits.
    card : str, Card or Kernel
        A card's name or an open card, where the kernel ``gae`` is loaded (``load_kernel``); or a
        loaded kernel. A card of which the name was given is closed with the estimator.
    board : str
        Whose kernel it is.
    standardization, timeout_s
        As ``host.runtime.gae.AdvantageEstimator``, whose methods and errors these are.

    A context manager, which closes it.

    >>> ends = np.zeros((3, 2), bool)
    >>> with rlfabric.AdvantageEstimator(environments=2, steps=3) as estimator:
    ...     found = estimator.estimate(np.ones((3, 2)), ends * 0.0, ends, ends, ends * 0.0,
    ...                                gamma=0.5, gae_lambda=1.0)
    >>> found.advantages[:, 0].tolist()
    [1.75, 1.5, 1.0]
    """

    def __init__(
        self,
        environments: int,
        steps: int,
        card: str | Card | Kernel = "model",
        *,
        board: str = "u200",
        standardization: Standardization | None = None,
        timeout_s: float = 600.0,
    ) -> None:
        self._own: Card | None = None
        if isinstance(card, Kernel):
            kernel = card
        else:
            made = is_simulated(card if isinstance(card, str) else card.name)
            # Every step may end an episode, and be followed by what it bootstraps from.
            rollout: dict[str, Setting] = {
                "gae.rows": min(environments, _ROWS),
                "gae.depth": 2 * steps,
                "gae.code_width": 32,
            }
            kernel = load_kernel("gae", board, card=card, **(rollout if made else {}))
            self._own = kernel.card if isinstance(card, str) else None
        super().__init__(kernel, standardization, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the card that was opened for it."""
        super().close()
        if self._own is not None:
            self._own.close()
            self._own = None

    def __enter__(self) -> "AdvantageEstimator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

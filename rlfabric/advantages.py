"""An advantage estimator that makes its own kernel."""

from host.advantages import estimator
from host.advantages.standardization import Standardization
from host.cards import Card, Kernel
from rlfabric.kernels import OwnCard

__all__ = ["AdvantageEstimator"]

#: Rows of a kernel at most: as many as fit every board. Environments beyond come after the others.
_ROWS = 64


class AdvantageEstimator(OwnCard, estimator.AdvantageEstimator):
    """Estimates advantages on a card: ``A_t = delta_t + gamma * lambda * A_{t+1}``,
    ``delta_t = r_t + gamma * V_{t+1} - V_t`` (Schulman et al., 2016; HEPPO, equations 2 to 5).

    Parameters
    ----------
    environments, steps : int
        Environments and steps of the largest rollout. For the cards ``model`` and ``sim`` a kernel
        that can hold it is made, with numbers of 32 bits; other cards have the kernel that was
        built.
    card : str, Card or Kernel
        A card's name or an open card, on which the kernel ``gae`` is loaded (``load_kernel``); or a
        loaded kernel. A card that was given by name is closed with the estimator.
    board : str
        Name of the board for which the kernel is made, or was built.
    standardization, timeout_s
        As for ``host.advantages.estimator.AdvantageEstimator``, the base class, which has
        ``estimate`` and the other methods.

    The estimator is a context manager: at the end of its ``with`` block it is closed.

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
        # Every step may end an episode, and be followed by what it bootstraps from.
        rollout = {"gae.rows": min(environments, _ROWS), "gae.depth": 2 * steps}
        kernel = self._kernel("gae", board, card, {**rollout, "gae.code_width": 32})
        super().__init__(kernel, standardization, timeout_s=timeout_s)

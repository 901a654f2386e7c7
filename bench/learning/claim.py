"""Claims of training: what learns on which task, and which result it must reach.

A claim holds if each of its kinds that count reaches the threshold in as many seeds as are needed,
and if its comparisons of kinds hold (``judge.py``). The runs of a claim are every kind with every
seed from 0 to ``seeds`` - 1.
"""

from dataclasses import dataclass, field

from host.environments.environment_id import namespace_of, reward_threshold
from host.environments.task_ids import counterpart
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["AS_GOOD", "Claim", "Kind"]

#: A kind is as good as another if it has at least this share of the other's gain over random
#: actions.
AS_GOOD = 0.8


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A way to learn: a column of the table, and a panel of the figure.

    Parameters
    ----------
    name : str
        Its name in the runs' folders.
    title : str
        Its name in tables and figures.
    what : str
        Its description, or its difference from the others, for the document.
    learner, preset : str
        The defaults, as for ``host.runs.preset.preset``.
    fields : dict
        Fields that differ from the defaults, as for ``host.settings.override``.
    kernel : dict
        Fields of the kernel's config, as for ``host.settings.override``.
    board : str
        The board whose kernel and memory the runs have.
    env : str, optional
        Id of the environment of this kind's runs, if it is another one than the claim's. Runs are
        judged by the claim's threshold.
    counts : bool
        Whether the claim is about it; if not, it is there for comparison.
    peer : str, optional
        Another program learns, by a plan from the function of this name in
        ``bench.learning.peers``.
    seeds : int, optional
        Number of seeds, if it is smaller than the claim's.
    at_least, at_most : float, optional
        Limits of this kind's gain in return over random actions, as a share of the gain of the
        claim's ``reference``. Both ends of a 95 % interval must be within them. ``at_least`` of
        ``AS_GOOD`` means "as good as".
    recovers : bool
        Whether returns of the second half of the steps must not stay below those of the first half
        for 20 evaluations.
    """

    name: str
    title: str
    what: str
    learner: str = "card"
    preset: str | None = None
    fields: dict = field(default_factory=dict)
    kernel: dict = field(default_factory=dict)
    board: str = "u200"
    env: str | None = None
    counts: bool = True
    peer: str | None = None
    seeds: int | None = None
    at_least: float | None = None
    at_most: float | None = None
    recovers: bool = False

    def __post_init__(self):
        if self.counts and self.seeds is not None:
            raise UsageError(f"counts must be False with seeds, not {self.counts!r}")
        if self.peer and self.counts:
            raise UsageError(f"counts must be False with a peer, not {self.counts!r}")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of training.

    Parameters
    ----------
    name : str
        Name of its document, its figure and the folder of its runs.
    algo, env : str
        The algorithm, and the environment's id.
    kinds : tuple of Kind
        The ways to learn that are compared.
    seeds, needed : int
        Each kind that counts must solve the task in ``needed`` of ``seeds`` seeds.
    source : str
        Where the claim comes from.
    until_solved : bool
        Whether a run ends when an evaluation reaches the threshold and another one, on other
        episodes, confirms it; if not, a run has all its steps.
    threshold : float, optional
        Mean greedy return that counts as solved; None: the environment's own, if gymnasium itself
        has the environment.
    continuous : bool, optional
        Whether the environment's actions are a Box. None: the environment is made to find out where
        defaults of the algorithm depend on it, which takes the environment's packages, also to
        judge.
    episodes : int, optional
        Number of new episodes that judge the best policy, the same for every run; None: the run's
        own last evaluation judges it, on episodes by which it was not chosen either.
    training : bool
        Whether a run is judged by the mean return of its actors' last 100 episodes instead; the
        curve shows the same returns.
    falls : str, optional
        Instead of a threshold, a number that must fall: "critic's loss" (``critic.py``), or a
        column of progress.csv, whose mean must fall from the first fifth of the rows to the last.
        All numbers of the run must also be finite.
    reference : str, optional
        Name of the kind with which others are compared.
    late : bool
        Whether kinds are compared by the mean of a run's greedy returns in the last fifth of its
        steps, not by the return that judges the run.
    fields : dict
        As of a Kind, for all kinds.
    """

    name: str
    algo: str
    env: str
    kinds: tuple
    seeds: int
    needed: int
    source: str
    until_solved: bool = False
    threshold: float | None = None
    continuous: bool | None = None
    episodes: int | None = None
    training: bool = False
    falls: str | None = None
    reference: str | None = None
    late: bool = False
    fields: dict = field(default_factory=dict)

    def __post_init__(self):
        check_range("needed", self.needed, 0, self.seeds, " (seeds)")
        from_a_package = namespace_of(counterpart(self.env)) or ":" in self.env
        if from_a_package and self.threshold is None and not self.falls:
            raise UsageError(
                f"threshold must be given for {self.env}, which a package registers, not None"
            )
        if self.training and self.episodes is not None:
            raise UsageError(f"episodes must be None with training, not {self.episodes!r}")
        names = [kind.name for kind in self.kinds]
        if not any(kind.counts for kind in self.kinds) or len(set(names)) < len(names):
            raise UsageError(f"kinds must be different, and one of them count, not {names}")
        shares = any(kind.at_least is not None or kind.at_most is not None for kind in self.kinds)
        if (shares or self.reference is not None) and self.reference not in names:
            raise UsageError(f"reference must be one of {', '.join(names)}, not {self.reference!r}")
        for kind in self.kinds:
            if kind.seeds is not None:
                check_range("seeds", kind.seeds, 1, self.seeds, " (the claim's)")

    def seeds_of(self, kind):
        """The range of seeds, from 0 on, with which ``kind``, one of the claim's kinds, is run."""
        return range(self.seeds if kind.seeds is None else kind.seeds)

    @property
    def solved_from(self):
        """Mean return from which on a run counts as solved; None if the claim has ``falls``."""
        if self.falls:
            return None
        return reward_threshold(self.env) if self.threshold is None else self.threshold

    def solved(self, result):
        """Whether ``result``, of a finished run, counts as solved: its mean return reaches
        ``solved_from``, or with ``falls`` the number has fallen."""
        if self.falls:
            first, last = result["falls"]
            return last < first
        mean = result["mean_return"]  # None if no episode has ended
        return mean is not None and mean >= self.solved_from

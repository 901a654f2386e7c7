"""What a claim of training is: who learns what, and what has to come of it.

A claim holds if each of its kinds that count reaches the threshold in as many of its seeds as are
needed, and if what it says of kinds beside each other holds (``judge.py``). Runs of a claim: every
kind, with seeds 0 to ``seeds`` - 1.
"""

from dataclasses import dataclass, field

from host.collect.environment_id import reward_threshold
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["AS_GOOD", "Claim", "Kind"]

#: What is as good as another has at least this share of what the other gained over random actions.
AS_GOOD = 0.8


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What learns: a column of the table, and a panel of the figure.

    Parameters
    ----------
    name : str
        Of the runs' folders.
    title : str
    what : str
        What it is, or how it differs from the others, for the document.
    learner, preset : str
        As for ``host.train.preset.preset``: which defaults.
    fields : dict
        What differs from them, by names and values as for ``host.settings.override``.
    kernel : dict
        Fields of the kernel's config, likewise.
    board : str
    counts : bool
        Whether the claim is about it; else it stands beside.
    peer : str, optional
        Another program learns, as the function of ``bench.learning.peers`` of this name says.
    seeds : int, optional
        So many, where they are fewer than the claim's.
    at_least, at_most : float, optional
        Share that this one has of what the claim's ``reference`` gained over random actions; at the
        end of a 95 % interval that is the harder one. ``AS_GOOD`` is "as good as".
    recovers : bool
        Its returns do not stay below those of the first half for 20 evaluations of the second.
    """

    name: str
    title: str
    what: str
    learner: str = "card"
    preset: str | None = None
    fields: dict = field(default_factory=dict)
    kernel: dict = field(default_factory=dict)
    board: str = "u200"
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
    """
    Parameters
    ----------
    name : str
        Of its document, its figure and the folder of its runs.
    algo, env : str
    kinds : tuple of Kind
    seeds, needed : int
        Of so many seeds, each kind that counts solves at least so many.
    source : str
        Where the claim comes from.
    until_solved : bool
        A run ends when an evaluation reaches the threshold and another one, on other episodes,
        confirms it; else it has all its steps.
    threshold : float, optional
        Mean greedy return that counts as solved; None is the environment's own.
    episodes : int, optional
        The best policy is judged by so many fresh episodes, the same for every run; None: by the
        run's own last evaluation, on episodes that did not choose it either.
    training : bool
        A run is judged by the mean return of its actors' last 100 episodes instead, and the curve
        is theirs.
    falls : str, optional
        "critic's loss" (``critic.py``), or a column of progress.csv whose mean falls from the first
        fifth of the rows to the last, in the place of a threshold; and all numbers of the run must
        be finite.
    reference : str, optional
        Name of the kind that others have shares of.
    late : bool
        Kinds are compared by the mean of a run's greedy returns in the last fifth of its steps, not
        by the return that the run is judged by.
    fields : dict
        As a Kind's, for all of them.
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
    episodes: int | None = None
    training: bool = False
    falls: str | None = None
    reference: str | None = None
    late: bool = False
    fields: dict = field(default_factory=dict)

    def __post_init__(self):
        check_range("needed", self.needed, 0, self.seeds, " (seeds)")
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
        """Seeds of one of the kinds."""
        return range(self.seeds if kind.seeds is None else kind.seeds)

    @property
    def solved_from(self):
        """Mean return from which on a run counts as solved."""
        if self.falls:
            return None
        return reward_threshold(self.env) if self.threshold is None else self.threshold

    def solved(self, result):
        """Whether a run's result counts as solved."""
        if self.falls:
            first, last = result["falls"]
            return last < first
        mean = result["mean_return"]  # None where no episode has ended
        return mean is not None and mean >= self.solved_from

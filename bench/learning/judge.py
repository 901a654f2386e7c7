"""Judges a claim from its runs' results alone: it holds, it does not, or it is not decided.

Noise does not help a claim. "As good as" is a claim of non-inferiority: the gain of the one over
random actions is at least 0.8 of the other's gain, at the lower end of a 95 % interval over the
seeds. If the interval has both answers in it, or runs are missing, nothing is decided.
"""

from dataclasses import dataclass

import numpy as np

from bench.learning.interval import Sample, interval

__all__ = ["FAILS", "HOLDS", "OPEN", "Judgement", "finished", "judge", "late_mean", "longest_drop"]

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decided"

#: share of a run's steps, at its end, whose mean greedy return is compared
_LATE = 0.2
#: a run that stays below for so many evaluations does not recover
_LASTING = 20


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim.

    ``verdict`` is HOLDS, FAILS or OPEN (not decided). ``solved`` is ``{kind's name: (runs that
    solve the task, finished runs)}``. ``sentences`` has one sentence for each comparison, with its
    reason.
    """

    verdict: str
    solved: dict
    sentences: tuple


def judge(claim, results, chance=None):
    """The ``Judgement`` of ``claim`` from the results of its runs.

    It fails if one of its conditions fails; else it is not decided if one of them is not decided;
    else it holds.

    Parameters
    ----------
    claim : Claim
        The claim.
    results : dict
        ``{(kind's name, seed): result}``; the result is None if there is no such run.
    chance : Sample, optional
        Returns of random actions, if they are known.
    """
    verdicts, sentences, solved = [], [], {}
    for kind in claim.kinds:
        runs = finished(claim, kind, results)
        solved[kind.name] = sum(map(claim.solved, runs)), len(runs)
        if kind.counts:
            verdicts.append(_reached(claim, kind, *solved[kind.name]))
        found = []
        if kind.at_least is not None or kind.at_most is not None:
            found.append(_share(claim, kind, results, chance))
        if kind.recovers:
            found.append(_recovers(claim, kind, runs))
        for verdict, sentence in found:
            verdicts.append(verdict)
            sentences.append(f"{kind.title}: {sentence} **{verdict.capitalize()}.**")
    worst = next((each for each in (FAILS, OPEN) if each in verdicts), HOLDS)
    return Judgement(worst, solved, tuple(sentences))


def finished(claim, kind, results):
    """The list of those ``results`` that are of finished runs of ``kind``, by seed."""
    runs = (results.get((kind.name, seed)) for seed in claim.seeds_of(kind))
    return [result for result in runs if result and not result.get("unfinished")]


def _reached(claim, kind, solved, count):
    """Whether enough runs solve the task; decided as soon as missing runs cannot change it."""
    missing = len(claim.seeds_of(kind)) - count
    if solved >= claim.needed:
        return HOLDS
    return OPEN if solved + missing >= claim.needed else FAILS


def _share(claim, kind, results, chance):
    reference = next(each for each in claim.kinds if each.name == claim.reference)
    samples = [_sample(claim, each, results) for each in (kind, reference)]
    for sample, each in zip(samples, (kind, reference), strict=True):
        if isinstance(sample, str):
            return OPEN, f"it cannot be compared with {reference.title}: {each.title} {sample}."
    own, base = samples
    ends = interval([(1, own), (-1, base)])
    means = f"{own.mean:.4g} in the mean, {reference.title} {base.mean:.4g}"
    apart = f"the difference of the means lies between {ends[0]:.3g} and {ends[1]:.3g} (95 %)"
    if chance is None:
        return OPEN, (
            f"{means}; {apart}. The returns of random actions are not known (`make learning` "
            "measures them if the environment is installed)."
        )
    if base.mean <= chance.mean:
        return OPEN, f"{reference.title} has gained nothing over random actions."
    verdicts, bounds = [], []
    for share, is_least in ((kind.at_least, True), (kind.at_most, False)):
        if share is not None:
            low, high = interval([(1, own), (-share, base), (share - 1, chance)])
            low, high = (low, high) if is_least else (-high, -low)
            verdicts.append(HOLDS if low >= 0 else FAILS if high < 0 else OPEN)
            bounds.append(f"at {'least' if is_least else 'most'} {share:g}")
    worst = next((each for each in (FAILS, OPEN) if each in verdicts), HOLDS)
    gained = (own.mean - chance.mean) / (base.mean - chance.mean)
    return worst, (
        f"{means}, random actions {chance.mean:.3g}; its gain over random actions is {gained:.2f} "
        f"of the gain of {reference.title}, and {apart}. Claimed: {' and '.join(bounds)} of that "
        "gain, over the whole interval."
    )


def _sample(claim, kind, results):
    """The Sample of a kind's runs for a comparison, or a text that says why there is none."""
    runs, wanted = finished(claim, kind, results), len(claim.seeds_of(kind))
    if len(runs) < wanted:
        return f"has {len(runs)} of {wanted} runs"
    values = [late_mean(run) if claim.late else run["mean_return"] for run in runs]
    if None in values:
        what = "returns in the last fifth of the steps" if claim.late else "returns"
        return f"has runs whose {what} were not kept"
    return Sample.of(values) if wanted > 1 else "has one seed"


def late_mean(result):
    """Mean of the returns of the run's curve in the last fifth of its steps; None if the curve has
    no point there.

    ``result`` is a run's. If its curve was not kept (None), the mean that was kept instead, or
    None.
    """
    curve = result["curve"]
    if curve is None:
        return result.get("late_mean")
    begins = (1 - _LATE) * curve[-1][0] if curve else 0
    found = [value for steps, value in curve if steps > begins]
    return sum(found) / len(found) if found else None


def _recovers(claim, kind, runs):
    wanted = len(claim.seeds_of(kind))
    drops = [longest_drop(run) for run in runs]
    if len(runs) < wanted or None in drops:
        return OPEN, f"the progress of {wanted} runs was not kept, or they are not finished."
    longest = max(drops)
    return (HOLDS if longest < _LASTING else FAILS), (
        f"at most {longest} evaluations in a row after half of the steps were more than a fifth "
        f"below the mean of the {_LASTING} before that half. Claimed: fewer than {_LASTING}."
    )


def longest_drop(result):
    """The most evaluations in a row, in the second half of a run's steps, that are more than a
    fifth below the mean of the last 20 evaluations of the first half.

    ``result`` is a run's. If its curve was not kept or is empty, the number that was kept instead,
    or None.
    """
    curve = result["curve"]
    if not curve:
        return result.get("longest_drop")
    middle = curve[-1][0] / 2
    before = [value for steps, value in curve if steps <= middle][-_LASTING:]
    least = np.mean(before) - 0.2 * abs(np.mean(before)) if before else -np.inf
    longest = count = 0
    for steps, value in curve:
        count = count + 1 if steps > middle and value < least else 0
        longest = max(longest, count)
    return longest

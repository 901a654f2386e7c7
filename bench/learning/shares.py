"""Kinds of which the claim is how they stand beside another kind, at equal steps."""

import numpy as np

__all__ = ["compared", "late_mean", "longest_drop"]

#: of a run's steps, at its end: what is compared is the mean of the greedy returns there
_LATE = 0.2
#: evaluations: what is below for so many does not recover
_LASTING = 20


def late_mean(result):
    """Mean of the returns of a run's curve in the last fifth of its steps; None where there is no
    point."""
    curve = result["curve"]
    begins = (1 - _LATE) * curve[-1][0] if curve else 0
    found = [value for steps, value in curve if steps > begins]
    return sum(found) / len(found) if found else None


def compared(claim, results):
    """Whether what is claimed of kinds beside the reference holds, and a sentence for each."""
    holds, sentences = True, []
    for kind in claim.kinds:
        for wanted, judge in (
            (kind.at_least is not None or kind.at_most is not None, _share),
            (kind.alike, _alike),
            (kind.recovers, _recovers),
        ):
            if wanted:
                kept, sentence = judge(claim, kind, results)
                holds &= kept
                sentences.append(sentence)
    return holds, sentences


def _share(claim, kind, results):
    """A reference that is not above 0 has no shares."""
    means, bases = _means(kind.name, results), _means(claim.reference, results)
    if means is None or bases is None or np.mean(bases) <= 0:
        return False, f"{kind.title} cannot be compared with the reference yet."
    mean, base = np.mean(means), np.mean(bases)
    share, wanted = mean / base, []
    if kind.at_least is not None:
        wanted.append((share >= kind.at_least, f"at least {kind.at_least:g}"))
    if kind.at_most is not None:
        wanted.append((share <= kind.at_most, f"at most {kind.at_most:g}"))
    kept = all(each for each, _ in wanted)
    words = f"{share:.2f}" if kept else f"**{share:.2f}**"
    return kept, (
        f"{kind.title}: {words} of the reference's returns in the last fifth of the steps, "
        f"{mean:.0f} of {base:.0f}; claimed: {' and '.join(text for _, text in wanted)}."
    )


def _alike(claim, kind, results):
    means, bases = _means(kind.name, results), _means(claim.reference, results)
    if means is None or bases is None or min(len(means), len(bases)) < 2:
        return False, f"{kind.title} cannot be compared with the reference yet."
    below = np.mean(bases) - np.mean(means)
    error = sum(np.var(x, ddof=1) / len(x) for x in (means, bases)) ** 0.5
    kept = bool(below <= 2 * error)
    return kept, (
        f"{kind.title}: {np.mean(means):.0f} in the last fifth of the steps, the reference "
        f"{np.mean(bases):.0f}; {'not' if kept else '**it is**'} below by more than two standard "
        f"errors of the difference, {error:.0f} each."
    )


def _recovers(claim, kind, results):
    runs = _finished(kind.name, results)
    if runs is None:
        return False, f"{kind.title} has runs that are not finished."
    longest = max(longest_drop(result["curve"]) for result in runs)
    kept = longest < _LASTING
    words = f"{longest}" if kept else f"**{longest}**"
    return kept, (
        f"{kind.title}: at most {words} evaluations one after the other behind half of the steps "
        f"were more than a fifth below the mean of the {_LASTING} before it; claimed: fewer than "
        f"{_LASTING}."
    )


def longest_drop(curve):
    """Evaluations in a row in the second half of a run's steps that are more than a fifth below the
    mean of the last ones of the first half."""
    middle = curve[-1][0] / 2
    before = [value for steps, value in curve if steps <= middle][-_LASTING:]
    least = np.mean(before) - 0.2 * abs(np.mean(before)) if before else -np.inf
    longest = count = 0
    for steps, value in curve:
        count = count + 1 if steps > middle and value < least else 0
        longest = max(longest, count)
    return longest


def _finished(name, results):
    """Results of a kind's seeds; None while one of them is not finished."""
    runs = [result for (kind, _), result in results.items() if kind == name]
    if not runs or any(not result or result.get("unfinished") for result in runs):
        return None
    return runs


def _means(name, results):
    """``late_mean`` of each seed, or None."""
    means = [late_mean(result) for result in _finished(name, results) or ()]
    return means if means and None not in means else None

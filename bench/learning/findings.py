"""Findings of claims, from the files below ``docs/learning`` alone."""

from dataclasses import dataclass

from bench.learning import chance, records
from bench.learning.claim import Claim
from bench.learning.job import jobs_of
from bench.learning.judge import FAILS, HOLDS, OPEN, Judgement, judge

__all__ = ["Findings", "find", "summary"]


@dataclass(frozen=True)
class Findings:
    """What is known of a Claim.

    ``jobs`` is ``{(kind's name, seed): Job}``, and ``records`` has the record of each job under the
    same key, or None if there is none. ``chance`` is the result of random actions in the
    environment (``bench.learning.chance.measure``), or None. ``judgement`` is the claim's.
    """

    claim: Claim
    jobs: dict
    records: dict
    chance: dict | None
    judgement: Judgement

    @property
    def known(self):
        """The list of records that exist, also of unfinished runs."""
        return [record for record in self.records.values() if record]

    @property
    def before(self):
        """``{difference: list of titles of kinds}``: how recorded runs differ from the runs that
        the claim would make today; empty if they do not."""
        found = {}
        for (name, seed), record in self.records.items():
            if record:
                title = next(kind.title for kind in self.claim.kinds if kind.name == name)
                for text in records.differences(record, self.jobs[name, seed]):
                    found.setdefault(text, {})[title] = None
        return {text: list(titles) for text, titles in found.items()}


def find(claims, docs, runs="runs/learning"):
    """The list of Findings of ``claims``, in their order.

    They come from the records and the returns of random actions below the folder ``docs`` alone;
    ``runs`` is only the folder that the jobs name.
    """
    known, every = chance.read(docs), []
    for claim in claims:
        jobs = jobs_of(claim, runs)
        kept = {key: records.read(docs, job) for key, job in jobs.items()}
        random = known.get(claim.env)
        judgement = judge(claim, kept, random and chance.sample(random))
        every.append(Findings(claim, jobs, kept, random, judgement))
    return every


def summary(every, *, names=True):
    """A sentence that says how many claims hold, do not hold, and are not decided, and how many of
    each are fresh, old (``Findings.before``), or not run.

    If ``names``, the names of those that do not hold or are not decided follow. ``every`` is a list
    of Findings.
    """
    parts = [f"{len(every)} claims of training"]
    for verdict, one, many in (
        (HOLDS, "holds", "hold"),
        (FAILS, "does not", "do not"),
        (OPEN, "is not decided", "are not decided"),
    ):
        which = [each for each in every if each.judgement.verdict == verdict]
        if which or verdict == HOLDS:
            named = f": {', '.join(each.claim.name for each in which)}"
            parts.append(
                f"{len(which)} {one if len(which) == 1 else many}{_ages(which)}"
                f"{named if names and verdict != HOLDS else ''}"
            )
    old = " Old: made before the code changed." if any(each.before for each in every) else ""
    return f"{parts[0]}: {'; '.join(parts[1:])}.{old}"


def _ages(every):
    """`` (1 fresh, 2 old)``, without ages that no claim has."""
    fresh = sum(bool(each.known) and not each.before for each in every)
    ages = {
        "fresh": fresh,
        "old": sum(bool(each.before) for each in every),
        "not run": sum(not each.known for each in every),
    }
    found = ", ".join(f"{count} {age}" for age, count in ages.items() if count)
    return f" ({found})" if found else ""

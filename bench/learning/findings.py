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
    """A sentence that says how many claims hold, do not hold, and are not decided.

    If ``names``, the names of those that do not hold or are not decided are in brackets. ``every``
    is a list of Findings.
    """
    named = {
        verdict: [each.claim.name for each in every if each.judgement.verdict == verdict]
        for verdict in (HOLDS, FAILS, OPEN)
    }
    parts = [f"{len(every)} claims of training: {len(named[HOLDS])} hold"]
    for verdict, one, many in (
        (FAILS, "does not", "do not"),
        (OPEN, "is not decided", "are not decided"),
    ):
        if count := len(named[verdict]):
            which = f" ({', '.join(named[verdict])})" if names else ""
            parts.append(f"{count} {one if count == 1 else many}{which}")
    return "; ".join(parts) + "."

"""Findings of claims, from the files below ``docs/learning`` alone."""

from dataclasses import dataclass

from bench.learning import chance, records
from bench.learning.claim import Claim
from bench.learning.job import jobs_of
from bench.learning.judge import FAILS, HOLDS, OPEN, Judgement, judge

__all__ = ["Findings", "find", "summary"]


@dataclass(frozen=True)
class Findings:
    """The findings of a Claim: its ``jobs`` and their ``records``, each by (kind's name, seed),
    None for no record; ``chance``, the environment's line of ``random.json``, or None; and the
    ``judgement``."""

    claim: Claim
    jobs: dict
    records: dict
    chance: dict | None
    judgement: Judgement

    @property
    def known(self):
        """The existing records."""
        return [record for record in self.records.values() if record]

    @property
    def before(self):
        """``{text: titles of kinds}``: how runs differ from today's."""
        found = {}
        for (name, seed), record in self.records.items():
            if record:
                title = next(kind.title for kind in self.claim.kinds if kind.name == name)
                for text in records.differences(record, self.jobs[name, seed]):
                    found.setdefault(text, {})[title] = None
        return {text: list(titles) for text, titles in found.items()}


def find(claims, docs, runs="runs/learning"):
    """Findings of each of ``claims``, from the records and the returns of random actions below
    ``docs`` alone."""
    known, every = chance.read(docs), []
    for claim in claims:
        jobs = jobs_of(claim, runs)
        kept = {key: records.read(docs, job) for key, job in jobs.items()}
        random = known.get(claim.env)
        judgement = judge(claim, kept, random and chance.sample(random))
        every.append(Findings(claim, jobs, kept, random, judgement))
    return every


def summary(every, *, names=True):
    """The sentence that says how many claims hold, fail and are undecided and, with ``names``,
    which do not hold or are undecided. ``every``: the Findings of ``find``."""
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

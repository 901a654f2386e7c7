"""The command ``python -m bench.learning``: see ``main``."""

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console

from bench.learning import chance, records, state
from bench.learning.claims import CLAIMS, select, wanted
from bench.learning.documents import claimed, write_claim, write_index
from bench.learning.findings import find, summary
from bench.learning.job import jobs_of
from bench.learning.judge import HOLDS
from bench.learning.work import work
from bench.provenance import commit_for
from host.interrupt import leave
from host.terminal.exit_codes import report
from hw.errors import UsageError

__all__ = ["hold", "main"]


def _child(job):
    return [sys.executable, "-m", "bench.learning.run", json.dumps(asdict(job))]


def hold(
    only,
    *,
    runs,
    docs,
    workers,
    fresh=False,
    judging=False,
    saved=None,
    readme=None,
    claims=CLAIMS,
    command=_child,
    console=None,
):
    """Does the runs that the claims named by ``only`` need, and writes the claims' pages.

    Returns the exit code. It is 1 if a run failed. Without ``readme`` it is also 1 if one of these
    claims does not hold or is not decided; with ``readme`` it is instead 1 if README.md says
    something else than what was found. Otherwise it is 0.

    Parameters
    ----------
    only : list of str
        As for ``bench.learning.claims.select``.
    runs, docs : path
        Folders of the runs, and of records and pages.
    workers : int
        Runs at a time.
    fresh : bool
        Whether runs that were begun before a change (``changes.py``) begin anew.
    judging : bool
        Whether claims are only judged, by existing records, without runs.
    saved : path, optional
        Folder from which unfinished runs are taken, and to which they are put (``state.py``).
    readme : path, optional
        README.md, which must say what was found.
    claims : tuple of Claim
        All claims.
    command : callable
        Job -> words of its process.
    console : rich.console.Console, optional
        Where progress is shown.

    ValueError if a word names no claim, or, unless it only judges, if a run does not have one of
    its fields, or if sources differ from the commit (``bench.provenance.commit_for``).
    KeyboardInterrupt after a signal; the same call continues.
    """
    console, chosen = console or Console(), select(only, claims)
    jobs = [
        job
        for claim in chosen
        for key, job in jobs_of(claim, runs).items()
        if wanted(only, claim, *key)
    ]
    jobs.sort(key=lambda job: job.peer is not None)  # rlfabric's own runs come first
    if not judging:
        # Judged is by records: packages of environments without any need not be installed.
        for job in jobs:
            job.check()
        commit_for(docs)
    failed = {}
    try:
        if not judging:
            failed = _run(jobs, chosen, docs, workers, fresh, saved, command, console)
    finally:
        every = find(claims, docs, runs)
        for each in every:
            if each.claim in chosen and each.known:
                write_claim(each, docs, drawing=not judging)
        write_index(every, docs)
        missed = _told([each for each in every if each.claim in chosen], console)
    if readme is not None:
        sentence = summary(every, names=False)
        missed = claimed(readme) != sentence
        if missed:
            _say(console, f"{readme} must say between its marks: {sentence}")
    for name, code in failed.items():
        _say(console, f"failed: {name} ({code})")
    return 1 if failed or missed else 0


def _run(jobs, claims, docs, workers, fresh, saved, command, console):
    """Does missing runs, and keeps their records; ``{job's name: exit code}`` of failed runs."""
    missing = [job for job in jobs if not _is_done(job, docs, fresh)]
    _say(console, f"{len(jobs)} runs, of which {len(jobs) - len(missing)} are finished")
    if fresh:
        _forget_old(missing)
    if saved is not None:
        for name in state.take(missing, saved):
            _say(console, f"{name} goes on from {saved}")
        if fresh:
            _forget_old(missing)
    _measure_chance(claims, docs, console)
    try:
        failed = work(missing, command, workers=workers, console=console)
    finally:
        for job in jobs:
            if found := job.result or job.so_far:
                records.keep(docs, job, found)
        if saved is not None:
            for name in state.put(jobs, saved):
                _say(console, f"{name} is put into {saved}")
    kept = [(records.read(docs, job), job) for job in jobs]
    old = sum(bool(record and records.differences(record, job)) for record, job in kept)
    if old:
        _say(console, f"{old} runs were made before a change: FRESH=1 repeats them")
    return failed


def _is_done(job, docs, fresh):
    """Whether a run is finished, here or by its record; with ``fresh``, as it would be today."""
    record = records.read(docs, job)
    kept = record if record and not record.get("unfinished") and job.is_mine(record) else None
    return any(
        found and not (fresh and records.differences(found, job)) for found in (job.result, kept)
    )


def _forget_old(jobs):
    """Forgets runs in the folders of ``jobs`` that were begun before a change."""
    for job in jobs:
        found = job.result or job.begun
        if found and records.differences(found, job):
            job.forget()


def _measure_chance(claims, docs, console):
    """Measures returns of random actions that a claim needs and that are not known, in environments
    that are installed."""
    for claim in claims:
        known = chance.read(docs)
        if claim.reference is None or claim.env in known:
            continue
        config = next(iter(jobs_of(claim, "runs").values())).config
        try:
            chance.write(docs, known | {claim.env: chance.measure(config)})
        except ValueError as error:
            _say(console, f"random actions in {claim.env} are not measured: {error}")


def _told(every, console):
    """Say what was found of each claim; the names of those that do not hold, or are not decided."""
    for each in every:
        claim, jobs = each.claim, len(each.jobs)
        there = sum(not record.get("unfinished") for record in each.known)
        if there < jobs:
            _say(console, f"{claim.name}: {there} of {jobs} runs are finished")
        solved = "; ".join(
            f"{kind.title} {each.judgement.solved[kind.name][0]} of "
            f"{each.judgement.solved[kind.name][1]}"
            for kind in claim.kinds
        )
        words = each.judgement.verdict
        words = words if words == HOLDS else words.upper()
        _say(console, f"{claim.name} {words}, {claim.needed} needed: {solved}")
    return [each.claim.name for each in every if each.judgement.verdict != HOLDS]


def _say(console, text):
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def _options():
    parser = argparse.ArgumentParser(
        prog="python -m bench.learning",
        description="Train what docs/learning claims. Finished runs are not repeated, interrupted "
        "ones continue. Exit codes: 0, README.md says what was found; 1, it does not, or a run "
        "failed; 2, wrong usage; 130, interrupted.",
    )
    parser.add_argument(
        "only",
        nargs="*",
        metavar="ONLY",
        help="claims, by name, algorithm or environment, or runs, by CLAIM/KIND or "
        "CLAIM/KIND-SEED [all]",
    )
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time [2]")
    parser.add_argument(
        "--runs", default="runs/learning", help="folder of the runs [runs/learning]"
    )
    parser.add_argument(
        "--docs", default="docs/learning", help="folder of the pages [docs/learning]"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="repeat runs that were made before a change"
    )
    parser.add_argument(
        "--judge", action="store_true", help="do no runs: judge by existing records"
    )
    parser.add_argument(
        "--state", metavar="DIR", help="take unfinished runs from there, and put them there"
    )
    return parser


def main():
    """Runs the command line."""
    asked = _options().parse_args()
    try:
        if asked.jobs < 1:
            raise UsageError(f"jobs must be at least 1, not {asked.jobs}")
        if asked.judge and (asked.fresh or asked.state):
            raise UsageError("judge must be without fresh and state, not with one of them")
        code = hold(
            asked.only,
            runs=asked.runs,
            docs=asked.docs,
            workers=asked.jobs,
            fresh=asked.fresh,
            judging=asked.judge,
            saved=asked.state,
            readme="README.md",
        )
    except (KeyboardInterrupt, Exception) as error:
        code = report(error)
        if isinstance(error, KeyboardInterrupt):
            print("the same command continues", file=sys.stderr)
    leave(code)

"""The command ``python -m bench.learning``: see ``main``."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bench.learning.claims import CLAIMS, select
from bench.learning.documents import write_claim, write_index
from bench.learning.job import jobs_of
from bench.learning.work import work
from host.commands.exits import report
from host.interrupt import leave

__all__ = ["hold", "main"]


def _child(job):
    return [sys.executable, "-m", "bench.learning.run", json.dumps(asdict(job))]


def hold(only, *, runs, docs, workers, fresh=False, claims=CLAIMS, command=_child, console=None):
    """Run what the claims that ``only`` names need, and write their pages; the exit code: 0, or 1
    if a claim does not hold or a run failed.

    Parameters
    ----------
    only : list of str
        As for ``bench.learning.claims.select``.
    runs, docs : path
        Folders of the runs and of the pages.
    workers : int
        Runs at a time.
    fresh : bool
        Runs of other sources than there are now begin anew.
    claims : tuple of Claim
    command : callable
        Job -> words of its process.
    console : rich.console.Console, optional

    ValueError for a word that names no claim, or fields that a run has not. KeyboardInterrupt after
    a signal: the same call goes on.
    """
    console = console or Console()
    chosen = {claim.name: (claim, jobs_of(claim, runs)) for claim in select(only, claims)}
    every = [job for _, jobs in chosen.values() for job in jobs.values()]
    every.sort(key=lambda job: job.peer is not None)  # what is claimed comes first
    for job in every:
        job.check()
        if fresh and job.stale:
            job.forget()
    missing = [job for job in every if job.result is None]
    _say(console, f"{len(every)} runs, of which {len(every) - len(missing)} are finished")
    try:
        failed = work(missing, command, workers=workers, console=console)
    finally:
        missed = _documents(chosen, claims, Path(docs), console)
    stale = sum(job.stale for job in every)
    if stale:
        _say(console, f"{stale} runs are of other sources than these: FRESH=1 repeats them")
    for name, code in failed.items():
        _say(console, f"failed: {name} ({code})")
    return 1 if failed or missed else 0


def _documents(chosen, claims, docs, console):
    """Write the pages of claims of which all runs that count are finished, or known so far; the
    names of those that do not hold, also for lack of runs."""
    missed = []
    for name, (claim, jobs) in chosen.items():
        results = {key: job.result or job.so_far for key, job in jobs.items()}
        there = sum(job.result is not None for job in jobs.values())
        if there < len(results):
            _say(console, f"{name}: {there} of {len(results)} runs are finished")
        counting = [kind.name for kind in claim.kinds if kind.counts]
        if any(results[key] is None for key in results if key[0] in counting):
            missed.append(name)
            continue
        line = write_claim(claim, jobs, results, docs)
        solved = "; ".join(
            f"{kind['title']} {kind['solved']} of {kind['runs']}" for kind in line["kinds"].values()
        )
        words = "holds" if line["holds"] else "DOES NOT HOLD"
        _say(console, f"{name} {words}, {line['needed']} needed: {solved}")
        if not line["holds"]:
            missed.append(name)
    write_index(claims, docs)
    return missed


def _say(console, text):
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def _options():
    parser = argparse.ArgumentParser(
        prog="python -m bench.learning",
        description="Train what docs/learning claims. A run that is finished is not repeated, one "
        "that was cut goes on. Exit codes: 0, all claims hold; 1, one does not, or a run failed; "
        "2, wrong usage; 130, interrupted.",
    )
    parser.add_argument(
        "only", nargs="*", metavar="ONLY", help="claims, by name, algorithm or environment [all]"
    )
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time [2]")
    parser.add_argument("--runs", default="runs/learning", help="their folder [runs/learning]")
    parser.add_argument("--docs", default="docs/learning", help="the pages' [docs/learning]")
    parser.add_argument(
        "--fresh", action="store_true", help="begin runs of other sources than these anew"
    )
    return parser


def main():
    """Run the command line."""
    asked = _options().parse_args()
    try:
        if asked.jobs < 1:
            raise ValueError(f"jobs must be at least 1, not {asked.jobs}")
        code = hold(
            asked.only, runs=asked.runs, docs=asked.docs, workers=asked.jobs, fresh=asked.fresh
        )
    except (KeyboardInterrupt, Exception) as error:
        code = report(error)
        if isinstance(error, KeyboardInterrupt):
            print("the same command goes on", file=sys.stderr)
    leave(code)

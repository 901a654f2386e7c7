"""Runs the seeds of the sides, each in a process of its own, and keeps a record of each.

A record is ``TASK/SIDE-SEED.json``: what was asked, the commit, the date, the versions, and the
result (``bench.solve.trial``). A seed whose record answers today's request is not run again.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.learning.peers import PeerPlan
from bench.learning.records import lines
from bench.provenance import commit_for, now
from bench.results import FOLDER
from bench.solve.sides import chosen, config_of, numbers_of, request
from host.checkpoint import write_text
from host.runs.summary import versions
from host.terminal.exit_codes import MISSING_TOOL
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["RECORDS", "measure", "perform", "read"]

RECORDS = FOLDER / "solve"

#: A process may wait so many times its limit of processor time, in which others run, and to start.
_PATIENCE, _START_S = 8, 900
#: program -> packages whose versions its records have, too
_PACKAGES = {"rlfabric": (), "sb3": ("stable-baselines3",), "rltools": ("rltools", "mkl")}
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def read(task, side, asked, folder=RECORDS):
    """The records of a side that answer ``asked``, by seed: ``{seed: record}``."""
    paths = (Path(folder) / task.name).glob(f"{side}-*.json")
    every = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    found = {
        record["seed"]: record
        for record in every
        if record["side"] == side and _today(record["asked"]) == asked
    }
    return dict(sorted(found.items()))


def measure(only, *, seeds, folder=RECORDS, limit_s=600.0, say=print, process=None):
    """Runs each side that ``only`` names (``bench.solve.sides.chosen``) with the seeds 0 to
    ``seeds`` - 1, unless it has a record; all sides of a seed before the next seed.

    ``folder`` has the records, ``limit_s`` is most processor seconds of a seed's training, ``say``
    gets a line for each seed, ``process(words, env, timeout)`` runs a process and returns (exit
    code, stdout). Returns the list of seeds that gave no result, each with
    its exit code. UsageError for a word that names
    nothing, or if sources differ from the commit (``bench.provenance.commit_for``).
    """
    check_range("seeds", seeds, 0, 1000)
    if not limit_s > 0:
        raise UsageError(f"limit-s must be positive, not {limit_s!r}")
    sides = [(task, side, request(task, side)) for task, side in chosen(only)]
    failed, lacking = [], set()
    for seed in range(seeds):
        for task, side, asked in sides:
            name = f"{task.name}/{side}-{seed}"
            done = read(task, side, asked, folder).get(seed)
            if (done and not _cut(done, limit_s)) or asked["program"] in lacking:
                continue
            commit = commit_for(folder)
            code, result = perform(asked | {"algo": task.algo}, seed, limit_s, process)
            if code:
                failed.append(f"{name} ({code})")
                say(f"{name}: no result ({code})")
                if code == MISSING_TOOL:
                    lacking.add(asked["program"])
                continue
            head = {"task": task.name, "side": side, "seed": seed, "limit_s": limit_s}
            found = versions(*_PACKAGES[asked["program"]])
            head |= {"commit": commit, "date": now(), "versions": found, "asked": asked}
            path = Path(folder) / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, lines(head | result))
            say(f"{name}: {_told(result)}")
    return failed


def perform(asked, seed, limit_s, process=None):
    """``(exit code, result)`` of a seed in a process of one thread, as of
    ``bench.solve.seed_process.perform``; the result is None after an error."""
    job = {"asked": asked, "seed": seed, "limit_s": limit_s}
    words = [sys.executable, "-m", "bench.solve.seed_process", json.dumps(job)]
    code, out = (process or _process)(
        words, {**os.environ, **_ONE_THREAD}, _PATIENCE * limit_s + _START_S
    )
    return code, None if code else json.loads(out.splitlines()[-1])


def _today(asked):
    """The request ``asked`` of a record, with defaults for fields newer than the record; None if a
    field was removed since."""
    try:
        if "config" in asked:
            config = numbers_of(config_of(asked["config"]))
            return json.loads(json.dumps(asked | {"config": config}))
        if "plan" in asked:
            return json.loads(json.dumps(asked | {"plan": asdict(PeerPlan(**asked["plan"]))}))
    except (TypeError, ValueError):
        return None
    return asked


def _cut(record, limit_s):
    """Whether a seed was ended by a shorter limit of time than this one."""
    return record["ended"] == "time" and record["limit_s"] < limit_s


def _told(result):
    how = "solved at" if result["solved"] else "not solved within"
    return f"{how} {result['steps']} steps, {result['seconds']:.2f} s"


def _process(words, env, timeout):
    try:
        done = subprocess.run(
            words, env=env, timeout=timeout, stdout=subprocess.PIPE, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no result within {timeout:.0f} s", ""
    return done.returncode, done.stdout

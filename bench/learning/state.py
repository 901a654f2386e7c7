"""The state of runs that are not finished, in a folder that outlives the machine: ``make learning
STATE=dir``.

Before anything is run, what the folder has of a run, and is further than what is here, is taken;
when the command ends, also after Ctrl-C, what was cut is put there, and what has been finished is
removed from there. So a run goes on in another clone, to the same bits. The folder must be one's
own: a peer's state is unpickled where it goes on.
"""

import json
import shutil
from pathlib import Path

from host.train.log import read_progress

__all__ = ["put", "take"]

#: What belongs to a process, not to the state.
_LEFT_OUT = shutil.ignore_patterns("*.lock", "partial-*", "*.partial")


def take(jobs, folder):
    """Copy the state of each job from below ``folder`` to its own folder, where it was asked for
    the same and is further; the names of those that were."""
    taken = []
    for job in jobs:
        there = Path(folder) / job.name
        if job.result is None and job.began(there) and _steps(there) > _steps(job.folder):
            _copy(there, job.folder)
            taken.append(job.name)
    return taken


def put(jobs, folder):
    """Copy the folder of each job that was cut to below ``folder``, and remove from there those
    that are finished; the names of those that were copied."""
    copied = []
    for job in jobs:
        there = Path(folder) / job.name
        if job.cut:
            _copy(job.folder, there)
            copied.append(job.name)
        elif job.result is not None:
            shutil.rmtree(there, ignore_errors=True)
    return copied


def _copy(source, target):
    """The whole folder or, where this is cut, the one that was there."""
    source, target = Path(source), Path(target)
    fresh, old = (target.with_name(f"{target.name}.{word}") for word in ("new", "old"))
    for path in (fresh, old):
        shutil.rmtree(path, ignore_errors=True)
    fresh.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, fresh, ignore=_LEFT_OUT)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _steps(folder):
    """Environment steps of the state in a folder; -1 where there is none."""
    state = Path(folder) / "state.json"  # a peer's
    if state.exists():
        return json.loads(state.read_text())["steps"]
    if not (Path(folder) / "checkpoint.npz").exists():
        return -1
    rows = read_progress(folder)
    return rows[-1]["steps"] if rows else 0

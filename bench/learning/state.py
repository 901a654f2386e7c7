"""The state of unfinished runs, in a folder that outlives the machine: ``make learning STATE=dir``.

Before anything is run, the state of a run is taken from the folder if it is further there than
here. When the command ends, also after Ctrl-C, interrupted runs are put into the folder, and
finished ones are removed from it. So a run continues in another clone with the same bits. The
folder must be your own: a peer's run that continues is unpickled.
"""

import json
import shutil
from pathlib import Path

from host.runs.run_log import read_progress

__all__ = ["put", "take"]

#: Files that belong to a process, not to the state.
_LEFT_OUT = shutil.ignore_patterns("*.lock", "partial-*", "*.partial")


def take(jobs, folder):
    """Copies the state of each of ``jobs`` from below ``folder`` to the job's own folder, if the
    run there has the same request and more environment steps, and the job is not finished.

    Returns the list of names of the jobs that were copied.
    """
    taken = []
    for job in jobs:
        there = Path(folder) / job.name
        if job.result is None and job.began(there) and _steps(there) > _steps(job.folder):
            _copy(there, job.folder)
            taken.append(job.name)
    return taken


def put(jobs, folder):
    """Copies the folder of each interrupted job of ``jobs`` to below ``folder``, and removes the
    folders of finished ones from there; returns the list of names of the jobs that were copied."""
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
    """Copies the whole folder; if the copy is interrupted, the old folder stays."""
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
    """Environment steps of the state in a folder; -1 if there is none."""
    state = Path(folder) / "state.json"  # a peer's
    if state.exists():
        return json.loads(state.read_text(encoding="utf-8"))["steps"]
    if not (Path(folder) / "checkpoint.npz").exists():
        return -1
    rows = read_progress(folder)
    return rows[-1]["steps"] if rows else 0

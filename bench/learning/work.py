"""Runs jobs as processes, some at a time, with a line of progress for each.

Each process has a session of its own, so that a terminal's Ctrl-C reaches only the parent. The
first Ctrl-C asks each run to end with a checkpoint, a second one ends all at once.
"""

import os
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from host.interrupt import stop_requests

__all__ = ["work"]

_POLL_S, _END_S = 0.1, 30.0
_TAIL = 4096

#: a line of progress: steps, all steps, and the text after the time
_STEPS = re.compile(r": step (\d+) of (?:at least )?(\d+) \(\d+ %\), [^,]+, (.*)")

#: one thread for each run: if two wait for each other in spin loops, both take many times as long
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def work(jobs, command, *, workers, console):
    """Runs a process for each job, and returns ``{job's name: exit code}`` of those that failed.

    The output of a job is added to ``<job.folder>.log``. Its last line is shown while the job runs,
    and its last five lines if the job failed. After a signal no job begins, those under way are
    asked to end, and KeyboardInterrupt is raised when all have ended.

    Parameters
    ----------
    jobs : list
        Objects with ``name`` and ``folder``, such as ``bench.learning.job.Job``.
    command : callable
        ``command(job)`` gives the list of words of the job's process.
    workers : int
        Jobs at a time.
    console : rich.console.Console
        Where progress is shown.
    """
    waiting, running, failed, asked = list(jobs), {}, {}, False
    with stop_requests() as stop, _board(console, len(waiting)) as board:
        try:
            while running or (waiting and not stop):
                while waiting and not stop and len(running) < workers:
                    job = waiting.pop(0)
                    running[job.name] = job, _start(job, command(job))
                    board.begin(job)
                if stop and not asked:
                    asked = True
                    console.print("ending the runs under way, each with a checkpoint")
                    _ask(running)
                for job, process in [each for each in running.values()]:
                    board.show(job)
                    if process.poll() is not None:
                        del running[job.name]
                        board.end(job, process.returncode, quiet=bool(stop))
                        if process.returncode:
                            failed[job.name] = process.returncode
                time.sleep(_POLL_S)
        except BaseException:
            _ask(running)
            _end(running)
            raise
    if stop:
        raise KeyboardInterrupt
    return failed


def _log(job):
    return Path(f"{job.folder}.log")


def _start(job, words):
    _log(job).parent.mkdir(parents=True, exist_ok=True)
    with _log(job).open("a", encoding="utf-8") as log:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | dict.fromkeys(_ONE_THREAD, "1"),
            start_new_session=True,
        )


def _ask(running):
    for _, process in running.values():
        process.terminate()


def _end(running):
    deadline = time.monotonic() + _END_S
    for _, process in running.values():
        try:
            process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_lines(job, count):
    """The last lines of the log; only its end is read, as it may be long."""
    with _log(job).open("rb") as file:
        file.seek(max(0, _log(job).stat().st_size - _TAIL))
        return file.read().decode(errors="replace").splitlines()[-count:]


@contextmanager
def _board(console, total):
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeElapsedColumn(), TextColumn("{task.fields[state]}", markup=False)]
    drawn = console.is_interactive and total > 0
    with Progress(*columns, console=console, disable=not drawn) as progress:
        yield _Board(console, progress, total, drawn)


class _Board:
    """Shows jobs: with bars on a terminal, else with a line for each job that ends."""

    def __init__(self, console, progress, total, drawn):
        self._console, self._progress, self._total, self._drawn = console, progress, total, drawn
        self._done, self._tasks = 0, {}
        self._whole = progress.add_task("runs", total=total, state="")

    def begin(self, job):
        self._tasks[job.name] = self._progress.add_task(job.name, total=None, state="")

    def show(self, job):
        """Shows the last line of the job's output if it is a line of ``host.runs.progress_bar``."""
        if not self._drawn:
            return
        for line in _last_lines(job, 1):
            if seen := _STEPS.search(line):
                done, total, state = seen.groups()
                task = self._tasks[job.name]
                self._progress.update(task, completed=int(done), total=int(total), state=state)

    def end(self, job, code, quiet):
        self._progress.remove_task(self._tasks.pop(job.name))
        self._done += not code
        self._progress.update(self._whole, completed=self._done)
        if code and not quiet:
            self._print(f"{job.name} failed ({code}), {_log(job)}:", *_last_lines(job, 5))
        elif not code and not self._drawn:
            self._print(f"{job.name} is done, {self._done} of {self._total}")

    def _print(self, *lines):
        for line in lines:
            self._console.print(line, soft_wrap=True, markup=False, highlight=False)

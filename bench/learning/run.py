"""Begins or continues a run of a claim: ``python -m bench.learning.run JSON``, a Job's fields."""

import json
import math
import sys
from pathlib import Path

from rich.console import Console

from bench.learning.critic import critic_losses
from bench.learning.job import JUDGING_SEED, Job
from host.checkpoint import CheckpointError
from host.interrupt import INTERRUPTED, leave, stop_requests, terminating
from host.runs.run_folder import CHECKPOINT
from host.runs.run_log import read_progress
from host.runs.start_run import run as train
from host.terminal.exit_codes import report
from hw.errors import MissingTool, UsageError
from hw.extras import install
from system.lock import locked

__all__ = ["perform"]


def perform(job, console):
    """Begins or continues the run of ``job``, and returns the exit code.

    It is 0 after the end, also if the run was finished before; 130 if the run was interrupted; 1 if
    one of its files could not be written. RuntimeError if another process runs it. Progress is
    shown on ``console``.
    """
    Path(job.folder).parent.mkdir(parents=True, exist_ok=True)
    with locked(Path(f"{job.folder}.lock")):
        return _perform(job, console)


def _perform(job, console):
    if job.result is not None:  # another process finished it while this one waited
        return 0
    resume = job.cut
    job.resume() if resume else job.begin()
    if job.peer:
        library_run = _library_run()
        with stop_requests() as stop:
            result = library_run(job, resume=resume, console=console, stop=stop)
        code = INTERRUPTED if result is None else 0
    else:
        code, result = _card_run(job, resume, console)
    if code == 0:
        job.end(result)
    return code


def _library_run():
    try:
        from bench.learning.library import library_run
    except ImportError as error:
        raise MissingTool(
            f"stable-baselines3 must be installed for a peer ({install('torch,peers')}), not "
            f"missing: {error}"
        ) from error
    return library_run


def _card_run(job, resume, console):
    """``(exit code, result)`` of a run on card model."""
    folder, options = Path(job.folder), dict(resume=True) if resume else dict(overwrite=True)
    if resume and not (folder / CHECKPOINT).exists():
        options = dict(overwrite=True)
    trained = dict(card="model", out=folder, board=job.board, kernel=job.kernel, console=console)
    try:
        done = train(job.config, **trained, **options)
    except CheckpointError as error:
        if "resume" not in options:
            raise
        console.print(f"begun anew: {error}", soft_wrap=True, markup=False)
        done = train(job.config, **trained, overwrite=True)
    if done.exit_code:
        return done.exit_code, None
    mean = done.summary["mean_return"]
    if job.episodes is not None:
        from host.cli.episodes import play

        mean = float(play(folder, episodes=job.episodes, seed=JUDGING_SEED).returns.mean())
    rows, column = read_progress(folder), "return_mean" if job.training else "evaluation_return"
    curve = [(row["steps"], row[column]) for row in rows]
    if job.training:  # of the actors' last 100 episodes
        mean = rows[-1][column]
    falls = {} if job.falls is None else {"falls": _falls(job, rows)}
    return 0, {
        "mean_return": mean,
        **{name: done.summary[name] for name in ("steps", "updates", "seconds")},
        "curve": [point for point in curve if point[1] is not None],
        **falls,
    }


def _falls(job, rows):
    """First and last value of the number that must fall: for the critic, its losses on the same
    experiences; for a column, means over a fifth of the rows that have it. ValueError if a number
    of any row is not finite, or if no row has this column."""
    for row in rows:
        for name, value in row.items():
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{name} must be finite, not {value} (step {row['steps']})")
    if job.falls == "critic's loss":
        return critic_losses(job.config, job.folder)
    values = [row[job.falls] for row in rows if row[job.falls] is not None]
    if not values:
        raise UsageError(f"{job.falls} must be in some row of the run's progress, not in none")
    part = max(len(values) // 5, 1)
    return sum(values[:part]) / part, sum(values[-part:]) / part


def main():
    """Performs the job whose JSON is on the command line."""
    try:
        with terminating():
            job = Job(**json.loads(sys.argv[1]))
            code = perform(job, Console(width=200))
    except (KeyboardInterrupt, Exception) as error:
        code = report(error)
    leave(code)


if __name__ == "__main__":
    from bench.learning.run import main as named  # so that errors have this module's name

    named()

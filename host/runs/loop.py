"""A training run: iterates, logs, evaluates, saves checkpoints, and stops on a signal.

``host.runs.session`` is the algorithm; here are the clock, the files and the signals around it.
"""

import warnings
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from host import checkpoint
from host.actors.pool import ActorsFailed
from host.interrupt import INTERRUPTED, stop_requests
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.progress_bar import progress_bar
from host.runs.progress_rows import Rows
from host.runs.records import Records
from host.runs.run_folder import CHECKPOINT, clear
from host.runs.run_log import ActorLog
from host.runs.scores import Scores, mean_of
from host.runs.summary import summary_of

__all__ = ["Progress", "TrainResult", "train"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The state of a run after a launch.

    Attributes
    ----------
    steps, updates, launches, episodes : int
        Environment steps of all actors, gradient steps, launches on the card, episodes that actors
        finished; all since the run began.
    mean_return : float or None
        Mean return of the actors' last 100 episodes, in which they explore; None before the first.
    best_return : float or None
        Mean return of the greedy evaluation for which the best policy was kept; None before the
        first evaluation.
    """

    steps: int
    updates: int
    launches: int
    episodes: int
    mean_return: float | None
    best_return: float | None


@dataclass(frozen=True)
class TrainResult:
    """The result of ``train``.

    ``summary`` is the content of summary.json. ``exit_code`` is 0; 130 if the run was interrupted;
    or 1 if a file of the run could not be written in the end. ``plot`` is the path of returns.png,
    which does not exist without matplotlib.
    """

    summary: dict
    exit_code: int
    plot: Path


def train(
    config,
    factory,
    *,
    out,
    card="model",
    kernel=None,
    resume=False,
    console=None,
    callback=None,
    actors=None,
):
    """Trains by ``config`` until its ``steps`` are taken, the callback ends the run, SIGINT or
    SIGTERM comes, or, with ``until_solved``, the environment is solved.

    It is solved if the mean return of a greedy evaluation is at least ``threshold`` (by default the
    environment's own), and a second evaluation, on other episodes, confirms it; if the second one
    does not, training goes on. The first signal ends the run after the iteration, or after the step
    of an evaluation, with a checkpoint; a second signal ends it at once.

    Parameters
    ----------
    config : RunConfig
    factory : callable
        Makes the card's side of the run: see ``host.runs.assembly``.
    out : path
        Directory for progress.csv, returns.png, summary.json, tensorboard/, checkpoint.npz and
        best.npz (the best policy, for ``host.agents.policy_file``). After a failure, the policy
        of that moment is in last.npz. No other run may be under way in this directory
        (``host.runs.run_folder.run_folder``).
    card : str
        Name of the card, for the summary.
    kernel : KernelDescription, optional
        The kernel of the run, for the summary.
    resume : bool
        Whether to continue from ``checkpoint.npz``. If batches come from a replay buffer, the next
        batch is the same; environments start new episodes. The config must be that of the
        checkpoint, except for the fields that are not in ``RunConfig.identity``: the run's length,
        its threshold, and how often rows and checkpoints are written. Schedules keep their lengths.
        If False, an older checkpoint and policy in ``out`` become ``*.previous.npz``.
    console : rich.console.Console, optional
        Where progress is shown.
    callback : callable, optional
        ``callback(Progress)`` is called after each launch; if it returns False, the run ends as if
        its steps had been taken: with a checkpoint and an evaluation.
    actors : Actors, optional
        Where the actors of a config with ``actors`` are (``host.actors.placement``). Each one that
        is lost is a line on ``console`` and in ``actors.csv``.

    Returns
    -------
    TrainResult

    ValueError if the config, the environment or the directory do not allow the run; CheckpointError
    if its checkpoint cannot be used.
    """
    console = console or Console()
    out = Path(out)
    checkpoint.check_writable(out)
    saved = None
    if resume:
        _, saved = checkpoint.load(out / CHECKPOINT, "training", config.identity())
    total = saved["session"].get("total", config.steps) if saved else config.steps
    _warn_of_rest(config, total)
    if not (saved and saved["session"]["updates"]):
        _warn_of_nothing(config)
    one_thread = single_threaded(with_torch=config.learner == "cpu")
    log = ActorLog(out, console)
    if actors is not None:
        actors = replace(actors, report=log)
    with one_thread, closing(build(config, factory, total, actors=actors)) as session:
        log.clock = session.clock
        with closing(_Run(config, session, out, console, saved, callback)) as run:
            return run.to_end(card, kernel, log)


def _warn_of_rest(config, total):
    """Warns if the step size is 0 for more than a hundredth of the run, whose schedules are made
    for ``total`` environment steps."""
    until = config.in_run(total).agent.learns_until
    if until is not None and until < 0.99 * config.steps:
        warnings.warn(
            f"learning_rate is 0 from step {until} on: the run learns nothing in the other "
            f"{config.steps - until} of its {config.steps} steps (learning_rate_steps is the "
            "schedule's length; a resumed run keeps the schedule that it began with)",
            RuntimeWarning,
            stacklevel=3,
        )


def _warn_of_nothing(config):
    """Warns if the run ends before it learns: a launch learns only from earlier steps."""
    launch = config.env_count * getattr(config, "steps_per_launch", 1)
    least = -(-config.learns_from_step // launch) * launch
    if config.steps <= least:
        warnings.warn(
            f"steps must be above {least} (learning_starts, in whole launches), not "
            f"{config.steps}: the run collects, and makes no gradient step",
            RuntimeWarning,
            stacklevel=3,
        )


class _Run:
    def __init__(self, config, session, out, console, saved, callback):
        self.config, self.session, self.console = config, session, console
        self._callback, self._ended = callback, False
        self.records = Records(out, config, session, self._say)
        self.scores = Scores(config, session, self.records, self._show_evaluation)
        self.rows = Rows(session, self.scores, self.records)
        self._phase, self._stop, self._whole = session.phases, (), True
        self._unread = True  # whether no policy's file has been read back
        self._phase.restart()
        if saved is not None:
            with checkpoint.restoring(self.records.checkpoint):
                self._restore(saved)
        else:
            clear(out)
        self.rows.begin()
        self.records.keep_space()

    def close(self):
        self.records.close()

    def to_end(self, card, kernel, log):
        session, scores = self.session, self.scores
        with (
            stop_requests(session.stop) as self._stop,
            progress_bar(self.console) as self._progress,
        ):
            log.stop = self._stop
            told = dict(total=self.config.steps, state="", part="")
            self._task = self._progress.add_task(self.config.env, **told)
            try:
                self._loop()
                self._save()
                if not self.config.evaluation_episodes:
                    self._keep_last()
                elif not self._stop and not scores.solved:
                    self._show(description="final evaluation")
                    if scores.best is None:
                        self._evaluate()
                    scores.conclude(self._stop)
                self.rows.write()
            except BaseException as error:
                # There is no checkpoint in the middle of an iteration, where the states of card and
                # host do not belong together, and none at a second signal.
                keep = self._whole and isinstance(error, Exception)
                self.records.leave(error, self._state if keep else None)
                raise
            self._show()
        interrupted = scores.mean_return is None
        if not self.config.evaluation_episodes:
            interrupted = bool(self._stop)
        if not (session.clock.updates or interrupted):
            self._say("Nothing was learned: no gradient step was made.")
        with self._phase("records"):
            summary = summary_of(self.config, session, scores, card, kernel)
        summary |= {
            "seconds": round(self.rows.seconds, 3),
            "phases": self.rows.phases,
            "device_cycles": self.rows.device_cycles,
            "interrupted": interrupted,
        }
        self.records.summary(summary)
        plot = self._plot(card)
        if interrupted:
            self._say(
                f"Interrupted at step {session.clock.steps}; {self.records.checkpoint} is of step "
                f"{self.records.saved}. Continue with the same command and --resume."
            )
        failed = 1 if self.records.failed else 0
        if failed:
            self._say(self.records.lacking())
        return TrainResult(summary, INTERRUPTED if interrupted else failed, plot)

    def _loop(self):
        config, session, scores = self.config, self.session, self.scores
        while session.clock.steps < config.steps and not self._ends:
            before = session.clock.steps
            self._whole = False
            try:
                iteration = session.iterate()
            except ActorsFailed:  # nothing of the iteration is half done
                self._whole = True
                if not self._stop:
                    raise
                break  # what stops the run has ended the actors, too
            self._whole = True
            self.rows.measure(iteration.measured)
            scores.count(iteration.episodes)
            evaluate, log, save = (
                session.clock.steps // interval > before // interval
                for interval in (
                    config.evaluation_interval_steps,
                    config.log_interval_steps,
                    config.checkpoint_interval_steps,
                )
            )
            if (evaluate or session.collector.promising) and session.clock.updates:
                self._evaluate()
            if log or scores.evaluation is not None:
                self.rows.write()
                self._show()
            if save or self.records.due:
                self._save()
            if self._callback is not None:
                self._ended = self._callback(self._progressed()) is False

    def _evaluate(self):
        """An evaluation; after the first, the policy's file is read back."""
        if not self.config.evaluation_episodes:
            self._keep_last()
            return
        self.scores.evaluate(self._stop)
        self._show()
        if self._unread and self.scores.evaluation is not None:
            self._read_back()

    def _keep_last(self):
        """Where nothing is evaluated the present policy is the one that is kept."""
        self.records.keep_best(None)
        if self._unread:
            self._read_back()

    def _read_back(self):
        self.records.check_policy()
        self._unread = False

    def _show_evaluation(self, ended, steps):
        """Shows how far an evaluation is."""
        self._show(part=f", {ended} of {self.config.evaluation_episodes} episodes, step {steps}")

    @property
    def _ends(self):
        """Whether the run ends before its steps are taken."""
        return bool(self.scores.solved or self._stop or self._ended)

    def _progressed(self):
        scores, clock = self.scores, self.session.clock
        return Progress(
            steps=clock.steps,
            updates=clock.updates,
            launches=self.session.launches,
            episodes=scores.episodes,
            mean_return=mean_of(scores.returns),
            best_return=scores.best,
        )

    def _show(self, **changes):
        """Updates the progress bar and its text; ``changes`` are further fields of its task."""
        scores = self.scores
        best = "-" if scores.best is None else f"{scores.best:.0f}"
        actors = "-" if not scores.returns else f"{mean_of(scores.returns):.0f}"
        state = f"return {actors}, best greedy {best}, launches {self.session.launches}"
        changes = {"part": ""} | changes
        changes |= {"completed": self.session.clock.steps, "state": state}
        self._progress.update(self._task, **changes)

    def _say(self, text):
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def _plot(self, card):
        config = self.config
        return self.records.plot(
            title=f"{config.algo} on {config.env}, seed {config.seed}, card {card}",
            threshold=self.scores.threshold,
        )

    def _save(self):
        with self._phase("records"):
            self.records.save(self._state)

    def _state(self):
        run = {"phases": self._phase.seconds, "scores": self.scores.state_dict()}
        run |= self.rows.state_dict()
        before = self.session.device_cycles
        state = {"session": self.session.state_dict(), "run": run}
        if before is not None:  # clocks of writing a checkpoint do not count
            self.rows.forget(self.session.device_cycles - before)
        return state

    def _restore(self, saved):
        self.session.load_state_dict(saved["session"])
        run = saved["run"]
        self.scores.load_state_dict(run["scores"])
        self.rows.load_state_dict(run)
        self._phase.load(run["phases"])
        self.records.saved = steps = self.session.clock.steps
        if steps >= self.config.steps and not self.scores.solved:
            self._say(
                f"The checkpoint is of step {steps}, and steps is {self.config.steps}: nothing is "
                "trained. Give more --steps to continue."
            )

"""A training run: iterate, log, evaluate, checkpoint, stop well.

``host.agents.session`` is the algorithm; this is the clock, the files and the signals around it.
"""

import json
import time
from collections import defaultdict, deque
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from host import checkpoint
from host.agents.environment_id import reward_threshold
from host.agents.on_policy import OnPolicySession
from host.agents.policy import load_policy, save_policy
from host.agents.session import Session
from host.agents.threads import single_blas_thread
from host.agents.train_config import OnPolicyConfig, TrainConfig
from host.interrupt import INTERRUPTED, stop_requests
from host.log import RunLog, plot_returns, progress_bar, write_summary

__all__ = ["OnPolicyConfig", "TrainConfig", "TrainResult", "load_policy", "train"]

CHECKPOINT = "checkpoint.npz"

_SESSIONS = {TrainConfig: Session, OnPolicyConfig: OnPolicySession}

#: columns of progress.csv whatever learns
_SHARED = (
    "launches",
    "steps",
    "episodes",
    "seconds",
    "return_mean",
    "evaluation_return",
    "device_cycles",
)


@dataclass(frozen=True)
class TrainResult:
    """``summary`` is what summary.json holds; ``exit_code`` is 0, or 130 after an interrupt."""

    summary: dict
    exit_code: int
    plot: Path


def train(config, factory, *, out, card="model", resume=False, console=None):
    """Run ``config`` to its end, to a confirmed solution, or to SIGINT or SIGTERM.

    Solved: a greedy evaluation averages at least ``threshold``, or else the environment's reward
    threshold, and another one, on other episodes, confirms it; if it does not, training goes on.
    The first signal ends the run after the iteration, with a checkpoint; a second one at once.

    Parameters
    ----------
    config : TrainConfig or OnPolicyConfig
    factory : callable
        Makes what learns with the agent on the card: the replay buffer
        (``host.agents.session.Session``) or the advantage estimator
        (``host.agents.on_policy.OnPolicySession``).
    out : path
        Directory for progress.csv, returns.png, summary.json, tensorboard/, checkpoint.npz and
        best.npz (the best policy; ``load_policy`` reads it). If the card fails, the policy as it
        was then goes to last.npz.
    card : str
        Name of the card, for the summary.
    resume : bool
        Continue from ``checkpoint.npz``: the next batch is the same, if it is a replay buffer's;
        environments start new episodes. The config must be the checkpoint's, but for its lengths
        and intervals. Otherwise an older checkpoint and policy in ``out`` become
        ``*.previous.npz``.
    console : rich.console.Console, optional

    Returns
    -------
    TrainResult

    ValueError for what the config, environment or directory make impossible; CheckpointError.
    """
    console = console or Console()
    out = Path(out)
    checkpoint.check_writable(out)
    single_blas_thread()
    saved = None
    if resume:
        _, saved = checkpoint.load(out / CHECKPOINT, "training", config.identity())
    with closing(_SESSIONS[type(config)](config, factory)) as session:
        run = _Run(config, session, out, card, saved)
        columns = _SHARED + session.COLUMNS
        with closing(RunLog(out, session.launches, columns)) as run.log:
            return run.to_end(console)


class _Run:
    def __init__(self, config, session, out, card, saved):
        self.config, self.session, self.out, self.card = config, session, out, card
        self.file, self.policy = out / CHECKPOINT, out / "best.npz"
        self.last = out / "last.npz"  # written if the card fails
        own = config.threshold
        self.threshold = reward_threshold(config.env) if own is None else own
        self.returns, self.episodes, self.attempts = deque(maxlen=100), 0, 0
        self.best = self.mean_return = self.evaluation = None
        self.solved, self._seconds, self._cycles = False, 0.0, 0
        self._measured, self._logged = defaultdict(list), None
        if saved is not None:
            self._restore(saved)
        else:
            for file in (self.file, self.policy):
                if file.exists():
                    file.replace(file.with_suffix(".previous.npz"))
        self._started = time.perf_counter()

    def to_end(self, console):
        config, session = self.config, self.session
        with stop_requests() as stop, progress_bar(console) as progress:
            task = progress.add_task(config.env, total=config.steps, state="")
            while session.agent.steps < config.steps and not self.solved and not stop:
                self._before = session.agent.steps
                self._count(self._iterate())
                if session.agent.updates and self._due(config.evaluation_interval_steps):
                    self._evaluate()
                if self._due(config.log_interval_steps) or self.evaluation is not None:
                    self._write_row()
                    progress.update(task, completed=session.agent.steps, state=self._state())
                if self._due(config.checkpoint_interval_steps):
                    self._save()
            self._save()
            interrupted = bool(stop) and not self.solved
            if not interrupted:
                self._conclude()
            progress.update(task, completed=session.agent.steps, state=self._state())
        self._write_row()
        write_summary(self.out, summary := self._summary(interrupted))
        plot = plot_returns(
            self.out,
            title=f"{config.algo} on {config.env}, seed {config.seed}, card {self.card}",
            threshold=self.threshold,
        )
        if interrupted:
            console.print(
                f"Interrupted at step {session.agent.steps}; saved {self.file}. "
                "Continue with the same command and --resume.",
                soft_wrap=True,
                markup=False,
            )
        return TrainResult(summary, INTERRUPTED if interrupted else 0, plot)

    def _due(self, interval):
        """Whether the last iteration passed a multiple of ``interval`` environment steps."""
        return self.session.agent.steps // interval > self._before // interval

    def _iterate(self):
        try:
            return self.session.iterate()
        except Exception as error:
            # What the card had is gone with it, but what was learned is here.
            self._save_policy(self.last, None)
            error.add_note(f"the policy as it was is in {self.last}")
            raise

    def _count(self, iteration):
        for name, value in iteration.measured.items():
            if value is not None:
                self._measured[name].append(value)
        self.episodes += len(iteration.episodes)
        self.returns.extend(value for value, _ in iteration.episodes)

    def _evaluate(self):
        """Greedy evaluation; keeps the best policy; confirms a solution on other episodes."""
        self.evaluation = float(self.session.evaluate().mean())
        passed = self.threshold is not None and self.evaluation >= self.threshold
        if self.config.until_solved and passed:
            self.attempts += 1
            mean = float(self.session.evaluate(self.attempts).mean())
            if mean >= self.threshold:
                self.solved, self.mean_return, self.best = True, mean, self.evaluation
                self._save_policy(self.policy, self.best)
                return
        if self.best is None or self.evaluation >= self.best:
            self.best = self.evaluation
            self._save_policy(self.policy, self.best)

    def _conclude(self):
        """Final evaluation of the best policy, on episodes that chose nothing."""
        if not self.solved and self.best is None:
            self._evaluate()
        if not self.solved:
            agent, _ = load_policy(self.policy)
            self.mean_return = float(self.session.evaluate(self.attempts + 1, agent).mean())
            self.solved = self.threshold is not None and self.mean_return >= self.threshold

    @property
    def seconds(self):
        return self._seconds + time.perf_counter() - self._started

    @property
    def device_cycles(self):
        cycles = self.session.device_cycles
        return None if cycles is None else self._cycles + cycles

    def _write_row(self):
        if self._logged == self.session.launches and self.evaluation is None:
            return
        self.log.write(
            {
                "launches": self.session.launches,
                "steps": self.session.agent.steps,
                "episodes": self.episodes,
                "seconds": round(self.seconds, 3),
                "return_mean": _mean(self.returns),
                "evaluation_return": self.evaluation,
                **{name: _mean(values) for name, values in self._measured.items()},
                **self.session.progress(),
                "device_cycles": self.device_cycles,
            }
        )
        self.evaluation, self._logged = None, self.session.launches
        self._measured.clear()

    def _state(self):
        """The progress bar's words."""
        best = "-" if self.best is None else f"{self.best:.0f}"
        actors = "-" if not self.returns else f"{_mean(self.returns):.0f}"
        return f"return {actors}, best greedy {best}, launches {self.session.launches}"

    def _summary(self, interrupted):
        config = self.config
        return {
            "env": config.env,
            "algo": config.algo,
            "card": self.card,
            "learner": config.learner,
            "seed": config.seed,
            "steps": self.session.agent.steps,
            "launches": self.session.launches,
            "updates": self.session.agent.updates,
            "episodes": self.episodes,
            "seconds": round(self.seconds, 3),
            "mean_return": self.mean_return,
            "evaluation_episodes": config.evaluation_episodes,
            "reward_threshold": self.threshold,
            "solved": self.solved,
            "interrupted": interrupted,
            "device_cycles": self.device_cycles,
            "config": json.loads(config.to_json()),
        }

    def _save_policy(self, file, score):
        config = self.config
        save_policy(file, self.session.agent, algo=config.algo, env=config.env, score=score)

    _KEPT = ("episodes", "attempts", "best", "solved", "mean_return")

    def _save(self):
        run = {name: getattr(self, name) for name in self._KEPT}
        run |= {"returns": list(self.returns), "seconds": self.seconds}
        run |= {"device_cycles": self.device_cycles}
        state = {"session": self.session.state_dict(), "run": run}
        checkpoint.save(self.file, "training", self.config.identity(), state)

    def _restore(self, saved):
        self.session.load_state_dict(saved["session"])
        run = saved["run"]
        for name in self._KEPT:
            setattr(self, name, run[name])
        self.returns.extend(run["returns"])
        self._seconds, self._cycles = run["seconds"], run["device_cycles"] or 0
        if self.policy.exists():  # kept since the checkpoint was written
            self.best = load_policy(self.policy)[1]["score"]


def _mean(values):
    return float(np.mean(values)) if len(values) else None

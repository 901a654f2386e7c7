"""One run of a claim in its folder: whether it is finished, and a program that begins it or goes
on with it: ``python -m bench.learning.job JSON``.

``asked.json`` is what the folder's run was asked for: the whole config, the kernel's fields, the
peer's hyperparameters, how it is judged. ``result.json`` is written at the end. A run that was
asked for the same is not repeated, and goes on if it was cut; any other begins anew. The sources of
rlfabric are not among what is compared, for a run is of hours, and a word in a docstring is no
reason for another: their digest is kept, and ``job.stale`` says where it is not today's.
"""

import hashlib
import json
import shlex
import sys
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path

from rich.console import Console

from bench.learning.peers import PEERS
from host.checkpoint import CheckpointError, atomic_write
from host.commands.exits import report
from host.extras import install
from host.interrupt import INTERRUPTED, leave, stop_requests, terminating
from host.settings import override
from host.train.folder import CHECKPOINT
from host.train.log import read_progress
from host.train.start import run as train
from host.train.summary import versions
from host.train.train_config import preset
from sim.lock import locked
from sim.tools import MissingTool

__all__ = ["JUDGING_SEED", "Job", "jobs_of", "perform"]

#: of the first episode that judges: above every seed that a run takes
JUDGING_SEED = 1 << 32

_ROOT = Path(__file__).parents[2]
_SOURCES = ("hw", "sim", "boards", "host")
_ASKED, _RESULT = "asked.json", "result.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run: see ``bench.learning.claims`` for what the fields are.

    Attributes
    ----------
    name : str
    folder : str
    """

    name: str
    folder: str
    algo: str
    env: str
    learner: str
    preset: str | None
    fields: dict
    kernel: dict
    board: str
    peer: str | None
    seed: int
    episodes: int | None

    @property
    def config(self):
        """The run's config; ValueError for a field that is not one, or out of its range."""
        base = preset(self.algo, self.learner, self.preset, self.env)
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.fields.items()
        }
        return override(base, values | {"seed": self.seed})

    @property
    def plan(self):
        """The peer's plan, or None; ValueError where it has none for such a run."""
        return PEERS[self.peer](self.config) if self.peer else None

    @cached_property
    def asked(self):
        """JSON values that say what the run is."""
        values = {"config": self.config.to_dict(), "episodes": self.episodes}
        if self.peer:
            values |= {"peer": self.peer, "plan": asdict(self.plan)}
        else:
            values |= {"card": "model", "board": self.board, "kernel": self.kernel}
        return json.loads(json.dumps(values))

    def check(self):
        """ValueError as of ``config`` and ``plan``, before anything is run."""
        _ = self.asked

    @property
    def result(self):
        """What the finished run has left: ``mean_return``, ``steps``, ``updates``, ``seconds``,
        ``curve``, a list of (environment steps, greedy return), ``versions`` and ``sources``; None
        if it is not finished, or was asked for something else."""
        found = _read(Path(self.folder) / _RESULT)
        return found if found and found["asked"] == self.asked else None

    @property
    def stale(self):
        """Whether the folder's run is of other sources than there are now; a peer's never is."""
        found = _read(Path(self.folder) / _ASKED)
        return bool(found) and found["sources"] != self._sources

    @property
    def _sources(self):
        return None if self.peer else _digest()

    @property
    def cut(self):
        """Whether what was asked for has begun, and not ended."""
        found = _read(Path(self.folder) / _ASKED)
        return bool(found) and found["asked"] == self.asked and self.result is None

    def forget(self):
        """The folder's run counts no more, neither as finished nor as cut."""
        for name in (_RESULT, _ASKED):
            (Path(self.folder) / name).unlink(missing_ok=True)

    def begin(self):
        """The next run in the folder is this one."""
        self.forget()
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        self._write(_ASKED, {"asked": self.asked, "sources": self._sources})

    def end(self, result):
        """The run is finished."""
        began = _read(Path(self.folder) / _ASKED)
        self._write(_RESULT, {**began, "versions": versions(), **result})

    def _write(self, name, values):
        text = json.dumps(values, indent=1) + "\n"
        atomic_write(Path(self.folder) / name, lambda file: file.write(text.encode()))

    @property
    def command(self):
        """The same run by ``rlfabric train``, without the seed; None where it has no such one."""
        if self.peer or "learner" in self.fields:
            return None
        fields = dict(self.fields)
        words = ["rlfabric", "train", self.algo, "--env", self.env, "--learner", self.learner]
        words += ["--preset", self.preset] if self.preset else []
        words += ["--board", self.board] if self.board != "u200" else []
        words += ["--until-solved"] if fields.pop("until_solved", False) else []
        words += ["--steps", str(fields.pop("steps"))] if "steps" in fields else []
        settings = fields | {f"kernel.{name}": value for name, value in self.kernel.items()}
        for name, value in settings.items():
            text = ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
            words += ["--set", f"{name}={text}"]
        return shlex.join(words)


def jobs_of(claim, runs):
    """``{(kind's name, seed): Job}`` of a Claim, below the folder ``runs``."""
    shared = {"until_solved": True} if claim.until_solved else {}
    shared |= {} if claim.threshold is None else {"threshold": claim.threshold}
    found = {}
    for kind in claim.kinds:
        for seed in range(claim.seeds):
            name = f"{claim.name}/{kind.name}-{seed}"
            found[kind.name, seed] = Job(
                name=name,
                folder=str(Path(runs) / name),
                algo=claim.algo,
                env=claim.env,
                learner=kind.learner,
                preset=kind.preset,
                fields={**shared, **claim.fields, **kind.fields},
                kernel=kind.kernel,
                board=kind.board,
                peer=kind.peer,
                seed=seed,
                episodes=claim.episodes,
            )
    return found


def perform(job, console):
    """Begin the run of ``job``, or go on with it; the exit code: 0, 130 if it was interrupted, or 1
    if a file of it could not be written. RuntimeError if another process is at it."""
    Path(job.folder).parent.mkdir(parents=True, exist_ok=True)
    with locked(Path(f"{job.folder}.lock")):
        return _perform(job, console)


def _perform(job, console):
    if job.result is not None:  # while this one was waiting to begin
        return 0
    resume = job.cut
    if not resume:
        job.begin()
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
        from host.commands.playing import play

        mean = float(play(folder, episodes=job.episodes, seed=JUDGING_SEED).returns.mean())
    curve = [(row["steps"], row["evaluation_return"]) for row in read_progress(folder)]
    return 0, {
        "mean_return": mean,
        **{name: done.summary[name] for name in ("steps", "updates", "seconds")},
        "curve": [point for point in curve if point[1] is not None],
    }


@cache
def _digest():
    """Of all sources that decide what a run computes."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(_ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _read(path):
    """What the file holds; None where there is none, or none of JSON."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def main():
    """Perform the job that the command line says in JSON."""
    try:
        with terminating():
            job = Job(**json.loads(sys.argv[1]))
            code = perform(job, Console(width=200))
    except (KeyboardInterrupt, Exception) as error:
        code = report(error)
    leave(code)


if __name__ == "__main__":
    from bench.learning.job import main as named  # errors that are raised here go by its name

    named()

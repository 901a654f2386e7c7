"""One run of a claim: its request, and whether its folder has it, finished or interrupted.

``asked.json`` is the request of the folder's run: the whole config, the kernel's fields, the peer's
hyperparameters, how it is judged. ``result.json`` is written at the end. A finished run with the
same request is not repeated, and an interrupted one continues; any other run begins anew. Both
files have the date at which the run began and the commits that it has run at; ``changes.py`` says
which changes of the code since then make it an old run.
"""

import json
import shlex
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from bench.learning.peers import PEERS
from bench.provenance import commit_for, now
from host.checkpoint import write_text
from host.environments.environment import has_continuous_actions
from host.runs.preset import preset
from host.runs.run_log import read_progress
from host.runs.summary import versions
from host.settings import override
from hw.errors import UsageError

__all__ = ["JUDGING_SEED", "Job", "comparable", "jobs_of"]

#: seed of the first episode that judges, above all seeds of a run
JUDGING_SEED = 1 << 32

_ASKED, _RESULT = "asked.json", "result.json"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of a claim.

    Parameters
    ----------
    name : str
        Path of its folder below the folder of all runs.
    folder : str
        Where its files are.
    algo, env : str
        The algorithm, and the environment's id.
    learner, preset : str
        The defaults of its config, as for ``host.runs.preset.preset``.
    fields, kernel : dict
        Fields of the run's config, and of the kernel's config, that differ from the defaults.
    board : str
        The board whose kernel and memory it has.
    peer : str or None
        The plan of another program that learns instead, a key of ``bench.learning.peers.PEERS``.
    seed : int
        The run's seed.
    continuous, episodes, training, falls
        What the environment's actions are, and how the run is judged, as in
        ``bench.learning.claim.Claim``.
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
    continuous: bool | None = None
    training: bool = False
    falls: str | None = None

    @property
    def config(self):
        """The run's config; ValueError for a field that is not one, or out of its range."""
        base = preset(
            self.algo,
            self.learner,
            self.preset,
            self.env,
            self.fields.get("design", "own"),
            continuous=self.continuous,
        )
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.fields.items()
        }
        return override(base, values | {"seed": self.seed})

    @property
    def plan(self):
        """The ``Plan`` by which the peer learns; None if the run has no peer. ValueError if the
        peer has no plan for such a run."""
        return PEERS[self.peer](self.config) if self.peer else None

    @cached_property
    def asked(self):
        """The request of this run, a dict of JSON values: two runs with equal requests are the same
        run."""
        values = {"config": comparable(self.config), "episodes": self.episodes}
        values |= {"training": True} if self.training else {}
        values |= {"falls": self.falls} if self.falls else {}
        if self.peer:
            values |= {"peer": self.peer, "plan": asdict(self.plan)}
        else:
            values |= {"card": "model", "board": self.board, "kernel": self.kernel}
        return json.loads(json.dumps(values))

    def check(self):
        """Raises the ValueError of ``config`` or ``plan``, if there is one, before a run begins.

        ValueError too if ``continuous`` is not what the environment says, which is made for it.
        """
        _ = self.asked
        if self.continuous is None:
            return
        found = has_continuous_actions(self.env)
        if found != self.continuous:
            raise UsageError(
                f"continuous must be {found} for {self.env}, as its actions are, not "
                f"{self.continuous}"
            )

    @property
    def result(self):
        """The result of the finished run: ``mean_return``, ``steps``, ``updates``, ``seconds``,
        ``curve``, a list of (environment steps, return), ``versions``, ``commits``, ``begun`` and
        ``date``; None if it is not finished, or had another request."""
        found = _read(Path(self.folder) / _RESULT)
        return found if self.is_mine(found) else None

    def began(self, folder):
        """Whether ``folder``, another one than the job's own, has a run with the same request."""
        return self.is_mine(_read(Path(folder) / _ASKED))

    def is_mine(self, found):
        """Whether ``found`` has the request of this run; False for None.

        ``found`` is the JSON value of a run's ``asked.json`` or ``result.json``, or its record.
        Fields that its config did not have yet count as their defaults.
        """
        if not found:
            return False
        asked = dict(found["asked"])
        try:
            asked["config"] = comparable(self.config.from_dict(asked["config"]))
        except (TypeError, ValueError):
            return False
        return json.loads(json.dumps(asked)) == self.asked

    @property
    def begun(self):
        """What ``begin`` has written of this run, finished or not; None if the folder has none, or
        had another request."""
        found = _read(Path(self.folder) / _ASKED)
        return found if self.is_mine(found) else None

    @property
    def cut(self):
        """Whether the folder has this run, begun but not finished."""
        return self.begun is not None and self.result is None

    @property
    def so_far(self):
        """The result so far of an interrupted run, if it is judged by its training: a dict as
        ``result`` gives, with ``unfinished`` True. None for other runs, or if no episode has ended
        yet."""
        if not (self.training and self.cut and (Path(self.folder) / "progress.csv").exists()):
            return None
        rows = [row for row in read_progress(self.folder) if row["return_mean"] is not None]
        if not rows:
            return None
        return {
            **self.begun,
            "date": now(),
            "unfinished": True,
            "mean_return": rows[-1]["return_mean"],
            "steps": rows[-1]["steps"],
            "seconds": rows[-1]["seconds"],
            "curve": [(row["steps"], row["return_mean"]) for row in rows],
        }

    def forget(self):
        """Removes ``asked.json`` and ``result.json``, so that the folder's run counts neither as
        finished nor as interrupted."""
        for name in (_RESULT, _ASKED):
            (Path(self.folder) / name).unlink(missing_ok=True)

    def begin(self):
        """Forgets the folder's old run, and writes this run's request as ``asked.json``.

        UsageError, as in ``bench.provenance.commit_for``, before anything is forgotten.
        """
        commits = [commit_for(self.folder)]
        self.forget()
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        self._write(_ASKED, {"asked": self.asked, "commits": commits, "begun": now()})

    def resume(self):
        """Adds today's commit to the commits of the interrupted run; UsageError as in ``begin``."""
        commits = dict.fromkeys([*self.begun["commits"], commit_for(self.folder)])
        self._write(_ASKED, {**self.begun, "commits": list(commits)})

    def end(self, result):
        """Writes ``result``, a dict of the finished run's numbers, as ``result.json``, together
        with the request, versions, commits and dates."""
        began = _read(Path(self.folder) / _ASKED)
        self._write(_RESULT, {**began, "date": now(), "versions": versions(), **result})

    def _write(self, name, values):
        write_text(Path(self.folder) / name, json.dumps(values, indent=1) + "\n")

    @property
    def command(self):
        """The text of the command ``rlfabric train`` that does this run, without the seed; None if
        a peer learns, or if no command line has these fields."""
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


def comparable(config):
    """The values of a run's config, as two runs are compared.

    ``evaluation_steps`` of None becomes 100 000, the limit of an evaluation's episode where
    episodes end in training, as in every claim.
    """
    values = config.in_run().to_dict()
    return values | {"evaluation_steps": values["evaluation_steps"] or 100_000}


def jobs_of(claim, runs):
    """``{(kind's name, seed): Job}``: all runs of ``claim``, with their folders below the folder
    ``runs``."""
    shared = {}
    if claim.until_solved:  # else the run does not need the threshold
        shared = {"until_solved": True}
        shared |= {} if claim.threshold is None else {"threshold": claim.threshold}
    found = {}
    for kind in claim.kinds:
        for seed in claim.seeds_of(kind):
            name = f"{claim.name}/{kind.name}-{seed}"
            found[kind.name, seed] = Job(
                name=name,
                folder=str(Path(runs) / name),
                algo=claim.algo,
                env=kind.env or claim.env,
                learner=kind.learner,
                preset=kind.preset,
                fields={**shared, **claim.fields, **kind.fields},
                kernel=kind.kernel,
                board=kind.board,
                peer=kind.peer,
                seed=seed,
                continuous=claim.continuous,
                episodes=claim.episodes,
                training=claim.training,
                falls=claim.falls,
            )
    return found


def _read(path):
    """The JSON value of a file; None if there is no such file, or no JSON in it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None

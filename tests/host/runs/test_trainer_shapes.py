"""``rlfabric train FILE.py:CLASS`` for every shape of a trainer's state: a run that is interrupted
and resumed ends with the files of one that is not, with actors too; or the trainer is refused by
name."""

import re
import sys
from types import MappingProxyType

import gymnasium
import numpy as np
import pytest

from host import checkpoint
from host.actors.actor_collectors import COLUMNS
from host.agents.registry import ALGORITHMS
from host.runs import records
from host.runs.run_log import read_progress
from host.runs.session import Session
from host.trainers.value_kinds import same
from tests.host.short_training import sigint
from tests.host.trainers.trainer_shapes import REFUSED, REFUSED_LATER, SHAPES, written

ENV, EPISODE, ENVS = "rlfabric-tests/Bend-v0", 6, 4
#: environment steps of a launch
LAUNCH = ENVS * EPISODE
ACTORS = "--actors", 2, "--inline"
#: columns of progress.csv that are measured times, or follow from them
TIMES = re.compile("second|_s$|idle_actors")


class Bend(gymnasium.Env):
    """All episodes begin alike, have 6 steps, and follow from their actions alone. So a resumed
    run, whose environments begin new episodes, has those of an uninterrupted one, if it was
    interrupted where all episodes end."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.x = 0, np.array([0.5, -0.5, 0.25, 0], np.float32)
        return self.x.copy(), {}

    def step(self, action):
        self.time += 1
        self.x = np.roll(self.x, 1)
        self.x[action] = np.clip(0.5 * self.x[action] + 0.25 * (action - 1), -1, 1)
        self.x[3] = self.time / EPISODE
        return self.x.copy(), float(self.x[0] - self.x[2]), False, self.time == EPISODE, {}


gymnasium.register(ENV, Bend)


@pytest.fixture
def train(run, monkeypatch, tmp_path):
    """``train(algorithm, out, *words, signals={})``: what ``run`` returns for a short training. In
    launch ``number`` the process gets ``signals[number]`` signals. The trainer's file is imported
    again, as in a process of its own."""
    settings = dict(env_count=ENVS, steps_per_launch=EPISODE, capacity=256, learning_starts=64)
    settings |= dict(batch_size=8, updates_per_launch=3, n_step=3, evaluation_episodes=2, gamma=0.5)
    every = dict(log=2, evaluation=4, checkpoint=5)
    settings |= {f"{name}_interval_steps": LAUNCH * count for name, count in every.items()}
    told = [f"--env={ENV}", "--learner=cpu", "--memory=tree", "--seed=3", f"--steps={LAUNCH * 20}"]
    told += [f"--set={name}={value}" for name, value in settings.items()]
    iterate = Session.iterate

    def train(algorithm, out, *words, signals=MappingProxyType({})):
        for known in (ALGORITHMS, sys.modules):
            for name in [name for name in known if name.startswith(str(tmp_path))]:
                del known[name]

        def struck(session):
            for _ in range(signals.get(session.launches + 1, 0)):
                sigint()
            return iterate(session)

        with monkeypatch.context() as patched:
            patched.setattr(Session, "iterate", struck)
            patched.setattr(records, "plot_returns", lambda out, **words: out)  # takes seconds
            return run("train", algorithm.name, f"--out={tmp_path / out}", *told, *words)

    return train


def files(folder):
    """best.npz, the parts of checkpoint.npz, progress.csv: all but times."""
    config, state = checkpoint.load(folder / "checkpoint.npz", "training")
    for name in ("seconds", "phases"):
        del state["run"][name]
    rows = [
        {name: value for name, value in row.items() if not TIMES.search(name)}
        for row in read_progress(folder)
    ]
    return {"best": (folder / "best.npz").read_bytes(), "config": config} | state | {"rows": rows}


def check(train, tmp_path, name, *words):
    """Ends of an uninterrupted run; of one that is interrupted in launch 10, goes on, is killed in
    launch 17, and goes on after its checkpoint of launch 15; with actors also of a second run."""
    algorithm = written(tmp_path, SHAPES[name])
    code, _, said = train(algorithm, "whole", *words)
    assert code == 0, said
    whole = files(tmp_path / "whole")
    assert whole["session"]["updates"] > 40 and len(whole["rows"]) == 10

    code, out, said = train(algorithm, "broken", *words, signals={10: 1})
    assert code == 130 and f"Interrupted at step {10 * LAUNCH};" in out, said
    code, out, said = train(algorithm, "broken", *words, "--resume", signals={17: 2})
    assert code == 130 and "Interrupted at" not in out, said
    code, _, said = train(algorithm, "broken", *words, "--resume")
    assert code == 0, said
    broken = files(tmp_path / "broken")

    if words:
        assert train(algorithm, "again", *words)[0] == 0
        assert_same(whole, files(tmp_path / "again"))
        # Seeds of actors that are lost later, and means since the last row, are not continued.
        assert broken["session"]["collector"].pop("generations") == [2, 2]
        assert whole["session"]["collector"].pop("generations") == [0, 0]
        for row in (*whole["rows"], *broken["rows"]):
            for column in COLUMNS:
                row.pop(column, None)
    assert_same(whole, broken)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for part in one:
        assert same(one[part], other[part]), part


@pytest.mark.parametrize("name, words", [("numbers", ()), ("acting", ACTORS)])
def test_a_run_that_is_broken_off_twice(train, tmp_path, name, words):
    check(train, tmp_path, name, *words)


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ACTORS], ids=["one process", "actors"])
@pytest.mark.parametrize("name", SHAPES)
def test_each_shape(train, tmp_path, name, words):
    check(train, tmp_path, name, *words)


def check_refused(train, tmp_path, refused, name, words, *, stepped):
    """A line before the first step, or after it in launch 3 or 4 and not at an evaluation or
    checkpoint; no policy, no checkpoint."""
    parts, message = refused[name]
    words = (
        *words,
        f"--set=evaluation_interval_steps={LAUNCH * 20}",
        f"--set=checkpoint_interval_steps={LAUNCH * 20}",
    )
    code, _, said = train(written(tmp_path, parts), "run", *words)
    assert code == 2 and said.count("\n") == 1, said
    assert re.match(f"rlfabric: {message}", said), said
    assert not {path.name for path in tmp_path.rglob("*.npz")} - (
        {"last.npz"} if stepped else set()
    )
    path = tmp_path / "run" / "progress.csv"
    rows = read_progress(path.parent) if path.exists() else []
    assert [row["launches"] for row in rows] == [2] * stepped


@pytest.mark.parametrize("words", [(), ACTORS], ids=["one process", "actors"])
def test_a_refused_trainer_is_one_line(train, tmp_path, words):
    check_refused(train, tmp_path, REFUSED, "hidden", words, stepped=False)


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ACTORS], ids=["one process", "actors"])
@pytest.mark.parametrize("name", REFUSED)
def test_each_refused_at_the_start(train, tmp_path, name, words):
    check_refused(train, tmp_path, REFUSED, name, words, stepped=False)


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ACTORS], ids=["one process", "actors"])
@pytest.mark.parametrize("name", REFUSED_LATER)
def test_each_refused_after_a_step(train, tmp_path, name, words):
    check_refused(train, tmp_path, REFUSED_LATER, name, words, stepped=True)

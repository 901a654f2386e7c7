"""bench.solve.rltools_side: what RLtools is asked, and how its steps are counted and judged."""

import importlib
import importlib.metadata
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bench.solve import sides
from bench.solve.seed_process import perform
from bench.solve.seed_records import measure
from bench.solve.sides import TASKS, request
from hw.errors import MissingTool

MODULE = "bench.solve.rltools_side"
BY_NAME = {task.name: task for task in TASKS}


class Fake:
    """Stands for the package: a library whose states step environments of one action 3.0."""

    def __init__(self):
        self.asked, self.states = {}, []

    def __getattr__(self, name):
        def compiled(new_env, **arguments):
            self.asked = {"function": name, **arguments}
            return SimpleNamespace(State=lambda seed: self._state(new_env, seed))

        return compiled

    def _state(self, new_env, seed):
        env = new_env()
        state = SimpleNamespace(seed=seed, stepped=0, first=env.unwrapped.state.tolist(), obs=[])

        def step():
            state.stepped += 1
            return False

        def action(obs):
            assert obs.dtype == np.float32 and obs.shape == (3,)
            state.obs.append(obs[0])
            return np.array([3.0], np.float32)

        state.step, state.action = step, action
        self.states.append(state)
        return state


@pytest.fixture
def fake(monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "1" if name == "mkl" else version(name)
    )
    monkeypatch.setitem(sys.modules, "rltools", found := Fake())
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield found
    sys.modules.pop(MODULE, None)


def side(task, seed=3):
    return importlib.import_module(MODULE).RLtools(request(BY_NAME[task], "rltools"), seed)


class Watch:
    """Counts, and ends after ``most`` calls."""

    def __init__(self, most):
        self.most, self.restarted, self.told, self.policy = most, 0, [], None

    def restart(self):
        self.restarted += 1

    def __call__(self, steps, updates, act):
        self.told.append((steps, updates))
        with act as self.policy:
            return len(self.told) < self.most


@pytest.mark.parametrize("task", ["sac-Pendulum-v1", "td3-Pendulum-v1"])
def test_replay_learns_at_each_step_after_the_warm_up(fake, task):
    """100 random steps; from then on one gradient step each."""
    program, watch = side(task), Watch(102)
    program.train(watch)
    assert fake.asked == dict(
        function=task[:3].upper(), enable_evaluation=False, interface_name="solve",
        N_ENVIRONMENTS=1, STEP_LIMIT=20_000, N_WARMUP_STEPS=100,
    )  # fmt: skip
    assert watch.told[98:] == [(99, 0), (100, 0), (101, 1), (102, 2)] and watch.restarted == 1
    program.warm()
    assert (fake.states[-1].stepped, fake.states[-1].seed) == (101, 3)


def test_ppo_counts_rollouts_of_all_environments(fake):
    """4096 steps each, whose 10 epochs have 64 minibatches of 64; the last may not go beyond the
    steps that are allowed."""
    program, watch = side("ppo-Pendulum-v1"), Watch(1000)
    program.train(watch)
    assert fake.asked["function"] == "PPO" and fake.asked["TOTAL_STEP_LIMIT"] == 300_000
    assert watch.told[:2] == [(4096, 640), (8192, 1280)]
    assert len(watch.told) == 300_000 // 4096


def test_environments_follow_from_the_seed(fake):
    """RLtools resets without one; the short run before takes nothing from the training."""
    one, other = (side("sac-Pendulum-v1", seed=seed) for seed in (3, 4))
    one.train(Watch(1))
    one.warm()
    one.train(Watch(1))
    other.train(Watch(1))
    first, warm, again, beside = (state.first for state in fake.states)
    assert first == warm == again != beside


def test_actions_are_within_the_bounds_and_rows_are_single(fake):
    program, watch = side("sac-Pendulum-v1"), Watch(1)
    program.train(watch)
    rows = np.arange(6, dtype=np.float64).reshape(2, 3)
    assert watch.policy.act(rows, greedy=True).tolist() == [[1.0], [1.0]]
    assert fake.states[-1].obs == [0.0, 3.0]


@pytest.mark.parametrize("missing", ["rltools", "mkl"])
def test_a_missing_package_is_told(fake, monkeypatch, missing):
    """Without MKL, RLtools would run, ten times slower than it is."""
    version = importlib.metadata.version

    def found(name):
        if name == missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", found)
    if missing == "rltools":
        monkeypatch.setitem(sys.modules, "rltools", None)
    asked = request(BY_NAME["sac-Pendulum-v1"], "rltools") | {"algo": "sac"}
    with pytest.raises(MissingTool, match=rf"^rltools must be installed .*\[rltools\].*{missing}"):
        perform(asked, 0, 1.0)


@pytest.mark.long  # it compiles itself
@pytest.mark.parametrize("algo", ["sac", "td3", "ppo"])
def test_the_real_package_trains_and_is_judged(tmp_path, monkeypatch, algo):
    pytest.importorskip("rltools", reason="pip install -e .[rltools]")
    monkeypatch.setattr("bench.provenance.changed", lambda: [])
    task = replace(
        BY_NAME[f"{algo}-Pendulum-v1"], sides=("rltools",), threshold=-1e9, interval=200, episodes=2
    )
    monkeypatch.setattr(sides, "TASKS", [task])
    monkeypatch.setattr(sides.chosen, "__defaults__", ([task],))
    assert not measure([], seeds=1, folder=tmp_path)
    record = json.loads((tmp_path / f"{task.name}/rltools-0.json").read_text())
    each = 4096 if algo == "ppo" else 200
    assert [point[:2] for point in record["curve"]] == [
        [each * n, 640 * n if algo == "ppo" else each * n - 100] for n in (1, 2)
    ]
    assert record["solved"] and 0 < record["seconds"] < 60

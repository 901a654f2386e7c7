"""An environment of which only one instance may exist at a time: a robot, a licence, a port."""

import json
import warnings
from contextlib import closing

import gymnasium
import numpy as np
import pytest

import rlfabric
from host.agents.evaluation import Copies, evaluate
from host.agents.registry import find
from host.runs.request import request
from hw.errors import UsageError

NAME = "rlfabric-tests/Alone-v0"


class Alone(gymnasium.Env):
    """Counts its steps in the observation; an episode has ``length`` of them. ``live`` is how many
    instances there are, ``seeds`` those of all episodes."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    live, seeds, ended, length = 0, [], 0, 20

    def __init__(self):
        if Alone.live:
            raise RuntimeError("port in use")
        Alone.live += 1

    def close(self):
        Alone.live -= 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        Alone.seeds.append(seed)
        self.taken = 0
        return self._obs, {}

    def step(self, action):
        self.taken += 1
        Alone.ended += self.taken == Alone.length
        return self._obs, 1.0, False, self.taken >= Alone.length, {}

    @property
    def _obs(self):
        return np.full(2, self.taken / 100, np.float32)


gymnasium.register(NAME, entry_point=Alone)
SMALL = dict(env_count=1, hidden=(8,), evaluation_interval_steps=150, log_interval_steps=50)
REPLAY = dict(batch_size=8, learning_starts=32, capacity=256, n_step=3)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name, value in (("live", 0), ("seeds", []), ("ended", 0), ("length", 20)):
        monkeypatch.setattr(Alone, name, value)
    yield
    assert Alone.live == 0, "all are closed"


def trained(algo, out, callback=None, **config):
    own = SMALL | (REPLAY if algo == "ddpg" else dict(steps_per_launch=16, batch_size=8)) | config
    told = dict(learner="cpu", memory="tree") if algo == "ddpg" else {}
    told |= dict(callback=callback)
    return rlfabric.train(algo, NAME, steps=400, out=out, progress=False, config=own, **told)


@pytest.mark.parametrize("algo", ["ddpg", "ppo"])
def test_evaluated_where_it_trains(tmp_path, algo):
    """Evaluations have their own seeds; training begins new episodes after each, and loses none of
    its experiences."""
    run = trained(algo, tmp_path, evaluation_on="training", evaluation_episodes=3)
    assert run.mean_return == 20.0 and run.steps >= 400
    greedy = [row["evaluation_return"] for row in run.progress if row["evaluation_return"]]
    assert len(greedy) >= 2
    seeded = [seed for seed in Alone.seeds if seed is not None]
    played = list(range(seeded[1], seeded[1] + 3))
    assert seeded[1:4] == seeded[5:8] == played, "the same episodes each time"
    assert len({seeded[0], seeded[4], *played}) == 5, "and new ones for training"
    if algo == "ddpg":
        assert run.progress[-1]["fill"] >= 256  # all but those of the last launches


def test_without_evaluation_the_last_policy_is_kept(tmp_path):
    """Also before the end, wherever others evaluate."""
    there = []
    run = trained("ddpg", tmp_path, lambda _: there.append((tmp_path / "best.npz").exists()),
                  evaluation_episodes=0)  # fmt: skip
    assert not there[0] and there[-1]
    assert run.mean_return is None and not run.solved and not run.interrupted
    assert all(row["evaluation_return"] is None for row in run.progress)
    policy = rlfabric.load_policy(tmp_path)
    assert policy.score is None
    assert json.loads((tmp_path / "summary.json").read_text())["updates"] > 0
    found = rlfabric.evaluate(policy, NAME, episodes=2, copies=1)
    assert found.mean == 20.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            dict(evaluation_episodes=0, until_solved=True),
            "evaluation_episodes .* with until_solved",
        ),
        (
            dict(evaluation_episodes=0, threshold=3.0),
            "evaluation_episodes must be .* with threshold",
        ),
        (dict(evaluation_on="training"), "env_count must be 1 with evaluation_on training, not 4"),
        (
            dict(evaluation_on="training", env_count=1, actors=1),
            "actors must be 0 with evaluation_",
        ),
        (dict(evaluation_on="here"), "evaluation_on must be one of copies, training, not 'here'"),
        (dict(evaluation_episodes=-1), "evaluation_episodes must be an integer in 0..4096, not -1"),
    ],
)
def test_refused(settings, said):
    with pytest.raises(UsageError, match=said):
        request("dqn", options={}, settings=dict(env_count=4) | settings)


def test_rounds_evaluate_on_copies():
    with pytest.raises(UsageError, match="evaluation_on must be copies with rounds"):
        request("a3c", options={}, settings=dict(evaluation_on="training"))


def test_an_environment_without_an_end_is_said_early(monkeypatch):
    """By default 2000 steps an episode as long as none has ever ended, in training neither."""
    monkeypatch.setattr(Alone, "length", 1 << 40)
    policy, seen = type("P", (), {"act": lambda _, obs, **__: np.zeros((len(obs), 1))})(), []
    with closing(Copies(NAME, 2, find("ddpg"), most=1)) as copies:
        with pytest.warns(RuntimeWarning) as said:
            found = evaluate(policy, copies, seed=0, progress=lambda *how: seen.append(how))
        assert found.tolist() == [2000, 2000] and len(said) == 2
        assert "none does, each is broken off after 2000 (evaluation_steps)" in str(said[0].message)
        assert seen[0] == (0, 200) and seen[-1] == (1, 4000)
        copies.ended = True
        monkeypatch.setattr("host.agents.evaluation._LIMIT", 2500)
        with pytest.warns(RuntimeWarning, match="2 episodes .* within 2500 steps"):
            assert evaluate(policy, copies, seed=0).tolist() == [2500, 2500]


@pytest.mark.parametrize(("steps", "warned"), [(31, True), (32, True), (33, False)])
def test_a_run_that_can_never_learn_says_so(tmp_path, steps, warned):
    """A launch learns from the steps before it: 32 of them, two launches of 16, in the third."""
    config = SMALL | REPLAY | dict(steps_per_launch=16, n_step=1, evaluation_episodes=0)
    told = dict(learner="cpu", memory="tree", out=tmp_path, progress=False, config=config)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = rlfabric.train("ddpg", NAME, steps=steps, **told)
    texts = [str(each.message) for each in said if "learning_starts" in str(each.message)]
    assert bool(texts) == warned == (run.summary["updates"] == 0)
    assert all(text.startswith("steps must be above 32 (learning_starts") for text in texts)

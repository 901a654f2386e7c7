"""A short run of each algorithm on each learner: what there is in progress.csv is measured, what is
measured is in TensorBoard, and its summary is the same run again."""

import itertools
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from rich.console import Console

from host.agents.registry import ALGORITHMS
from host.phases import PHASES
from host.runs import start_run as module
from host.runs.preset import preset
from host.runs.request import request
from host.runs.run_log import TAGS, read_progress
from tests.host.corridor import NAME
from tests.host.event_files import scalars
from tests.host.experience import kind_of

SHARED = ["launches", "steps", "episodes", "seconds", "return_mean", "length_mean"]
SHARED += ["evaluation_return", "device_cycles"]
SECONDS = [f"seconds_{name}" for name in PHASES]
CASES = [(algo, learner) for algo, each in ALGORITHMS.items() for learner in each.learners]

#: What an algorithm has besides, in the order of the file.
ROUNDS = ["learning_rate", "policy_loss", "value_loss", "entropy", "value"]
OFF = ["td_error", "exploration", "beta", "learning_rate", "fill", "clipped_priorities"]
CARD = ["clipped_weights", "clipped_activations", "clipped_gradients"]
OWN = {
    ("dqn", "cpu"): [*OFF, "loss"],
    ("dqn", "card"): [*OFF, *CARD, "loss"],
    ("ddpg", "cpu"): [*OFF, "loss"],
    ("ddpg", "card"): [*OFF, *CARD, "loss"],
    ("td3", "cpu"): [*OFF, "loss"],
    ("td3", "card"): [*OFF, *CARD, "loss"],
    # What it explores by is learned.
    ("sac", "cpu"): [
        "td_error", "beta", "learning_rate", "fill", "clipped_priorities", "loss", "entropy",
        "entropy_coefficient",
    ],
    ("ppo", "cpu"): [
        "learning_rate", "reward_mean", "reward_deviation", "value_mean", "value_deviation",
        "clipped", "saturated", "loss", "policy_loss", "value_loss", "entropy", "kl",
        "clip_fraction", "explained_variance",
    ],
    ("a3c", "cpu"): ROUNDS,
    ("a3c", "card"): ROUNDS,
}  # fmt: skip


def short(algo, learner):
    """Of CartPole's episodes or a Corridor's, which are shorter."""
    algorithm = ALGORITHMS[algo]
    config = preset(algo, learner, "heppo5" if algo == "ppo" else None)
    env = "CartPole-v1" if algorithm.actions == (Discrete,) else NAME
    every = dict(log_interval_steps=64, evaluation_interval_steps=200, evaluation_episodes=1)
    kind = kind_of(algorithm)
    run = every | dict(env=env, steps=512, env_count=4) | kind.run
    agent = dict(hidden=(8, 6)) | kind.agent
    return replace(config, **run, agent=replace(config.agent, **agent))


@pytest.mark.parametrize("algo, learner", CASES)
def test_nan_of_the_environment(tmp_path, monkeypatch, algo, learner):
    """user D8: it is named as such, whatever learns."""
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    config, steps = short(algo, learner), itertools.count()
    kind = type(gymnasium.make(config.env).unwrapped)
    step = kind.step

    def spoilt(self, action):
        obs, *others = step(self, action)
        if next(steps) > 20:
            obs[1] = np.nan
        return obs, *others

    monkeypatch.setattr(kind, "step", spoilt)
    with pytest.raises(ValueError, match=r"^env must give finite observations, not nan \(env"):
        module.run(config, card="model", out=tmp_path / "run", console=Console(quiet=True))


@pytest.mark.filterwarnings("ignore:.* were clipped")
@pytest.mark.parametrize("algo, learner", CASES)
def test_a_run(tmp_path, monkeypatch, algo, learner):
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    config = short(algo, learner)
    module.run(config, card="model", out=tmp_path / "run", console=Console(quiet=True))
    rows, tagged = read_progress(tmp_path / "run"), scalars(tmp_path / "run")
    own, last = OWN[algo, learner], rows[-1]
    assert sorted(last) == sorted(SHARED + SECONDS + own)
    assert [name for name in last if name in own] == own, "the table's first, then the algorithm's"
    told = {name for row in rows for name, value in row.items() if value is not None}
    assert last.keys() - told == {"device_cycles"}, "twins count no clocks"
    others = told - {"steps", "seconds", *SECONDS}
    tags = {TAGS.get(name, f"train/{name}") for name in others}
    tags |= {f"time/{name}" for name in SECONDS} | {"time/fps", "time/time_elapsed"}
    assert {tag for _, tag, _ in tagged} == tags
    assert (512, "time/launches", last["launches"]) in tagged
    if ALGORITHMS[algo].learns_from == "replay":
        assert 0 < last["td_error"] < 1e3 and last["fill"] == 256
    summary = tmp_path / "run" / "summary.json"
    again, kernel = request(algo, options={}, settings={}, file=summary, board="u200")
    assert (again, kernel) == (config, {}), "and nothing of its kernel was set"
    changed, _ = request(algo, options={"seed": 7}, settings={"agent.hidden": "9"}, file=summary)
    assert changed == replace(config, seed=7, agent=replace(config.agent, hidden=(9,)))

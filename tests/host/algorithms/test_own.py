"""docs/adding_an_algorithm.md: an algorithm of one's own is one file and one line; every command
finds it."""

import csv
from dataclasses import dataclass
from typing import Annotated

import pytest
from gymnasium.spaces import Discrete

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import TemporalDifferenceConfig
from host.algorithms.dqn import DQNPolicy
from host.algorithms.network import MLP
from host.algorithms.policy_file import load_policy
from host.algorithms.registry import ALGORITHMS
from host.rules import FRACTION


@dataclass(frozen=True, kw_only=True)
class SarsaConfig(TemporalDifferenceConfig):
    """Expected SARSA: ``y = r + discount sum_a pi(a|s') Q'(s', a)``."""

    hidden: tuple = (8,)
    batch_size: int = 8
    #: Chance of a random action, of the policy that is learned too.
    randomness: Annotated[float, FRACTION] = 0.1


class SarsaPolicy(DQNPolicy):
    def make_networks(self, rng):
        size, count = self.spec.size, self.spec.action_count
        return {"q": MLP(size, count, self.config.hidden, rng=rng)}

    def exploration_at(self, steps):
        return self.config.randomness

    def choose(self, outputs, *, greedy=False, steps=0):
        actions = outputs.argmax(axis=1)
        if not greedy:
            explore = self.rng.random(len(actions)) < self.config.randomness
            actions[explore] = self.rng.integers(self.spec.action_count, size=explore.sum())
        return actions


class SarsaUpdater(Updater):
    def update(self, batch, clock):
        batch, q, chance = self.tensors(batch), self.networks["q"], self.config.randomness
        with torch.no_grad():
            following = q.target(batch["next_obs"])
            value = (1 - chance) * following.max(1).values + chance * following.mean(1)
            wanted = batch["reward"] + batch["discount"] * value
        td = wanted - q(batch["obs"]).gather(1, batch["action"])[:, 0]
        errors = self.check_finite("td_errors", td, clock)
        loss = self.weighted_loss(td, batch["weights"])
        q.backward(loss)
        q.descend(self.config.learning_rate_at(clock.launched))
        self.synchronize(clock)
        return errors, {"loss": loss.item(), "value": value.mean().item()}


SARSA = Algorithm(
    name="sarsa",
    summary="expected SARSA with prioritized replay; discrete actions",
    config=SarsaConfig,
    policy=SarsaPolicy,
    updater=SarsaUpdater,
    actions=(Discrete,),
    columns={"loss": "weighted loss of the TD errors", "value": "value of what follows"},
    defaults=dict(steps=600, env_count=2, learning_starts=50, log_interval_steps=100),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "sarsa", SARSA)


def test_every_command_finds_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr("host.train.run.BUILD_DIRECTORY", tmp_path / "build")
    out = tmp_path / "run"
    code, said, err = run("train", "sarsa", "--out", out, "--set", "randomness=0.2", "--seed", 1)
    assert code == 0 and "mean return" in said, err
    rows = list(csv.DictReader((out / "progress.csv").open()))
    learned = [row for row in rows if row["loss"]]
    assert learned and all(row["value"] and row["exploration"] == "0.2" for row in learned)
    policy, info = load_policy(out / "best.npz")
    assert type(policy) is SarsaPolicy and info["algo"] == "sarsa"
    assert run("evaluate", out, "--episodes", 2)[0] == 0
    code, said, _ = run("show", "sarsa")
    assert code == 0 and "randomness" in said
    assert "expected SARSA" in run("list", "algorithms")[1]
    assert run("train", "sarsa", "--out", out, "--resume", "--set", "randomness=0.2", "--seed", 1,
               "--steps", 700)[0] == 0  # fmt: skip


def test_the_card_does_not_train_it(run, tmp_path):
    code, _, err = run("train", "sarsa", "--learner", "card", "--out", tmp_path)
    assert code == 2 and err == "rlfabric: learner must be cpu for sarsa, not 'card'\n"


def test_its_actions_are_checked(run, tmp_path):
    code, _, err = run("train", "sarsa", "--env", "Pendulum-v1", "--out", tmp_path)
    assert code == 2 and "env must have a Discrete action space for sarsa" in err

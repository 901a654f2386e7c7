"""bench.learning.critic: returns to an episode's end, and a critic that has learned."""

import numpy as np
import pytest

from bench.learning import critic
from host.runs.preset import preset
from host.runs.start_run import run
from host.settings import override


def test_returns():
    """Two environments: one whose episode ends in the second of four steps, one that goes on."""
    rewards = np.array([[1.0, 8], [2, 8], [4, 8], [8, 8]])
    ended = np.array([[0, 0], [1, 0], [0, 0], [0, 0]], bool)
    sums, known = critic.returns(rewards, ended, 0.5)
    assert sums.tolist() == [[2, 15], [2, 14], [8, 12], [8, 8]]
    assert known.tolist() == [[True, False], [True, False], [False, False], [False, False]]


@pytest.mark.long
def test_losses_on_the_same_experiences(tmp_path, monkeypatch):
    """Of a run's first weights, and of the same with another value: for V + b and V - b the losses
    are ``before - 2 b mean(R - V) + b**2`` and ``before + 2 b mean(R - V) + b**2``."""
    monkeypatch.setattr(critic, "_STEPS", 250)
    config = override(
        preset("a3c", "cpu", None, "CartPole-v1"), dict(steps=1000, evaluation_episodes=2)
    )
    run(config, out=tmp_path / "run", card="model")
    load, made, init = critic.load_policy, [], config.algorithm.policy.__init__

    def kept(self, *arguments, **options):
        init(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(config.algorithm.policy, "__init__", kept)
    trained = critic.critic_losses(config, tmp_path / "run")
    assert len(trained) == 2 and trained[0] != trained[1]
    first = {name: network.parameters.copy() for name, network in made[-1].networks.items()}

    def with_value(bias):
        def loaded(path):
            policy, info = load(path)
            for name, network in policy.networks.items():
                network.parameters[...] = first[name]
                network.layers[-1][1][-1] += bias
            return policy, info

        monkeypatch.setattr(critic, "load_policy", loaded)
        return critic.critic_losses(config, tmp_path / "run")

    before, same = with_value(0)
    assert before == pytest.approx(same)
    (one, up), (two, down) = with_value(3), with_value(-3)
    assert one == pytest.approx(before) == two
    assert up + down == pytest.approx(2 * before + 18)
    assert up < before < down

    # Of 250 steps whose episode does not end, all but the last 100 count. Rewards are as in
    # training.
    clipped = override(config, {"reward_clip": 0.5})

    def endless(rewards, ended, gamma):
        assert gamma == config.agent.gamma and ended.any() and (rewards == 0.5).all()
        wanted = np.zeros(rewards.shape)
        wanted[100:150] = 1e6
        return wanted, np.zeros(rewards.shape, bool)

    monkeypatch.setattr(critic, "returns", endless)
    losses = critic.critic_losses(clipped, tmp_path / "run")
    assert losses == pytest.approx([1e12 / 3] * 2, rel=1e-3)

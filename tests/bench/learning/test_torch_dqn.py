"""bench.learning.torch_dqn and its replay memory: each part is what ours is, by another way."""

import json
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.learning.job import jobs_of
from bench.learning.peers import PEERS, Own
from bench.learning.run import perform
from bench.learning.sum_tree import Memory, SumTree
from bench.learning.torch_dqn import Agent, Windows, _Run
from host.algorithms.dqn import DQNConfig
from host.collect.environment import Transitions
from host.collect.nstep import NStep
from host.collect.spec import Spec
from host.interrupt import INTERRUPTED
from host.train.preset import preset
from tests.bench.learning.tiny import *
from tests.host.agents import make, make_batch
from tests.host.strokes import NAME

SPEC = Spec((12, 9, 3), "uint8", True, 4, exponent=-8)

# -- the replay memory


@pytest.mark.parametrize("capacity", [1, 2, 5, 64, 1000])
def test_the_tree_finds_by_the_running_sum(capacity):
    rng, tree, values = np.random.default_rng(capacity), SumTree(capacity), np.zeros(capacity)
    for _ in range(20):
        indexes = np.unique(rng.integers(capacity, size=rng.integers(1, 2 * capacity + 1)))
        values[indexes] = rng.integers(0, 9, len(indexes)) + (indexes == 0)
        tree.set(indexes, values[indexes])
        sums = np.cumsum(values)
        assert tree.total == sums[-1] and tree[np.arange(capacity)].tolist() == values.tolist()
        targets = np.concatenate([np.arange(sums[-1]), [sums[-1] - 0.5]])
        expected = np.searchsorted(sums, targets, side="right")
        assert tree.find(targets).tolist() == expected.tolist()


def memory(capacity=10, **changes):
    options = dict(alpha=0.5, epsilon=0.25, seed=3) | changes
    return Memory({"x": ((2,), "uint8"), "y": ((), "float32")}, capacity, **options)


def given(*numbers):
    return [dict(x=[n, n + 1], y=n) for n in numbers]


def test_draws_and_weights_by_the_definition():
    """p = sqrt(|td| + 0.25): 0.5, 1.5, 1 and a new one of the highest, 1.5."""
    held = memory(capacity=4)
    held.add(given(1, 2, 3))
    held.update(np.arange(3), np.float32([0, -2, 0.75]))
    held.add(given(4))
    held.add([])
    chances, counts = np.array([0.5, 1.5, 1, 1.5]) / 4.5, np.zeros(4)
    for _ in range(300):
        indexes, batch = held.sample(9, 0.7)
        counts += np.bincount(indexes, minlength=4)
        weights = chances[indexes] ** -0.7
        np.testing.assert_allclose(batch["weights"], weights / weights.max(), rtol=1e-6)
        assert batch["x"].tolist() == [[i + 1, i + 2] for i in indexes]
        assert batch["y"].tolist() == (indexes + 1).tolist()
        assert np.bincount(indexes, minlength=4)[0] == 1, "the first of nine parts"
    np.testing.assert_allclose(counts / counts.sum(), chances, atol=0.02)


def test_the_oldest_goes_first():
    held = memory(capacity=4)
    held.add(given(1, 2, 3))
    held.update(np.arange(3), np.float32([0, 9, 9]))
    held.add(given(4, 5, 6))
    assert len(held) == 4 and set(held.sample(400, 1)[1]["y"].tolist()) == {3, 4, 5, 6}


def test_a_memory_goes_on():
    one, two = memory(), memory(seed=8)
    one.add(given(*range(7)))
    one.update(np.arange(4), np.float32([1, 2, 3, 40]))
    two.load_state_dict(one.state_dict())
    for held in (one, two):
        held.add(given(7, 8, 9, 10))
    (indexes, batch), (same, as_well) = (held.sample(50, 0.5) for held in (one, two))
    np.testing.assert_array_equal(indexes, same)
    for name, array in batch.items():
        np.testing.assert_array_equal(as_well[name], array)


# -- experiences and gradient steps: ours


@pytest.mark.parametrize("n", [1, 3])
def test_experiences_are_ours(n):
    """Of three environments whose episodes end by either way, or both at once."""
    config = DQNConfig(n_step=n, gamma=0.9, reward_scale=0.5, reward_clip=1.0)
    rng, spec = np.random.default_rng(n), Spec((1,), "float32", True, 4)
    ours, theirs = NStep(3, n, 0.9, spec, scale=0.5, clip=1.0), Windows(config, 3)
    count = 0
    for _ in range(200):
        obs, after = rng.standard_normal((2, 3, 1), np.float32)
        ends, cuts = rng.random((2, 3)) < 0.15
        action, reward, valid = rng.integers(4, size=3), 2 * rng.standard_normal(3), np.ones(3)
        taken = Transitions(obs, action, reward, after, ends, cuts, valid.astype(bool))
        records, dicts = ours.push(taken), theirs.push(taken)
        assert len(records) == len(dicts)
        for record, each in zip(records, dicts, strict=True):
            for name, value in each.items():
                np.testing.assert_allclose(record[name], value, rtol=1e-6, atol=1e-7)
        count += len(dicts)
    assert count > 500


@pytest.mark.parametrize("changes", [dict(), dict(double=False, target_tau=0.2)])
def test_gradient_steps_are_ours(changes):
    """From the same weights, over 10 updates with two synchronizations."""
    layers = ((6, 5, 2), (5, 2, 1))
    own = make("dqn", SPEC, convolutions=layers, target_interval=4, huber_delta=0.3, **changes)
    config, q = own.policy.config, own.updater.networks["q"]
    peer = Agent(config, SPEC, 5)
    arrays = [part for layer in q.network.layers for part in layer]
    peer.take(np.ascontiguousarray(array) for array in arrays)
    peer.target.load_state_dict(peer.online.state_dict())
    rng = np.random.default_rng(0)
    for i in range(10):
        images = rng.integers(0, 256, (2, 32, *SPEC.shape), np.uint8)
        batch = make_batch(SPEC, seed=i) | dict(zip(("obs", "next_obs"), images, strict=True))
        td = peer.learn(batch | {"action": batch["action"].astype(np.int64)}, 0)
        np.testing.assert_allclose(own.learn(batch)[0], td, rtol=2e-3, atol=2e-4)
    obs = images[0]
    np.testing.assert_array_equal(peer.act(obs, greedy=True), own.policy.act(obs, greedy=True))
    with torch.no_grad():
        expected = own.updater.networks["q"].target(torch.from_numpy(obs)).numpy()
        found = peer.target(peer._planes(torch.from_numpy(obs))).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def test_first_weights_are_ours():
    network = make("dqn", SPEC, hidden=(200,)).policy.networks["q"]
    peer = Agent(replace(DQNConfig(), hidden=(200,)), SPEC, 5)
    for (weight, bias), theirs in zip(network.layers, peer.arrays()[::2], strict=True):
        assert weight.shape == theirs.shape and not bias.any()
        assert abs(weight).max() == pytest.approx(abs(theirs).max(), rel=0.03)
        assert weight.std() == pytest.approx(theirs.std(), rel=0.1)
    assert not any(bias.any() for bias in peer.arrays()[1::2])
    for mine, target in zip(peer.arrays(), peer.target.parameters(), strict=True):
        np.testing.assert_array_equal(mine, target.detach())


# -- the run

FIELDS = dict(SHORT, steps=1000, env_count=2, gamma=0.5, epsilon_steps=300, learning_rate=0.01)


@pytest.fixture
def job(tmp_path):
    kinds = (kind(), kind("peer", peer="torch_dqn", counts=False))
    tiny = claim(env=NAME, kinds=kinds, fields=FIELDS, episodes=9)
    return jobs_of(tiny, tmp_path)["peer", 0]


def test_it_learns_is_judged_and_goes_on_where_it_was_cut(job):
    assert perform(job, Signalling(file=open(os.devnull, "w"))) == INTERRUPTED
    assert job.cut and Path(job.folder, "state.npz").exists()
    assert perform(job, quiet()) == 0
    result = job.result
    assert result["steps"] == 1000 and [point[0] for point in result["curve"]] == [400, 800]
    assert 400 < result["updates"] < 500, "one for two steps, but for the first 64"
    assert result["mean_return"] > 11 and result["seconds"] > 0, "of 12"
    assert json.loads(json.dumps(result)) == result


def test_a_state_is_all_of_it(job):
    """Two that go on from it learn the same."""
    Path(job.folder).mkdir(parents=True)
    with ExitStack() as stack:
        first, *others = (_Run(job, stack) for _ in range(3))
        for _ in range(60):
            first.iterate()
        first.save()
        for each in others:
            each.load()
            assert each.steps == 120 and each.agent.updates == first.agent.updates > 0
            for mine, theirs in zip(each.agent.arrays(), first.agent.arrays(), strict=True):
                np.testing.assert_array_equal(mine, theirs)
            for _ in range(20):
                each.iterate()
        one, two = (each.agent.arrays() for each in others)
        for mine, theirs in zip(one, two, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert any((a != b).any() for a, b in zip(one, first.agent.arrays(), strict=True))


def test_what_it_is_for():
    config = preset("dqn", "cpu", env="CartPole-v1")
    assert PEERS["torch_dqn"](config) == Own(agent="torch_dqn")
    words = "^dueling must be False for peer torch_dqn, not True$"
    with pytest.raises(ValueError, match=words):
        PEERS["torch_dqn"](replace(config, agent=replace(config.agent, dueling=True)))
    with pytest.raises(ValueError, match="^algo must be 'dqn' for peer torch_dqn, not 'sac'$"):
        PEERS["torch_dqn"](preset("sac", "cpu"))

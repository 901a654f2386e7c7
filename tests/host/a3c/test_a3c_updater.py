"""host.a3c.agent: rounds that the updater executes, against the card's and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from fa3c.modelled import opened
from fa3c.networks import network

from host.a3c.agent import A3CConfig, A3CPolicy, A3CUpdater
from host.a3c.card_network import ActorCritic, Infer, Sync, Train
from host.a3c.round_learner import CardRounds
from host.environments.spec import Spec

NETWORKS = {
    "vectors": dict(height=1, width=1, channels=5, convolutions=(), hidden=(9,), binary32=True),
    "pixels": dict(height=9, width=8, channels=3, convolutions=((5, 3, 2), (4, 2, 1)), lanes=1),
}


def policy_of(config):
    """With the network of a kernel's config."""
    shape = (config.height, config.width, config.channels)
    kind = "float32" if config.binary32 else "uint8"
    spec = Spec(
        shape=shape if config.convolutions else shape[2:],
        dtype=kind,
        discrete=True,
        action_count=config.outputs - 1,
        exponent=0 if config.binary32 else config.input_exponent,
    )
    agent = A3CConfig(hidden=config.hidden, convolutions=config.convolutions)
    return A3CPolicy(agent, spec, weights=5, exploration=6)


def rounds(config, count):
    """Of two agents that share a snapshot, and of a third; then each is trained."""
    rng = np.random.default_rng(3)

    def seen(number):
        shape = (number, config.height, config.width, config.channels)
        if config.binary32:
            return rng.standard_normal(shape).astype(np.float32)
        return rng.integers(0, 256, shape, np.uint8)

    for number in range(count):
        steps, rate = 1 + number % config.steps, 0.02 / (1 + number % 3)
        yield [Sync(snapshot=0)] + ([Sync(snapshot=1)] if number % 2 else [])
        if number == 0:
            yield [Sync(snapshot=1)]
        for step in range(steps):
            yield [
                Infer(unit=0, snapshot=0, agents=(0, 1), observations=seen(2), step=step),
                Infer(unit=0, snapshot=1, agents=(2,), observations=seen(1), step=step),
            ]
        yield [
            Train(
                unit=1,
                snapshot=agent // 2,
                agent=agent,
                errors=rng.standard_normal((steps, config.outputs)).astype(np.float32),
                rate=rate,
                decay=0.9,
                epsilon=0.05,
            )
            for agent in range(3)
        ]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_updater_does_what_the_card_does(name):
    config = network(**NETWORKS[name])
    policy = policy_of(config)
    first = policy.networks["actor_critic"].parameters.copy()
    with opened(config) as kernel:
        card = CardRounds(ActorCritic(kernel), policy)
        here = A3CUpdater(policy)
        for tasks in rounds(config, 20):
            for one, other in zip(card.run(tasks), here.run(here.prepare(tasks)), strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    np.testing.assert_allclose(one, other, atol=1e-4 * abs(one).max())
        here.fetch(policy)
        own = policy.networks["actor_critic"].parameters.copy()
        card.fetch(policy)
        stored = policy.networks["actor_critic"].parameters
        assert abs(own - first).max() > 0.1, "it has learned"
        np.testing.assert_allclose(own, stored, atol=1e-4 * abs(stored).max())
        squares, at = card.network.squares(), 0
        flat = here.state_dict()["squares"]
        for trained, (weight, bias) in enumerate(policy.networks["actor_critic"].layers):
            parts = (f"layer{trained}.weight", weight), (f"layer{trained}.bias", bias)
            for place, (part, array) in enumerate(parts):
                theirs, mine = squares[part], flat[at : at + array.size]
                held = policy.networks["actor_critic"].arrays[2 * trained + place]
                mine = mine.reshape(held.shape)
                mine = mine if held.shape == array.shape and held.ndim != 2 else mine.T
                np.testing.assert_allclose(mine, theirs, atol=1e-4 * squares[part].max())
                at += array.size
        assert at == flat.size


def test_a_step_by_hand():
    """RMSProp without a first moment, epsilon inside the root, of the gradient at a snapshot."""
    config = network(**NETWORKS["vectors"] | dict(hidden=()))
    policy = policy_of(config)
    net = policy.networks["actor_critic"]
    updater, seen = A3CUpdater(policy), np.float32([[[[1, -2, 3, 0.5, 0]]]])
    errors = np.float32([[2, 0, -1, 0.25]])
    theta, squares = net.parameters.astype(np.float64), np.zeros(net.parameters.size)
    gradient = np.concatenate([np.outer(seen.ravel(), errors).ravel(), errors.ravel()])
    updater.run([Sync(snapshot=3)])
    options = dict(unit=0, snapshot=3, agent=1, rate=0.5, decay=0.75, epsilon=0.01)
    for _ in range(3):
        updater.run([Infer(unit=0, snapshot=3, agents=(1,), observations=seen, step=0)])
        updater.run([Train(errors=errors, **options)])
        squares = 0.75 * squares + 0.25 * gradient**2
        theta -= 0.5 * gradient / np.sqrt(squares + 0.01)
        np.testing.assert_allclose(net.parameters, theta, atol=1e-5)
        np.testing.assert_allclose(updater.state_dict()["squares"], squares, rtol=1e-6)


def test_snapshots_and_bootstraps_keep_nothing():
    """A snapshot stays what it was; an inference without a step is in no rollout."""
    config = network(**NETWORKS["vectors"])
    updater = A3CUpdater(policy_of(config))
    seen = np.ones((1, 1, 1, 5), np.float32)
    ask = Infer(unit=0, snapshot=0, agents=(0,), observations=seen, step=None)
    keep = replace(ask, step=0)
    _, first, _ = updater.run([Sync(snapshot=0), keep, replace(ask, observations=9 * seen)])
    train = Train(unit=1, snapshot=0, agent=0, errors=np.ones((1, 4), np.float32), rate=0.1)
    _, again = updater.run([train, ask])
    np.testing.assert_array_equal(again, first)
    _, now = updater.run([Sync(snapshot=0), ask])
    assert abs(now - first).max() > 0.01
    with pytest.raises(KeyError):
        updater.run([train])


def test_a_state_is_a_copy_and_of_no_snapshot():
    """What was under way when a checkpoint was read is forgotten: a Sync comes first."""
    config = network(**NETWORKS["vectors"])
    updater = A3CUpdater(policy_of(config))
    seen = np.ones((1, 1, 1, 5), np.float32)
    keep = Infer(unit=0, snapshot=0, agents=(0,), observations=seen, step=0)
    train = Train(unit=1, snapshot=0, agent=0, errors=np.ones((1, 4), np.float32), rate=0.1)
    state = updater.state_dict()
    updater.run([Sync(snapshot=0), keep, train, keep])
    assert not state["squares"].any() and updater.state_dict()["squares"].any()
    updater.load_state_dict(state)
    for tasks in ([train], [keep]):
        with pytest.raises(KeyError):
            updater.run(tasks)
    updater.load_state_dict(state)
    with pytest.raises(KeyError):
        updater.run([Sync(snapshot=0), train])

"""host.algorithms.dqn: targets by hand, synchronization, exploration, and torch's own update."""

import numpy as np
import pytest

from host.algorithms.dqn import DQN, DQNConfig
from host.algorithms.schedule import Linear


def make(seed=1, **config):
    config = {"hidden": (16, 16), **config}
    return DQN(DQNConfig(**config), observation_size=3, action_count=4, seed=seed)


def make_batch(rows=32, seed=2, **fields):
    rng = np.random.default_rng(seed)
    batch = {
        "obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "next_obs": rng.normal(size=(rows, 3)).astype(np.float32),
        "action": rng.integers(4, size=rows).astype(np.int32),
        "reward": rng.normal(size=rows).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], rows).astype(np.float32),  # 0: terminated
        "weights": rng.uniform(0.2, 1, rows).astype(np.float32),
    }
    return batch | fields


def scramble_target(agent):
    agent.target.parameters += (
        np.random.default_rng(3).normal(0, 0.3, len(agent.target.parameters)).astype(np.float32)
    )


@pytest.mark.parametrize("double", [False, True])
def test_td_errors_by_hand(double):
    agent, batch = make(double=double), make_batch()
    scramble_target(agent)
    online, target = agent.predict(batch["next_obs"]), agent.target.forward(batch["next_obs"])
    expected = []
    q = agent.predict(batch["obs"])
    for i in range(32):
        best = int(np.argmax((online if double else target)[i]))
        y = float(batch["reward"][i])
        y += float(batch["discount"][i]) * float(target[i, best])
        expected.append(y - float(q[i, batch["action"][i]]))
    assert any(online.argmax(1) != target.argmax(1)), "the two choices must differ to be told apart"
    td, loss = agent.learn_batch(batch)
    np.testing.assert_allclose(td, expected, rtol=1e-4, atol=1e-5)
    each = [0.5 * e**2 if abs(e) <= 1 else abs(e) - 0.5 for e in expected]
    assert loss == pytest.approx(np.mean(each * batch["weights"]), rel=1e-4)
    assert td.dtype == np.float32


def test_hard_and_soft_target():
    hard, soft = make(target_tau=1, target_interval=3), make(target_tau=0.25, target_interval=1)
    first = hard.target.parameters.copy()
    for update in range(1, 7):
        before = soft.target.parameters.copy()
        hard.learn_batch(make_batch(seed=update))
        soft.learn_batch(make_batch(seed=update))
        np.testing.assert_allclose(
            soft.target.parameters, before + 0.25 * (soft.online.parameters - before), atol=1e-6
        )
        if update < 3:
            np.testing.assert_array_equal(hard.target.parameters, first)
        same = np.array_equal(hard.target.parameters, hard.online.parameters)
        assert same == (update % 3 == 0)


def test_gradient_is_clipped_by_norm():
    agent, free = make(max_gradient_norm=0.01), make(max_gradient_norm=None)
    agent.learn_batch(make_batch())
    free.learn_batch(make_batch())
    assert np.linalg.norm(agent.online.gradient) == pytest.approx(0.01, rel=1e-5)
    assert np.linalg.norm(free.online.gradient) > 0.02
    scale = 0.01 / np.linalg.norm(free.online.gradient)
    np.testing.assert_allclose(agent.online.gradient, free.online.gradient * scale, atol=1e-8)


def test_zero_weight_teaches_nothing():
    agent = make(optimizer="sgd")
    before = agent.online.parameters.copy()
    td, loss = agent.learn_batch(make_batch(weights=np.zeros(32, np.float32)))
    assert loss == 0 and td.any()
    np.testing.assert_array_equal(agent.online.parameters, before)


def test_exploration():
    agent = make(epsilon_start=1.0, epsilon_end=0.0, epsilon_steps=4000)
    obs = np.tile(np.float32([[0.1, -0.2, 0.3]]), (8, 1))
    best = int(agent.predict(obs)[0].argmax())
    first = np.concatenate([agent.act(obs) for _ in range(50)])
    counts = np.bincount(first, minlength=4)
    assert (counts > 50).all(), f"near-uniform at first, not {counts}"
    assert agent.steps == 400 and agent.epsilon == pytest.approx(0.9)
    assert (agent.act(obs, greedy=True) == best).all() and agent.steps == 400
    agent.steps = 4000
    assert (agent.act(obs) == best).all()


def test_linear_schedule():
    line = Linear(start=1.0, end=0.2, steps=4)
    assert [line(step) for step in (0, 1, 4, 5)] == pytest.approx([1.0, 0.8, 0.2, 0.2])
    assert Linear(start=1.0, end=0.2, steps=0)(0) == 0.2
    agent = make(learning_rate=0.1, learning_rate_final=0.01, learning_rate_steps=10)
    agent.steps = 5
    assert agent.learning_rate == pytest.approx(0.055)
    agent = make(learning_rate=0.1)
    agent.steps = 10**9
    assert agent.learning_rate == 0.1


def test_state_resumes_bit_for_bit():
    whole, half = make(), make()
    for i in range(5):
        whole.learn_batch(make_batch(seed=i))
        whole.act(make_batch(seed=i)["obs"])
    half.load_state_dict(whole.state_dict())
    for i in range(5, 9):
        batch = make_batch(seed=i)
        np.testing.assert_array_equal(whole.act(batch["obs"]), half.act(batch["obs"]))
        np.testing.assert_array_equal(whole.learn_batch(batch)[0], half.learn_batch(batch)[0])
    np.testing.assert_array_equal(whole.online.parameters, half.online.parameters)
    np.testing.assert_array_equal(whole.target.parameters, half.target.parameters)
    with pytest.raises(ValueError, match=r"^parameters must be \d+ numbers for this network, not"):
        whole.load_state_dict(make(hidden=(4,)).state_dict())


def test_seed_decides_the_network():
    assert np.array_equal(make(seed=5).online.parameters, make(seed=5).online.parameters)
    assert not np.array_equal(make(seed=5).online.parameters, make(seed=6).online.parameters)


@pytest.mark.parametrize("field", ["reward", "obs", "next_obs"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_refuses_what_is_not_finite(field, value):
    agent, batch = make(), make_batch(discount=np.full(32, 0.9, np.float32))
    batch[field][7] = value
    before = agent.online.parameters.copy()
    with np.errstate(invalid="ignore"):
        with pytest.raises(ValueError, match=r"^td_errors must be finite, not .* \(row 7 of"):
            agent.learn_batch(batch)
    np.testing.assert_array_equal(agent.online.parameters, before)
    assert agent.updates == 0


def test_refuses_other_observations():
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[2, 4\]$"):
        make().predict(np.zeros((2, 4)))


BAD = [
    ("gamma", 1.5), ("gamma", "0.9"), ("epsilon_end", -0.1), ("beta_start", 2), ("beta1", 1.0),
    ("learning_rate", 0), ("learning_rate", float("nan")), ("learning_rate", float("inf")),
    ("learning_rate_final", -1), ("max_gradient_norm", 0), ("huber_delta", 0), ("hidden", (0,)),
    ("hidden", (2.5,)), ("activation", "gelu"), ("optimizer", "lion"), ("loss", "l1"),
    ("n_step", 0), ("batch_size", 0), ("batch_size", True), ("target_interval", 0),
    ("target_tau", 0), ("target_tau", 1.1), ("epsilon_steps", -1), ("momentum", 1),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        DQNConfig(**{name: value})


def test_config_round_trip():
    config = DQNConfig(hidden=[5, 6], learning_rate_final=1e-5)
    assert config.hidden == (5, 6) and DQNConfig.from_json(config.to_json()) == config
    with pytest.raises(ValueError, match="^hidden must have a layer when dueling"):
        DQNConfig(hidden=(), dueling=True)

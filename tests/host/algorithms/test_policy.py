"""host.algorithms.policy: what every algorithm's policy keeps to."""

import ast
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from host.agents.registry import ALGORITHMS
from host.algorithms.activation import ACTIVATIONS
from host.algorithms.policy import InferredPolicy
from host.environments.spec import Spec
from tests.host import agent_parts

CASES = [
    (algo, discrete)
    for algo, algorithm in ALGORITHMS.items()
    for discrete in (True, False)
    if (Discrete in algorithm.actions) == discrete or len(algorithm.actions) == 2
]
EVERY = pytest.mark.parametrize("algo, discrete", CASES)


def make(algo, discrete, seed=1, **config):
    spec = agent_parts.DISCRETE if discrete else agent_parts.CONTINUOUS
    return agent_parts.make(algo, spec, seed, **config).policy


def observations(rows=50, seed=3):
    return np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)


def changed(policy):
    """``policy``, its weights as after some training."""
    rng = np.random.default_rng(7)
    for network in policy.networks.values():
        network.parameters += rng.normal(0, 0.3, len(network.parameters)).astype(np.float32)
    return policy


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def test_both_kinds_of_actions_are_here():
    assert {discrete for _, discrete in CASES} == {True, False}
    assert {algo for algo, _ in CASES} == set(ALGORITHMS)


def mlps(policy):
    for network in policy.networks.values():
        if hasattr(network, "actor"):
            yield from (network.actor, network.critic)
        elif hasattr(network, "forward"):
            yield network


@pytest.mark.parametrize("algo, discrete", [case for case in CASES if case[0] != "a3c"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_networks_are_the_configs(algo, discrete, activation):
    found = list(mlps(make(algo, discrete, hidden=(5, 7), activation=activation)))
    assert found
    for network in found:
        assert [len(bias) for bias in network.biases[:-1]] == [5, 7]
        assert network.activation == activation and not network.dueling


def test_dueling_is_the_configs():
    assert make("dqn", True, dueling=True).networks["q"].dueling


@pytest.mark.parametrize("algo", [algo for algo, discrete in CASES if not discrete])
def test_first_actions_are_near_the_middle(algo):
    """Where tanh has its slope, and no action is at its limit."""
    policy = make(algo, False, hidden=(64, 64))
    action = policy.act(observations(), greedy=True)
    assert 0 < abs(action).max() < 0.05


@EVERY
@pytest.mark.parametrize("greedy", [True, False])
def test_acts(algo, discrete, greedy):
    policy = changed(make(algo, discrete))
    for rows in (1, 2, 50):
        action = policy.act(observations(rows), greedy=greedy, steps=10)
        if discrete:
            assert action.shape == (rows,) and np.issubdtype(action.dtype, np.integer)
            assert ((action >= 0) & (action < 4)).all()
        else:
            assert action.shape == (rows, 2) and action.dtype == np.float32
            assert abs(action).max() <= 1


@EVERY
def test_acts_on_each_row_for_itself(algo, discrete):
    """And on what may be no float32."""
    policy, obs = changed(make(algo, discrete)), observations()
    together = policy.act(obs, greedy=True)
    alone = np.concatenate([policy.act(obs[i : i + 1], greedy=True) for i in range(50)])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert len(np.unique(together, axis=0)) > 1
    np.testing.assert_array_equal(policy.act(obs.astype(np.float64), greedy=True), together)


@EVERY
def test_greedy_is_deterministic(algo, discrete):
    """And draws nothing: exploration goes on where it was."""
    policy, obs = changed(make(algo, discrete)), observations()
    before = policy.rng.bit_generator.state
    first = policy.act(obs, greedy=True)
    np.testing.assert_array_equal(policy.act(obs, greedy=True, steps=99), first)
    assert policy.rng.bit_generator.state == before
    others = [policy.act(obs) for _ in range(3)]
    assert policy.rng.bit_generator.state != before
    assert not np.array_equal(others[0], others[1]) and not np.array_equal(others[0], first)


@EVERY
def test_predict_is_of_the_network_that_acts(algo, discrete):
    policy, obs = changed(make(algo, discrete)), observations()
    before = policy.predict(obs)
    assert before.shape[0] == 50 and before.dtype == np.float32
    policy.networks[policy.ACTS].parameters[...] = 0
    assert not policy.predict(obs).any() and before.any()
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[50, 2\]$"):
        policy.predict(obs[:, :2])
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 3\], not \[3\]$"):
        policy.act(obs[0])


@EVERY
def test_observations_of_any_shape(algo, discrete):
    """Images too: numbers in the order of memory."""
    shapes = ((6,), "float32"), ((2, 3), "float32"), ((2, 3), "uint8")
    obs, found = np.random.default_rng(1).integers(9, size=(5, 6)), []
    for shape, dtype in shapes:
        spec = Spec(shape=shape, dtype=dtype, discrete=discrete, action_count=2)
        policy = changed(agent_parts.make(algo, spec).policy)
        found.append(policy.act(obs.reshape(5, *shape).astype(dtype), greedy=True))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


@EVERY
def test_seeds(algo, discrete):
    """Weights have one, exploration another."""
    config, spec = make(algo, discrete).config, make(algo, discrete).spec
    kind, obs = ALGORITHMS[algo].policy, observations()

    def of(weights, exploration):
        policy = kind(config, spec, weights=weights, exploration=exploration)
        return policy.predict(obs), policy.act(obs)

    one, again, other_weights, other_draws = of(1, 2), of(1, 2), of(2, 2), of(1, 3)
    assert np.array_equal(one[0], again[0]) and np.array_equal(one[1], again[1])
    assert not np.array_equal(one[0], other_weights[0])
    assert np.array_equal(one[0], other_draws[0]) and not np.array_equal(one[1], other_draws[1])


@EVERY
def test_parameters_make_the_same_policy(algo, discrete):
    policy, other = changed(make(algo, discrete)), make(algo, discrete, seed=9)
    assert not same(other.parameters, policy.parameters)
    memory = {name: network.parameters for name, network in other.networks.items()}
    other.load_parameters(policy.parameters)
    assert same(other.parameters, policy.parameters)
    for name, network in other.networks.items():
        assert network.parameters is memory[name], "changed in place: torch sees the same"
    obs = observations()
    np.testing.assert_array_equal(other.predict(obs), policy.predict(obs))
    policy.networks[policy.ACTS].parameters += 1
    assert not same(other.parameters, policy.parameters), "they are not shared"


@EVERY
def test_parameters_must_be_its_own(algo, discrete):
    policy = make(algo, discrete)
    given = {name: array.copy() + 1 for name, array in policy.parameters.items()}
    before = {name: array.copy() for name, array in policy.parameters.items()}
    for name, array in given.items():
        short = {**given, name: array[:-1]}
        words = rf"^parameters must be \{{.*'{name}': \[{len(array)}\].*\}}, not "
        with pytest.raises(ValueError, match=rf"{words}{name} \[{len(array) - 1}\]$"):
            policy.load_parameters(short)
        without = {other: x for other, x in given.items() if other != name}
        with pytest.raises(ValueError, match=rf"{words}without {name}$"):
            policy.load_parameters(without)
    with pytest.raises(ValueError, match=r"not extra \[1\]$"):
        policy.load_parameters(given | {"extra": np.ones(1, np.float32)})
    assert same(policy.parameters, before), "nothing of what is refused is taken"


@EVERY
def test_state_gives_the_same_next_actions(algo, discrete):
    policy, other, obs = changed(make(algo, discrete)), make(algo, discrete, seed=9), observations()
    for _ in range(3):
        policy.act(obs)
    state = policy.state_dict()
    expected = [policy.act(obs, steps=n) for n in range(3)]
    policy.networks[policy.ACTS].parameters += 1  # a state is a copy
    other.load_state_dict(state)
    for n in range(3):
        np.testing.assert_array_equal(other.act(obs, steps=n), expected[n])
    other.networks[policy.ACTS].parameters += 1  # and so is what is loaded
    policy.load_state_dict(state)
    np.testing.assert_array_equal(policy.act(obs, steps=0), expected[0])


@EVERY
def test_exploration_is_a_number_or_none(algo, discrete):
    policy = make(algo, discrete)
    policy.config = policy.config.in_run(10**6)
    found = [policy.exploration_at(steps) for steps in (0, 10**9)]
    assert found == [None, None] or found[0] > found[1] >= 0
    assert (found[0] is None) == (algo in ("sac", "ppo", "a3c"))
    policy.ended(np.array([True, False]))  # before it has acted


@pytest.mark.parametrize("algo, discrete", [case for case in CASES if case[0] != "ppo"])
def test_it_acts_by_outputs_of_another(algo, discrete):
    """As by its own, with the same random numbers: greedy, late in a run, and at first."""
    one, other = (changed(make(algo, discrete)) for _ in range(2))
    acts, obs = InferredPolicy(other, other.networks[other.ACTS].forward), observations()
    for how in (dict(greedy=True), dict(steps=10_000), dict()):
        np.testing.assert_array_equal(acts.act(obs, **how), one.act(obs, **how))
    nothing = InferredPolicy(other, lambda seen: 0 * other.predict(seen))
    assert not np.array_equal(nothing.act(obs, greedy=True), one.act(obs, greedy=True))


def test_what_infers_sees_rows_of_numbers():
    """Whatever the shape of an observation, in the spec's dtype; another shape is refused."""
    spec, seen = Spec(shape=(2, 3, 1), dtype="uint8", discrete=True, action_count=4), []

    def infer(obs):
        seen.append(obs)
        return np.eye(4)[[1, 3]]

    acts = InferredPolicy(agent_parts.make("dqn", spec).policy, infer)
    assert acts.act(np.arange(12).reshape(2, 2, 3, 1), greedy=True).tolist() == [1, 3]
    assert seen[0].dtype == np.uint8 and seen[0].tolist() == np.arange(12).reshape(2, 6).tolist()
    with pytest.raises(ValueError, match=r"^obs must be \[rows, 2, 3, 1\], not \[2, 6\]$"):
        acts.act(np.zeros((2, 6)), greedy=True)


def assigned_from_outside(source):
    """Attributes of a policy that are assigned in a text of Python."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value).split(".")[-1] == "policy":
                yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            if ast.unparse(node.args[0]).split(".")[-1] == "policy":
                yield ast.unparse(node)


def test_nobody_outside_changes_how_a_policy_acts():
    """What acts is what ``Learner.actor`` gives (host 24): four files assigned functions of the
    policy."""
    texts = [path.read_text() for path in Path(__file__).parents[3].glob("host/**/*.py")]
    assert len(texts) > 100
    assert not [name for text in texts for name in assigned_from_outside(text)]


@pytest.mark.parametrize(
    "source, bad",
    [
        ("policy.infer = f", ["policy.infer"]),
        ("self.policy.explore, x = f, g", ["self.policy.explore"]),
        ("setattr(policy, 'infer', f)", ["setattr(policy, 'infer', f)"]),
        ("self.policy = policy; policy.networks['q'].parameters[...] = policy.act(obs)", []),
    ],
)
def test_the_check_itself(source, bad):
    assert list(assigned_from_outside(source)) == bad

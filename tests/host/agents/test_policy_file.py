"""host.agents.policy_file: what is saved acts the same; what is not a policy is refused."""

import io
import json
import resource
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlfabric
from host import checkpoint
from host.agents.policy_file import load_policy, save_policy
from host.agents.registry import ALGORITHMS
from host.checkpoint import CheckpointError
from host.environments.spaces import describe
from host.environments.spec import Spec
from tests.host import agent_parts
from tests.test_architecture import ROOT

#: DQN on FrozenLake-v1, whose observation is one of 16 states; written before files had spaces.
OLDER = ROOT / "tests/reference/policies/frozen_lake.npz"


def trained(algo, **config):
    """A policy whose weights are not the first ones; its hidden layers are not the default."""
    discrete = Discrete in ALGORITHMS[algo].actions
    spec = agent_parts.DISCRETE if discrete else agent_parts.CONTINUOUS
    policy = agent_parts.make(algo, spec, **config).policy
    for network in policy.networks.values():
        network.parameters += (
            np.random.default_rng(5).normal(0, 0.3, len(network.parameters)).astype(np.float32)
        )
    return policy


def saved(path, policy, algo, env="Some-v0"):
    save_policy(path, policy, algo=algo, env=env, score=12.5)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "best.npz"


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_algorithms_policy_is_kept(path, algo):
    policy = trained(algo)
    loaded, info = load_policy(saved(path, policy, algo))
    assert info == {"algo": algo, "env": "Some-v0", "score": 12.5}
    assert type(loaded) is type(policy)
    assert (loaded.config, loaded.spec) == (policy.config, policy.spec)
    obs = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    action = policy.act(obs, greedy=True)
    np.testing.assert_array_equal(loaded.act(obs, greedy=True), action)
    np.testing.assert_array_equal(loaded.predict(obs), policy.predict(obs))
    assert len(np.unique(action, axis=0)) > 1
    assert [file.name for file in path.parent.iterdir()] == ["best.npz"]


def test_images_too(path):
    spec = Spec(shape=(4, 5, 2), dtype="uint8", discrete=True, action_count=3)
    policy = agent_parts.make("ppo", spec).policy
    loaded, _ = load_policy(saved(path, policy, "ppo"))
    assert loaded.spec == spec and loaded.spec.shape == (4, 5, 2)
    obs = np.random.default_rng(1).integers(256, size=(3, 4, 5, 2), dtype=np.uint8)
    np.testing.assert_array_equal(loaded.predict(obs), policy.predict(obs))


def test_a_score_may_be_absent(path):
    save_policy(path, trained("dqn"), algo="dqn", env="Some-v0", score=None)
    assert load_policy(path)[1]["score"] is None


def test_none_there(path):
    with pytest.raises(CheckpointError, match="^policy must be a file, not .*none there"):
        load_policy(path)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "text"])
def test_damaged(path, damage):
    whole = bytearray(saved(path, trained("dqn"), "dqn").read_bytes())
    middle = len(whole) // 2
    flipped = whole.copy()
    flipped[middle] ^= 0xFF
    ways = {"cut": whole[:middle], "empty": b"", "flipped": flipped, "text": b"policy"}
    path.write_bytes(ways[damage])
    with pytest.raises(CheckpointError, match="^policy must be a whole file that rlfabric"):
        load_policy(path)


def test_a_trainings_checkpoint_is_none(path):
    checkpoint.save(path, "training", {}, {})
    with pytest.raises(CheckpointError, match="^checkpoint must be of kind 'policy', not 'train"):
        load_policy(path)


def test_an_older_releases_is_none(path):
    """As 0.1.0 wrote them: sizes, and a matrix for each layer."""
    config = {
        "algo": "dqn",
        "env": "CartPole-v1",
        "agent": {"hidden": [4]},
        "observation_size": 4,
        "action_count": 2,
    }
    checkpoint.save(path, "policy", config, {"parameters": {"q": np.zeros(30)}, "score": 1.0})
    with pytest.raises(CheckpointError, match="best.npz must be of this release of rlfabric, not"):
        load_policy(path)


def test_a_file_without_its_space_takes_vectors():
    """As it did. It stays the same file: what has no space is written without one."""
    policy = rlfabric.load_policy(OLDER)
    assert repr(policy) == "Policy(algorithm='dqn', env='FrozenLake-v1', score=0.0)"
    expected = [0, 3, 3, 3, 3, 2, 0, 3, 0, 1, 3, 3, 2, 3, 3, 2]
    assert policy.predict(np.eye(16))[0].tolist() == expected
    assert [int(policy.predict(row)[0]) for row in np.eye(16, dtype=int)] == expected
    with pytest.raises(ValueError, match=r"^observation must have the shape \[16\], or \[n, 16\]"):
        policy.predict(5)
    config, _ = checkpoint.load(OLDER, "policy")
    assert Spec.from_dict(config["spec"]).to_dict().keys() == config["spec"].keys()


def test_a_file_with_its_space_is_that_and_an_entry(path):
    """The spec's ``space``; states are then what is taken."""
    acting, info = load_policy(OLDER)
    acting.spec = replace(acting.spec, space=describe(Discrete(16)))
    save_policy(path, acting, **info)
    (config, state), (older, same) = (checkpoint.load(each, "policy") for each in (path, OLDER))
    assert config["spec"].pop("space") == {
        "kind": "Discrete",
        "shape": [],
        "dtype": "int64",
        "counts": [16],
        "starts": [0],
    }
    assert config == older and state.keys() == same.keys()
    policy, old = map(rlfabric.load_policy, (path, OLDER))
    expected = old.predict(np.eye(16))[0].tolist()
    assert [policy.predict(state)[0] for state in range(16)] == expected
    assert policy.predict(np.arange(16))[0].tolist() == expected
    assert policy.predict(np.eye(16))[0].tolist() == expected


def test_a_huge_space_takes_no_memory(path):
    policy = trained("dqn")
    for space in (
        {"kind": "Box", "shape": [1 << 40], "dtype": "float32"},
        {"kind": "Discrete", "shape": [], "dtype": "int64", "counts": [1 << 40], "starts": [0]},
        {"kind": "Tuple", "parts": [{"kind": "MultiBinary", "shape": [9] * 99, "dtype": "int8"}]},
    ):
        saved(path, policy, "dqn")
        config, state = checkpoint.load(path, "policy")
        config["spec"]["space"] = space
        checkpoint.save(path, "policy", config, state)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(CheckpointError, match="best.npz must be of this release .*space must"):
            load_policy(path)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 100 << 10, f"{grown} KiB"


def nested(depth):
    """The text of a policy whose state is lists in lists."""
    tree = {"format": "rlfabric-checkpoint-1", "kind": "policy", "config": {}, "state": 0}
    return json.dumps(tree).replace('"state": 0', f'"state": {"[" * depth}{"]" * depth}').encode()


def zipped(text, **how):
    """A file of the one array that has ``text``."""
    array, file = io.BytesIO(), io.BytesIO()
    np.save(array, np.frombuffer(text, np.uint8))
    with zipfile.ZipFile(file, "w", **how) as archive:
        archive.writestr("tree.npy", array.getvalue())
    return file.getvalue()


HOSTILE = {
    "lists in lists": (zipped(nested(100_000)), "RecursionError"),
    "a megabyte of zeros": (zipped(bytes(1 << 20), compression=8), "bytes long, and holds 10487"),
    "no objects": (zipped(nested(1)), "config and state must be objects"),
}


@pytest.mark.parametrize("data, words", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_end_in_words(path, data, words):
    """host 22: a traceback, or memory for what 1 MB unpacks to."""
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=f"^policy must be a whole file that .*{words}"):
        load_policy(path)


@pytest.mark.parametrize("hidden", [[40_000, 40_000], [65_536] * 4])
@pytest.mark.parametrize("algo", ["dqn", "ppo", "a3c", "td3"])
def test_no_memory_for_networks_that_the_file_has_not(path, algo, hidden):
    """host 22: 40 000 x 40 000 weights, drawn before shapes were compared, take 12 GB and more."""
    saved(path, trained(algo), algo)
    config, state = checkpoint.load(path, "policy")
    config["agent"]["hidden"] = hidden
    checkpoint.save(path, "policy", config, state)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match="best.npz must be of this release of rlfabric, not"):
        load_policy(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200 << 10, f"{grown} KiB"


@pytest.mark.parametrize("hidden", [[8] * 200, [110]])
def test_weights_are_counted_together(path, hidden):
    """Each layer may be small; four times as many as the file has are too many."""
    saved(path, trained("dqn", hidden=(16,)), "dqn")  # 4 x 16 + 17 x 4 weights and biases
    config, state = checkpoint.load(path, "policy")
    config["agent"]["hidden"] = hidden
    checkpoint.save(path, "policy", config, state)
    with pytest.raises(CheckpointError, match="as many as the config says, not 132 numbers"):
        load_policy(path)


def deep(count):
    """A description of so many spaces in one another, which has no numbers."""
    found = {"kind": "Tuple", "parts": []}
    for _ in range(count):
        found = {"kind": "Tuple", "parts": [found]}
    return found


BAD = {
    "env": dict(env=["Some-v0"]),
    "algo": dict(algo="a3c"),
    "field": dict(agent={"hidden": [16, 16], "colour": "red"}),
    "value": dict(agent={"hidden": [16, 16], "gamma": 2}),
    "shape": dict(agent={"hidden": [16, 17]}),
    "spec": dict(spec={"shape": [3], "dtype": "float32", "discrete": True}),
    "type": dict(spec=agent_parts.DISCRETE.to_dict() | {"dtype": "O"}),
    "space": dict(spec=agent_parts.DISCRETE.to_dict() | {"space": {"kind": "Graph"}}),
    "deep": dict(spec=agent_parts.DISCRETE.to_dict() | {"space": deep(300)}),
}


@pytest.mark.parametrize("name", BAD)
def test_another_releases_is_none(path, name):
    """Whatever it lacks or has besides; the words name the file."""
    saved(path, trained("dqn"), "dqn")
    config, state = checkpoint.load(path, "policy")
    checkpoint.save(path, "policy", config | BAD[name], state)
    with pytest.raises(CheckpointError, match="best.npz must be of this release of rlfabric, not"):
        load_policy(path)


@pytest.mark.parametrize("score", ["12", [1.0], True])
def test_a_score_is_a_number(path, score):
    saved(path, trained("dqn"), "dqn")
    config, state = checkpoint.load(path, "policy")
    checkpoint.save(path, "policy", config, state | {"score": score})
    with pytest.raises(CheckpointError, match="score must be a number, not"):
        load_policy(path)


def test_fields_that_are_newer_have_their_default(path):
    saved(path, trained("ppo"), "ppo")
    config, state = checkpoint.load(path, "policy")
    del config["agent"]["normalize_observations"]
    checkpoint.save(path, "policy", config, state)
    policy, _ = load_policy(path)
    assert policy.config.normalize_observations is False

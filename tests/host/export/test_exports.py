"""``rlfabric export``: each form acts as ``Policy.predict``."""

import numpy as np
import pytest

from host.environments.spec import Spec
from rlfabric import load_policy
from tests.host import agent_parts
from tests.host.export.exports import c_outputs, onnx_outputs, saved, torch_outputs

VECTOR = Spec((5,), "float32", True, 3, start=-2)
BOX = Spec((4,), "float32", False, 2, low=(-2.0, 0.0), high=(2.0, 0.5), action_dtype="float64")
STEPS = Spec((4,), "float32", False, 2, low=(0.0, -7.0), high=(9.0, 3.0), action_dtype="int32")
IMAGE = Spec((12, 9, 3), "uint8", True, 4, exponent=-8)
PLANES = Spec((10, 10, 4), "uint8", True, 3)
CASES = {
    "dqn": ("dqn", VECTOR, dict(hidden=(16, 8), activation="tanh")),
    "dueling": ("dqn", VECTOR, dict(hidden=(16, 8), dueling=True, activation="leaky_relu")),
    "dqn image": ("dqn", IMAGE, dict(hidden=(16,), convolutions=((4, 4, 2), (6, 2, 1)))),
    "dqn pixels": ("dqn", IMAGE, dict(hidden=(8,), convolutions=())),
    "ddpg": ("ddpg", BOX, dict(hidden=(16, 8))),
    "td3": ("td3", STEPS, dict(hidden=(16,))),
    "sac": ("sac", BOX, dict(hidden=(16, 16))),
    "ppo": ("ppo", VECTOR, dict(hidden=(16,), normalize_observations=True)),
    "ppo box": ("ppo", BOX, dict(hidden=(16,), normalize_observations=True)),
    "a3c": ("a3c", PLANES, dict(hidden=(16,), convolutions=((4, 3, 1),))),
}
#: one of each kind of layer
QUICK = ("dqn image", "dueling", "ppo box", "a3c")
TOLERANCE = 1e-5


def policy_of(name, tmp_path):
    algo, spec, config = CASES[name]
    policy = agent_parts.make(algo, spec, 1, **config).policy
    rng = np.random.default_rng(7)
    for network in policy.networks.values():
        network.parameters += rng.normal(0, 0.3, len(network.parameters)).astype(np.float32)
    if getattr(policy, "normalizer", None) is not None:
        policy.normalizer.update(rng.normal(1, 3, (100, spec.size)))
    return policy, saved(policy, tmp_path / "run", algo, "CartPole-v1"), spec


def observations(spec, rows):
    rng = np.random.default_rng(3)
    if spec.dtype == "uint8":
        return rng.integers(0, 256, (rows, *spec.shape), np.uint8)
    found = rng.normal(0, 2, (rows, *spec.shape)).astype(np.float32)
    found[::10] *= 20  # beyond the normalizer's limit
    return found


def heads_of(policy, obs):
    """The heads that are no action, by the policy's own networks."""
    if hasattr(policy, "value"):
        found = {"logits": policy.predict(obs)} if policy.spec.discrete else {}
        return found | {"value": policy.value(obs)[:, None]}
    outputs = policy.predict(obs)
    if policy.ACTS == "actor_critic":
        return {"logits": outputs[:, :-1], "value": outputs[:, -1:]}
    return {"q": outputs} if policy.spec.discrete else {}


def check(policy, run, spec, found, obs):
    wanted, _ = load_policy(run).predict(obs)
    heads = heads_of(policy, obs)
    assert found.keys() == {"action", *heads}
    assert found["action"].dtype == wanted.dtype and found["action"].shape == wanted.shape
    for name, values in heads.items():
        scale = max(1, abs(values).max())
        np.testing.assert_allclose(found[name], values, rtol=0, atol=TOLERANCE * scale)
    if spec.discrete:
        first = heads["q" if "q" in heads else "logits"]
        best = np.sort(first, axis=1)
        clear = best[:, -1] - best[:, -2] > 2 * TOLERANCE * max(1, abs(first).max())
        assert clear.mean() > 0.99 and len(set(wanted.tolist())) > 1
        assert (found["action"] == wanted)[clear].all()
    elif spec.applied_dtype.kind == "f":
        np.testing.assert_allclose(found["action"], wanted, rtol=0, atol=TOLERANCE)
    else:  # a number near a half may be rounded either way
        assert abs(found["action"] - wanted).max() <= 1
        assert (found["action"] == wanted).mean() > 0.999


EVERY = pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES],
)


@pytest.mark.parametrize(
    "name, rows",
    [pytest.param(name, 10_000, marks=pytest.mark.long) for name in CASES]
    + [(name, 1000) for name in QUICK],
)
def test_onnx(name, rows, tmp_path):
    policy, run, spec = policy_of(name, tmp_path)
    obs = observations(spec, rows)
    check(policy, run, spec, onnx_outputs(run, obs), obs)
    one = onnx_outputs(run, obs[:1])
    assert len(one["action"]) == 1


@EVERY
def test_c(name, tmp_path):
    policy, run, spec = policy_of(name, tmp_path)
    obs = observations(spec, 500)
    sizes = {key: values.shape[1] for key, values in heads_of(policy, obs).items()}
    check(policy, run, spec, c_outputs(run, obs, spec, sizes), obs)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_torch(name, tmp_path):
    policy, run, spec = policy_of(name, tmp_path)
    obs = observations(spec, 1000)
    check(policy, run, spec, torch_outputs(run, obs), obs)
    assert len(torch_outputs(run, obs[:1])["action"]) == 1

"""``rlfabric export``: each form acts as ``Policy.predict``."""

from itertools import product

import numpy as np
import pytest

from host.agents import policy_file
from host.algorithms.activation import ACTIVATIONS
from host.algorithms.dqn import DQNPolicy
from host.algorithms.layers import Activate, Dense, Described, Normalize
from host.environments.spec import Spec
from host.export import export_command
from host.export.c_file import c_files
from host.export.export_command import export
from hw.errors import UsageError
from rlfabric import load_policy
from tests.environment.trained import path_of
from tests.host import agent_parts
from tests.host.export.exports import (
    c_outputs,
    onnx_outputs,
    played_in_c,
    saved,
    torch_outputs,
)

VECTOR = Spec((5,), "float32", True, 3, start=-2)
BOX = Spec((4,), "float32", False, 2, low=(-2.0, 0.0), high=(2.0, 0.5), action_dtype="float64")
FLOAT = Spec((4,), "float32", False, 2, low=(-2.0, 0.1), high=(2.0, 0.7))
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
    "sac": ("sac", FLOAT, dict(hidden=(16, 16))),
    "ppo": ("ppo", VECTOR, dict(hidden=(16,), normalize_observations=True)),
    "ppo box": ("ppo", BOX, dict(hidden=(16,), normalize_observations=True)),
    "a3c": ("a3c", PLANES, dict(hidden=(16,), convolutions=((4, 3, 1),))),
}
#: one of each kind of layer
QUICK = ("dqn image", "dueling", "td3", "ppo box", "a3c")
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
        assert clear.mean() > 0.98 and len(set(wanted.tolist())) > 1
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
    + [(name, 300) for name in CASES],
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


@pytest.mark.parametrize(
    "seed, episodes", [(3, 3), *(pytest.param(n, 100, marks=pytest.mark.long) for n in (2, 3))]
)
def test_c_plays_cart_pole(seed, episodes, tmp_path):
    """Of the policies that are kept, these two never drop the pole."""
    [file, _], _ = export(path_of(f"cartpole_{seed}"), "c", tmp_path / "act.c")
    assert set(played_in_c(file, episodes)) == {500.0}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_torch(name, tmp_path):
    policy, run, spec = policy_of(name, tmp_path)
    obs = observations(spec, 1000)
    check(policy, run, spec, torch_outputs(run, obs), obs)
    assert len(torch_outputs(run, obs[:1])["action"]) == 1


SPECS = {"dqn": VECTOR, "ddpg": BOX, "td3": BOX, "sac": FLOAT, "ppo": VECTOR, "a3c": PLANES}


@pytest.mark.parametrize(
    "algo, activation",
    [pair for pair in product(SPECS, ACTIVATIONS) if pair[0] != "a3c" or pair[1] == "relu"],
)
def test_every_activation_of_every_algorithm(algo, activation, tmp_path, monkeypatch):
    more = dict(convolutions=((4, 3, 1),)) if algo == "a3c" else {}
    case = algo, SPECS[algo], dict(hidden=(16, 8), activation=activation) | more
    monkeypatch.setitem(CASES, "this", case)
    policy, run, spec = policy_of("this", tmp_path)
    obs = observations(spec, 200)
    check(policy, run, spec, onnx_outputs(run, obs), obs)


@pytest.mark.parametrize("name", CASES)
def test_modules_of_torch(name, tmp_path):
    """The module that is exported, before torch traces it."""
    torch = pytest.importorskip("torch")
    from host.export.torch_file import _module

    policy, run, spec = policy_of(name, tmp_path)
    obs = observations(spec, 300)
    with torch.no_grad():
        found = _module(policy.described(), spec)(torch.from_numpy(obs))
    check(policy, run, spec, {key: x.numpy() for key, x in found.items()}, obs)


def test_every_activation_in_torch():
    """As the policies compute it, in one program."""
    torch = pytest.importorskip("torch")
    from host.export.torch_file import _chain

    x = np.linspace(-3, 3, 25, dtype=np.float32)
    for name, activation in ACTIVATIONS.items():
        apply = _chain(torch.nn.Module(), [Activate(name)])
        found = apply(None, torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(found, activation.function(x), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    "form, suffix, method",
    [("onnx", ".onnx", "choose"), ("c", ".c", "act"), ("torch", ".pt2", "predict")],
)
def test_what_is_refused_leaves_nothing(form, suffix, method, tmp_path, monkeypatch):
    """A subclass that acts otherwise, in any of three places."""
    policy, run, _ = policy_of("dqn", tmp_path)
    policy.__class__ = type("Changed", (DQNPolicy,), {method: None})
    info = {"algo": "dqn", "env": "CartPole-v1", "score": None}
    monkeypatch.setattr(policy_file, "load_policy", lambda *_: (policy, info))
    said = f"RUN must have a policy that is described with its {method}, not Changed"
    with pytest.raises(UsageError, match=said):
        export(run, form, tmp_path / "new" / f"policy{suffix}")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["7up", "int", "dense", "x", "observation", "caf\u00e9", "main"])
def test_a_name_that_a_function_cannot_have(name, tmp_path):
    _, run, _ = policy_of("dqn", tmp_path)
    with pytest.raises(UsageError, match="out must be named as a C function may be"):
        export(run, "c", tmp_path / "new" / f"{name}.c")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "form, out, text",
    [
        ("tflite", None, "format must be one of onnx, c, torch, not 'tflite'"),
        ("onnx", "policy.c", "out must end in .onnx, not 'policy.c'"),
        ("c", "policy", "out must end in .c, not 'policy'"),
    ],
)
def test_a_wrong_format_or_suffix(form, out, text, tmp_path):
    _, run, _ = policy_of("dqn", tmp_path)
    with pytest.raises(UsageError, match=text):
        export(run, form, out and tmp_path / "new" / out)
    with pytest.raises(UsageError, match="RUN must be a run's folder or a policy's file, not"):
        export(tmp_path / "none", "c")
    assert not (tmp_path / "new").exists()


def test_the_folder_of_a_file_is_made(tmp_path):
    _, run, _ = policy_of("dqn", tmp_path)
    files, numbers = export(run, "c", tmp_path / "a" / "b" / "act.c")
    assert [file.name for file in files] == ["act.c", "act.h"] and numbers == "float32"
    assert "act.h" in files[0].read_text() and "ACT_ACTIONS 3" in files[1].read_text()


def test_its_place_is_the_run_s(tmp_path):
    """Also that of a policy's file."""
    _, run, _ = policy_of("dqn", tmp_path)
    for given in (run, run / "best.npz"):
        files, _ = export(given, "c")
        assert files == [run / "policy.c", run / "policy.h"] and all(f.is_file() for f in files)


def test_the_command_s_line(monkeypatch, capsys):
    """It passes on what it is given, ``--import`` too."""
    told = []

    def writes(*place, imports):
        told.append((*place, imports))
        return ["a.c", "a.h"], "float32"

    monkeypatch.setattr(export_command, "export", writes)
    export_command.export_command("runs/demo", "c", "a.c", ["own"])
    export_command.export_command("runs/demo", "torch")
    assert told == [("runs/demo", "c", "a.c", ["own"]), ("runs/demo", "torch", None, ())]
    assert capsys.readouterr().out == "a.c and a.h: numbers are float32\n" * 2


def test_what_a_file_says_is_a_comment_s_line(tmp_path):
    policy, _, _ = policy_of("dqn", tmp_path)
    run = saved(policy, tmp_path / "other", env="a*/\nint b; \\")
    said = "/* Greedy policy of dqn for a???int b? ?. Written by rlfabric. */"
    assert [file.read_text().splitlines()[0] for file in export(run, "c")[0]] == [said] * 2


@pytest.mark.parametrize("inputs, hidden, actions", [(30, 4, 3), (3, 31, 4), (3, 4, 32)])
def test_buffers_in_c_are_of_the_widest_layer(inputs, hidden, actions, tmp_path):
    spec = Spec((inputs,), "float32", True, actions)
    policy = agent_parts.make("dqn", spec, 1, hidden=(hidden, 2)).policy
    text = c_files("policy", policy.described(), spec, "")[".c"]
    widest = max(inputs, hidden, actions)
    assert f"float a[{widest}], b[{widest}];" in text


DENSE = Dense(np.zeros((3, 5), np.float32), np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "layers, text",
    [
        ([DENSE, Activate("swish")], "activation must be one of relu, leaky_relu, tanh, not 'swi"),
        ([DENSE, np.tanh], "a layer must be Scale, .*Clip, not ufunc"),
    ],
)
def test_layers_of_ones_own_are_refused(layers, text):
    with pytest.raises(UsageError, match=text):
        Described(layers, "q", {"q": []})
    with pytest.raises(UsageError, match=text):
        Described([], "q", {"q": layers})


def test_c_normalizes_first():
    middle = Normalize(np.zeros(3), np.ones(3), 10.0)
    with pytest.raises(UsageError, match="RUN must have Normalize as its first layer for C"):
        c_files("policy", Described([DENSE, middle], "q", {"q": []}), VECTOR, "")


def test_outputs_are_the_heads_that_are_no_action():
    described = Described([DENSE], "mean", {"mean": [], "value": []})
    assert described.outputs(BOX) == {"value": 1}
    assert described.outputs(VECTOR) == {"mean": 3, "value": 1}
    with pytest.raises(UsageError, match="acts must be one of mean, not 'q'"):
        Described([DENSE], "q", {"mean": []})

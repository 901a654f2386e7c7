"""A fixed-point kernel's policy in C gives the bits of the twin's ACT."""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import boards
from host.algorithms.layers import Clip, Dense, Described
from host.environments.spec import Spec
from host.export.export_command import export
from host.export.fixed import FixedLayers
from host.kernels import configure, find_design
from host.learner.parameters import to_image
from host.learner.policy_weights import online_of
from host.summaries import PRECISIONS
from hw.arith.fixed import SQ
from hw.arith.fixed_point import FixedPoint
from hw.errors import UsageError
from sim.model.fixar.learner import FixarTrainer
from sim.model.fixar.numbers import operands
from sim.model.learner.network.trainer import Trainer
from tests.host import agent_parts
from tests.host.export.exports import c_outputs, played_in_c, saved

ROOT = Path(__file__).parents[3]
POLE = Spec((4,), "float32", True, 3)
BOX = Spec((4,), "float32", False, 2, low=(-2.0, 0.0), high=(2.0, 0.5))
#: name -> algorithm, design, spec, agent, fields of the kernel, twin
_FIXED = {"learner.arithmetic.kind": "fixed"}
CASES = {
    "dqn": ("dqn", "dqn", POLE, dict(hidden=(16, 8), activation="relu"), _FIXED, Trainer),
    "dqn leaky": ("dqn", "dqn", POLE, dict(hidden=(9,), activation="leaky_relu"), _FIXED, Trainer),
    "dqn tanh": ("dqn", "dqn", POLE, dict(hidden=(16, 8), activation="tanh"), _FIXED, Trainer),
    "ddpg": ("ddpg", "ddpg", BOX, dict(hidden=(16, 8)), _FIXED, Trainer),
    "fixar": ("ddpg", "fixar", BOX, dict(hidden=(16, 8), precision="fixed32"), {}, FixarTrainer),
}
QUICK = ("dqn tanh", 0.3), ("dqn leaky", 4.0), ("fixar", 0.3), ("fixar", 4.0)


def run_of(name, folder, spread, **more):
    """``(policy, the twin with its weights, the run's folder)``."""
    algo, design, spec, agent, fields, twin = CASES[name]
    policy = agent_parts.make(algo, spec, 1, **agent | more).policy
    rng = np.random.default_rng(7)
    for network in policy.networks.values():
        network.parameters += rng.normal(0, spread, len(network.parameters)).astype(np.float32)
    own = {"learner.observation": 4, "learner.action": spec.action_count}
    own["learner.hidden"] = policy.config.hidden
    if design != "fixar":
        own["learner.hidden_activation"] = policy.config.activation
    config = configure(find_design(design), boards.get("u200"), own | fields)
    learner = twin(config.learner)
    image, sets, _ = to_image(config.learner, online_of(policy))
    learner.load(image, sets)
    run = saved(policy, folder / "run", algo)
    kernel = {"name": design, "config": config.to_dict()}
    (run / "summary.json").write_text(json.dumps({"kernel": kernel}))
    return policy, learner, run


def observations():
    """Ordinary numbers, small and large ones, some beyond the format."""
    rng = np.random.default_rng(3)
    size = 10.0 ** rng.uniform(-4, 4, (400, 4))
    corners = np.array([0.0, -0.0, 1e-30, -(2.0**-11), 127.9995, -128.0, 3e38, -3e38])
    rows = [rng.normal(size=(2000, 4)), rng.normal(size=(400, 4)) * size]
    rows = np.concatenate([*rows, np.tile(corners[:, None], 4)])
    return rows.astype(np.float32)


@pytest.mark.parametrize(
    "name, spread",
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.long)
        for pair in product(CASES, (0.3, 4.0))
    ],
)
def test_bits_of_the_twin(name, spread, tmp_path):
    policy, learner, run = run_of(name, tmp_path, spread)
    obs, spec = observations(), policy.spec
    wanted = np.asarray(learner.act(obs), np.float32)
    found = c_outputs(run, obs, spec, {"q": spec.action_count} if spec.discrete else {})
    if spec.discrete:
        assert found["q"].tobytes() == wanted.tobytes()
        assert (found["action"] == wanted.argmax(1)).all() and len(set(found["action"])) > 1
    else:
        assert found["action"].tobytes() == spec.applied(wanted).tobytes()


def test_operands_at_the_ends_of_weights():
    """Rounded to the array's operands, and clipped at the highest, as the twin has them."""
    arithmetic = configure(find_design("fixar"), boards.get("u200"), {}).learner.arithmetic
    policy = agent_parts.make("ddpg", BOX, 1, hidden=(8,), precision="fixed32").policy
    stored, layers = arithmetic.weight, FixedLayers(arithmetic, policy.described())
    half = 1 << (stored.fraction - arithmetic.operand.fraction) >> 1
    raw = [stored.low, stored.low + half, -half - 1, -half, 0, half - 1, half]
    raw = np.array([*raw, stored.high - half, stored.high - half + 1, stored.high], np.int64)
    found = layers._raw(raw / 2.0**stored.fraction)
    assert found.tolist() == operands(arithmetic, raw).tolist()
    assert found[-1] == arithmetic.operand.high


def test_a_policy_s_file_has_the_kernel_of_its_run(tmp_path):
    _, _, run = run_of("dqn", tmp_path, 0.3)
    for given in (run, run / "best.npz"):
        assert export(given, "c")[1].startswith("the kernel's: weights SQ(")


@pytest.mark.parametrize("precision", sorted({*PRECISIONS} - {"float32", "fixed32"}))
def test_codes_of_16_bits_are_said(precision, tmp_path):
    _, _, run = run_of("fixar", tmp_path, 0.3, precision=precision)
    _, numbers = export(run, "c")
    assert numbers.startswith(f"float32: the codes of precision {precision} depend on ranges")


def dense(outputs, inputs):
    return Dense(np.zeros((outputs, inputs)), np.zeros(outputs))


@pytest.mark.parametrize(
    "layers, heads, text",
    [
        ([dense(2, 4)], {"q": [], "value": []}, "RUN must have one head, not q, value"),
        ([dense(2, 4), Clip()], {"q": []}, "RUN must have dense layers only, not Clip"),
        ([dense(1, 1 << 17)], {"q": []}, "kernel must have sums of at most 62 bits for C, not 63"),
    ],
)
def test_refused(layers, heads, text):
    """A product of 27 and 18 bits leaves 17 for the count of a sum."""
    arithmetic = FixedPoint(weight=SQ(4, 23), activation=SQ(8, 10))
    FixedLayers(arithmetic, Described([dense(1, (1 << 17) - 1)], "q", {"q": []}))
    with pytest.raises(UsageError, match=text):
        FixedLayers(arithmetic, Described(layers, "q", heads))


def test_a_summary_of_another_release(tmp_path):
    _, _, run = run_of("dqn", tmp_path, 0.3)
    (run / "summary.json").write_text('{"kernel": {"name": "dqn", "config": {"wings": 2}}}')
    with pytest.raises(UsageError, match="summary.json must be of this release of rlfabric"):
        export(run, "c")


def test_a_kernel_of_floats_gives_floats(tmp_path):
    policy = agent_parts.make("dqn", POLE, 1, hidden=(8,)).policy
    run = saved(policy, tmp_path / "run")
    config = configure(find_design("dqn"), boards.get("u200"), {})
    kernel = {"name": "dqn", "config": config.to_dict()}
    (run / "summary.json").write_text(json.dumps({"kernel": kernel}))
    assert export(run, "c")[1] == "float32"


@pytest.mark.long
def test_the_demo_s_policy_plays_cart_pole(tmp_path):
    """In fixed point, as ``make demo`` trains it, but on card model."""
    [words] = re.findall(r"DEMO_KERNEL := (.*\\\n.*)", (ROOT / "Makefile").read_text())
    words = words.replace("\\\n", "").split()
    run = tmp_path / "run"
    train = [sys.executable, "-m", "rlfabric", "train", "dqn", "--env", "CartPole-v1"]
    train += ["--until-solved", "--out", run, "--set", "hidden=32,32", *words]
    subprocess.run(train, cwd=ROOT, check=True, capture_output=True)
    [file, _], numbers = export(run, "c")
    returns = played_in_c(file, 100)
    print(np.mean(returns), min(returns))
    assert numbers.startswith("the kernel's") and np.mean(returns) == 500

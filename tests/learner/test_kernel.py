"""Whole gradient steps of the kernels: Verilog on card ``sim`` against the twins, bit for bit."""

import numpy as np
import pytest
from learner.learning import kernel_config, run

from hw.arith.arithmetic import Arithmetic

_NETS = {
    "small": dict(observation=3, action=2, hidden=(8,), multipliers=4),
    "chain": dict(observation=5, action=3, hidden=(12, 13), multipliers=8),
    "deep": dict(observation=4, action=4, hidden=(9, 6, 7, 5), multipliers=4),
    "wide": dict(observation=6, action=1, hidden=(40, 24), multipliers=16),
    # So fast that four words of an experience are read in a clock.
    "fast": dict(observation=5, action=2, hidden=(3,), multipliers=16),
}


def same(a, b, path=""):
    """Assert that two nested results are the same bits."""
    if isinstance(a, dict):
        for name in a:
            same(a[name], b[name], f"{path}.{name}")
    elif isinstance(a, (list, tuple)):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}[{k}]")
    else:
        a, b = np.asarray(a), np.asarray(b)
        if a.tobytes() != b.tobytes():
            differ = np.flatnonzero(a.reshape(-1) != b.reshape(-1))[:5]
            raise AssertionError(
                f"{path} differs at {differ} of {a.size}: "
                f"{a.reshape(-1)[differ]} is not {b.reshape(-1)[differ]}"
            )


def compare(config, **options):
    left, right = (run(card, config, **options) for card in ("sim", "model"))
    cycles = left.pop("cycles")
    right.pop("cycles")
    same(left["reports"], right["reports"], "reports")
    same(left, right)
    assert (cycles > 0).all()
    return cycles


_OTHER = {"optimizer": "rmsprop", "double": False}
_DEEP = _OTHER | {"hidden_activation": "tanh", "hidden": (8, 6)}
#: Compiling them is what takes long.
_FEW = {"multipliers": 2, "update_units": 2}
#: Binary32, two lanes and chains of networks have benches of all that is inside (layers, passes,
#: trainers, parameters); whole kernels of them are long.
CASES = [("dqn", "small", "fixed", 1, {})]
_OPTIMIZER = dict(zip(_NETS, ("adam", "rmsprop", "sgd", "adam", "rmsprop"), strict=True))
LONG = (
    [("ddpg", "small", "fixed", 2, _FEW | {"hidden_activation": "leaky_relu"})]
    + [
        ("dqn", net, kind, lanes, {"optimizer": _OPTIMIZER[net]})
        for net in _NETS
        for kind in ("float32", "fixed")
        for lanes in (1, 2)
    ]
    + [
        ("ddpg", net, kind, lanes, {"optimizer": _OPTIMIZER[net]})
        for net, lanes in (("small", 2), ("chain", 1), ("wide", 1), ("fast", 2))
        for kind in ("float32", "fixed")
    ]
)
LONG += [("dqn", "chain", "fixed", 2, _OTHER), ("dqn", "small", "float32", 2, _DEEP)]
LONG += [("dqn", "small", "float32", 1, _DEEP | _FEW)]
LONG += [("dqn", "small", "float32", 1, _FEW | {"hidden_activation": "leaky_relu"})]
LONG += [
    ("td3", net, kind, lanes, {"optimizer": _OPTIMIZER[net]})
    for net, lanes, kind in (("chain", 2, "fixed"), ("wide", 1, "fixed"), ("fast", 2, "float32"))
]
# More super-samples are on their way to the loss than 16.
LONG += [("ddpg", "fast", "float32", 1, {"multipliers": 64})]


def config_of(algorithm, net, kind, lanes, options):
    return kernel_config(
        algorithm=algorithm,
        lanes=lanes,
        batch=16,
        arithmetic=Arithmetic(kind=kind),
        **(_NETS[net] | options),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c[:4])))
def test_gradient_steps_are_those_of_the_twin(case):
    compare(config_of(*case), batch=8)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=lambda c: "-".join(map(str, c[:4])))
def test_all_gradient_steps_are_those_of_the_twin(case):
    compare(config_of(*case), batch=16, iterations=6)

"""the twin trainer: fixed point against its derived bound, and the rules of a step.

Binary32 against PyTorch: ``test_gradients_torch.py``.
"""

import numpy as np
import pytest
from learner.exact_learner import ExactLearner
from learner.learning import experiences, random_learner
from nn.exact_activation import EXACT

from host.learner.hyperparameters import hyperparameter_records
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.config import PARAMETER_SETS, LearnerConfig
from hw.learner.parameters.parameter_image import sections
from sim.model.learner.network.trainer import Trainer

BATCH = 32
FIXED = Arithmetic(kind="fixed", weight=SQ(4, 23), activation=SQ(4, 14), gradient=SQ(3, 15))
#: Large enough a floor that the optimizer's slope at 0, 1 / floor, says something.
STEP = dict(scale=1 / BATCH, rate=(0.02, 0.05), clip=0.8, floor=0.5, blend=(0.25, 0.125))
STEP |= dict(first_decay=0.5, second_decay=0.75)


def make(seed, optimizer="sgd", hidden=(12, 20), **config):
    """``(learner, records, weights)`` with random parameters and float32 records."""
    config = LearnerConfig(hidden=hidden, multipliers=8, optimizer=optimizer, **config)
    learner, rng = random_learner(config, seed)
    records = experiences(config, rng, BATCH)
    discrete = config.discrete
    records = {
        name: np.asarray(values, "<u4" if discrete and name == "action" else "<f4")
        for name, values in records.items()
    }
    return learner, records, rng.uniform(0.2, 3, BATCH).astype(np.float32)


def within(own, near):
    """Inside the bound, which must mean something: a quarter of the largest number at most."""
    assert np.max(near.error) < 0.25 * np.max(np.abs(near.value))
    return np.all(np.abs(own - near.value) <= near.error)


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam"])
@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("algorithm, double", [("dqn", True), ("dqn", False), ("ddpg", False)])
def test_fixed_is_within_its_bound(algorithm, double, activation, optimizer):
    learner, records, weight = make(
        7,
        optimizer,
        hidden=(8, 8),
        algorithm=algorithm,
        double=double,
        hidden_activation=activation,
        arithmetic=FIXED,
        lanes=4,
    )
    step = hyperparameter_records(1, **STEP)[0]
    exact = ExactLearner(learner.config, learner.parameters)
    _, sure = exact.train(records, weight, step)
    # Where rounding may have another action chosen, the bound says nothing: others in their place.
    keep = np.resize(np.flatnonzero(sure), BATCH)
    assert sure.mean() > 0.5
    records = {name: values[keep] for name, values in records.items()}
    weight = weight[keep]
    td, _ = exact.train(records, weight, step)
    result = learner.train(records, None, weight, step)
    assert result.saturations == (0, 0, 0) and result.diverged is None
    assert within(result.td, td)
    for name, layers in learner.parameters.items():
        for position, layer in enumerate(layers):
            for own, near in zip(
                learner.gradients[name][position], exact.gradients[name][position], strict=True
            ):
                assert within(own, near)
            for kind in ("online", "target"):
                for own, near in zip(layer[kind], exact.updated[name][position][kind], strict=True):
                    assert within(FIXED.weight.to_float(own), near)


@pytest.mark.parametrize("algorithm", ["dqn", "ddpg"])
@pytest.mark.parametrize("kind", ["float32", "fixed"])
def test_divergence_changes_nothing(algorithm, kind):
    learner, records, weight = make(
        1, "adam", algorithm=algorithm, arithmetic=Arithmetic(kind=kind)
    )
    step = hyperparameter_records(1, **STEP)[0]
    before = learner.store()
    records["reward"][[5, 9]] = np.nan, np.inf
    result = learner.train(records, None, weight, step)
    assert result.diverged == 5 and np.isnan(result.td[5]) and np.isinf(result.td[9])
    assert np.array_equal(learner.store(), before)
    assert result.saturations[0] == 0


@pytest.mark.parametrize("algorithm", ["dqn", "ddpg"])
def test_gradients_alone(algorithm):
    learner, records, weight = make(2, "adam", algorithm=algorithm)
    step = hyperparameter_records(1, **STEP)[0]
    before = learner.store()
    result = learner.train(records, None, weight, step, update=False)
    assert np.array_equal(learner.store(), before)
    gradients = {
        name: [[part.copy() for part in pair] for pair in layers]
        for name, layers in learner.gradients.items()
    }
    again = learner.train(records, None, weight, step)
    assert np.array_equal(result.td, again.td) and result.loss == again.loss
    assert not np.array_equal(learner.store(), before)
    for name, layers in gradients.items():
        for pair, other in zip(layers, learner.gradients[name], strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(pair, other, strict=True))


@pytest.mark.parametrize("algorithm", ["dqn", "ddpg"])
def test_lanes_and_order(algorithm):
    """Lanes only change the order of the gradients' sums; TD errors not at all."""
    results = {}
    for lanes in (1, 4, 16):
        learner, records, weight = make(3, algorithm=algorithm, lanes=lanes)
        step = hyperparameter_records(1, **STEP)[0]
        result = learner.train(records, None, weight, step)
        gradients = [g for layers in learner.gradients.values() for pair in layers for g in pair]
        results[lanes] = result, np.concatenate([g.ravel() for g in gradients]).copy()
    (one, a), (four, b) = results[1], results[4]
    assert np.array_equal(one.td, four.td) and one[1:] == four[1:]
    assert np.allclose(a, b, rtol=1e-5, atol=1e-5) and not np.array_equal(a, b)


def test_lagged_critic():
    """The actor's gradient does not see this step's critic."""
    gradients = []
    for rate in (0.0, 0.5):
        learner, records, weight = make(4, algorithm="ddpg")
        step = hyperparameter_records(1, **STEP | dict(rate=(rate, 0.05)))[0]
        learner.train(records, None, weight, step)
        gradients.append([g.copy() for pair in learner.gradients["actor"] for g in pair])
    assert all(np.array_equal(a, b) for a, b in zip(*gradients, strict=True))


NARROW = Arithmetic(kind="fixed", weight=SQ(2, 6), activation=SQ(2, 6), gradient=SQ(1, 6))


@pytest.mark.parametrize("algorithm", ["dqn", "ddpg"])
def test_clipped_inputs_are_counted_once(algorithm):
    """However many networks see them; all weights are zero here."""
    _, records, weight = make(5, algorithm=algorithm, arithmetic=NARROW)
    learner = Trainer(LearnerConfig(algorithm=algorithm, arithmetic=NARROW))
    records["obs"][3, 0], records["next_obs"][4, 1] = 1000, -1000
    names = ["obs", "next_obs"] + ["action"] * (algorithm == "ddpg")
    clipped = sum(
        np.count_nonzero((records[name] < -128.5 / 64) | (records[name] >= 127.5 / 64))
        for name in names
    )
    result = learner.train(
        records, None, weight, hyperparameter_records(1, **STEP)[0], update=False
    )
    assert result.saturations[:2] == (0, clipped)


def test_saturations_are_counted():
    learner, records, weight = make(5, arithmetic=NARROW)
    step = hyperparameter_records(1, **STEP | dict(rate=100, scale=1, clip=np.inf))[0]
    result = learner.train(records, None, weight, step)
    assert min(result.saturations) > 0
    # Of gradients, the loss's own and those of every layer but the first.
    delta = np.abs(result.td * (weight / weight.max())) > 1 + 0.5 / 64
    assert result.saturations[2] >= delta.sum() > 0
    arrays = [
        array
        for layers in learner.parameters.values()
        for layer in layers
        for kind in ("online", "target")
        for array in layer[kind]
    ]
    assert min(a.min() for a in arrays) == -128 and max(a.max() for a in arrays) == 127


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam"])
@pytest.mark.parametrize("kind", ["float32", "fixed"])
def test_image(kind, optimizer):
    learner, records, weight = make(6, optimizer, arithmetic=Arithmetic(kind=kind))
    learner.train(records, None, weight, hyperparameter_records(1, **STEP)[0])
    image = learner.store()
    last = sections(learner.config)[-1]
    assert image.dtype == np.uint32 and image.nbytes == last.offset + last.size
    other = Trainer(learner.config)
    assert not other.store().any()
    other.load(image)
    assert np.array_equal(other.store(), image)
    # Kinds that the optimizer lacks are zeros, and dropped.
    lacking = {"sgd": {"second"}, "rmsprop": {"first"}, "adam": set()}[optimizer]
    assert {kind for kind in PARAMETER_SETS if not learner.store((kind,)).any()} == lacking
    for kind in lacking:
        ones = np.ones_like(learner.store((kind,)))
        other.load(ones, (kind,))
        assert np.array_equal(other.store(), image)
    # A kind alone, as bytes.
    third = Trainer(learner.config)
    third.load(learner.store(("target",)).view(np.uint8), ("target",))
    assert np.array_equal(third.store(("target",)), learner.store(("target",)))
    assert not third.store(("online",)).any()


def test_image_drops_bits_above_a_weight():
    learner = Trainer(LearnerConfig(hidden=(3,), multipliers=8, arithmetic=FIXED))
    image = learner.store(("online",))
    image[:2] = 0x0400_0000, 0xF800_0001  # bit 26 is the sign
    learner.load(image, ("online",))
    weights = learner.parameters["q"][0]["online"][0].ravel()
    assert sorted(weights[weights != 0]) == [-(1 << 26), 1]


@pytest.mark.parametrize("batch", [0, 6, 68])
def test_rejected_batches(batch):
    learner = Trainer(LearnerConfig(hidden=(3,), multipliers=8, lanes=4))
    pattern = rf"^batch must be a multiple of lanes \(4\) in 1\.\.64, not {batch}$"
    with pytest.raises(ValueError, match=pattern):
        learner.train({}, None, np.ones(batch, np.float32), None)

"""An algorithm with a loss of its own, which the files of ``hw`` and ``sim`` do not know."""

import numpy as np
import pytest
from amaranth.hdl import Fragment
from learner.bandit import ENTRIES, bandit_loss
from learner.learning import experiences, kernel_config, parameters, steps
from learner.network.test_loss import TWINS, matches_twin
from learner.test_kernel import compare

from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner.config import LearnerConfig
from hw.learner.step_clocks import step_clocks
from sim.model.learner.algorithms.registry import GRADIENTS
from sim.model.learner.network.trainer import Trainer

BATCH = 16
KERNEL = dict(algorithm="bandit", observation=3, action=2, hidden=(5,), multipliers=2, batch=BATCH)


@pytest.fixture
def bandit(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


def test_gradients_are_those_of_the_formula(bandit):
    """In real numbers: squared errors weighted, back through one hidden layer of relu."""
    config = LearnerConfig(**KERNEL, optimizer="sgd")
    learner, rng = Trainer(config), np.random.default_rng(4)
    for own, pair in zip(
        learner.parameters["value"], parameters(config, rng)["value"], strict=True
    ):
        for array, values in zip(own["online"], pair, strict=True):
            array[...] = values
    (w, b), (v, c) = (
        [x.astype(float) for x in own["online"]] for own in learner.parameters["value"]
    )
    records, weight = experiences(config, rng, BATCH), rng.uniform(0.2, 3, BATCH)
    records = {k: x.astype("<u4" if k == "action" else "<f4") for k, x in records.items()}
    weight = weight.astype(np.float32)
    result = learner.train(records, None, weight, steps(1, BATCH, clip=0.25)[0], update=False)

    x, row = records["obs"].T.astype(float), np.arange(BATCH)
    y = w @ x + b[:, None]
    h = np.maximum(y, 0)
    td = (v @ h + c[:, None])[records["action"], row] - records["reward"]
    share = weight / weight.max()
    delta = np.zeros((2, BATCH))
    delta[records["action"], row] = share * td
    below = (v.T @ delta) * (y > 0)
    expected = [below @ x.T, below.sum(1), delta @ h.T, delta.sum(1)]
    close = dict(rtol=1e-4, atol=1e-5)
    found = [array for pair in learner.gradients["value"] for array in pair]
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, **close)
    np.testing.assert_allclose(result.td, td, **close)
    np.testing.assert_allclose(result.loss, np.sum(share * td**2 / 2), **close)
    assert (np.abs(td) > 0.25).any(), "the limit must not count"


def test_hardware_of_its_loss_is_the_twin(bandit, simulate, tmp_path, monkeypatch):
    """What is the algorithm's own: collected numbers, the loss, and errors that go back."""
    monkeypatch.setitem(TWINS, "bandit", bandit_loss)
    config = LearnerConfig(**KERNEL | dict(batch=256), arithmetic=Arithmetic(kind="fixed"))
    matches_twin(simulate, tmp_path, config)


def test_no_program_stands_in_place_of_its_loss(bandit):
    rule = "^loss_unit must be pipeline for bandit, whose loss is not that of hw.nn.td_loss, not "
    with pytest.raises(ValueError, match=rule + "'program'$"):
        LearnerConfig(**KERNEL, loss_unit="program")


def test_it_becomes_a_kernel(bandit):
    """With one network, which has no target: all is connected."""
    config = kernel_config(**KERNEL, lanes=2, arithmetic=Arithmetic(kind="fixed"))
    assert Fragment.get(DESIGNS["bandit"].kernel(config), None).subfragments


@pytest.mark.long
def test_hardware_is_the_twin(bandit):
    """Whole iterations on the simulated card, with the clocks of the formula."""
    config = kernel_config(**KERNEL, lanes=2, arithmetic=Arithmetic(kind="fixed"))
    cycles = compare(config, batch=BATCH)
    assert (cycles[:, 2] == step_clocks(config.learner, BATCH).step).all()


def test_its_design(bandit):
    design = DESIGNS["bandit"]
    config = design.default({"data_width": 512, "uram": None})
    assert config.learner.algorithm == "bandit" and list(config.learner.networks) == ["value"]
    assert design.training.settings_of(config).keys() == {
        "capacity", "hidden", "activation", "optimizer", "batch_size", "max_gradient_norm",
    }  # fmt: skip
    assert design.describe(config).name == "bandit" and design.estimate(config).dsp > 0
    assert config.fields["action"] == ("<u4", ())


def test_an_algorithm_without_an_object():
    with pytest.raises(ValueError, match="^algorithm must be one of dqn, ddpg, td3, not 'bandit'$"):
        LearnerConfig(algorithm="bandit")
    with pytest.raises(
        ValueError, match=r"^algorithm must be one of dqn, ddpg, td3, not \['dqn'\]$"
    ):
        LearnerConfig(algorithm=["dqn"])


def test_an_algorithm_without_a_twin(bandit, monkeypatch):
    monkeypatch.delitem(GRADIENTS, "bandit")
    with pytest.raises(
        ValueError, match=r"^algorithm must be one with a twin \(dqn, ddpg, td3\), not 'bandit'$"
    ):
        Trainer(LearnerConfig(**KERNEL))

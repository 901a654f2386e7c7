"""How many numbers the twins of ``td3`` and ``ddpg`` clip in each pass, counted by hand.

Where nothing else is said all parameters, rewards and discounts are 0. A batch has eight samples.
"""

import numpy as np
import pytest

from host.learner.hyperparameters import hyperparameter_records
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.config import LearnerConfig
from sim.model.learner.network.trainer import Trainer

#: Activations are below 8, weights below 4, gradients below 2.
NARROW = Arithmetic(kind="fixed", weight=SQ(3, 9), activation=SQ(4, 6), gradient=SQ(2, 4))
FIELDS = dict(obs=3, next_obs=3, action=2, reward=None, discount=None)


def counts(algorithm, fields=(), numbers=(), sweeps=3):
    """``saturations`` of a step. ``fields``: values of all numbers of a field. ``numbers``: the
    first weight of the first layer, or of the last one, of sets of networks."""
    sizes = dict(observation=3, action=2, hidden=(4,), batch=8, arithmetic=NARROW)
    learner = Trainer(LearnerConfig(algorithm=algorithm, **sizes))
    for (network, kind, layer), value in dict(numbers).items():
        learner.parameters[network][layer][kind][0][0, 0] = value * 2**NARROW.weight.fraction
    records = {
        name: np.full((8, size) if size else 8, dict(fields).get(name, 0), np.float32)
        for name, size in FIELDS.items()
    }
    record = learner.config.step_record
    options = dict(sweeps=sweeps) if "sweeps" in record.dtype.names else {}
    [step] = hyperparameter_records(1, record, scale=1, rate=0, floor=1e-3, **options)
    return learner.train(records, None, np.ones(8, np.float32), step).saturations


@pytest.mark.parametrize("field, critics, both", [("obs", 24, 48), ("next_obs", 24, 24)])
def test_experiences_count_in_each_sweep_that_reads_them(field, critics, both):
    assert counts("td3", {field: 100}, sweeps=1) == (0, critics, 0)
    assert counts("td3", {field: -100}) == (0, both, 0)
    assert counts("ddpg", {field: 100}) == (0, 24, 0)


def test_actions_of_experiences_are_read_once():
    assert counts("td3", dict(action=100)) == counts("ddpg", dict(action=100)) == (0, 16, 0)


#: Sums of a first layer that are too large: in a step of td3 without the actor and with it, and of
#: ddpg. A critic's online weights see an observation twice, in ddpg in one sweep.
PASSES = {
    ("actor", "online", "obs"): (0, 8, 8),
    ("actor", "target", "next_obs"): (8, 8, 8),
    ("critic", "online", "obs"): (8, 16, 16),
    ("critic", "target", "next_obs"): (8, 8, 8),
    ("critic_2", "online", "obs"): (8, 8, None),
    ("critic_2", "target", "next_obs"): (8, 8, None),
}


@pytest.mark.parametrize("network, kind, field", PASSES)
def test_activations_of_every_pass_count(network, kind, field):
    critics, both, ddpg = PASSES[network, kind, field]
    given = {field: 7}, {(network, kind, 0): 3}
    assert counts("td3", *given, sweeps=1) == (0, critics, 0)
    assert counts("td3", *given) == (0, both, 0)
    if ddpg is not None:
        assert counts("ddpg", *given) == (0, ddpg, 0)


def test_gradients_of_each_loss_count():
    """Of both critics; on the way back through the last layer, those of the network that has a
    weight there, and in ddpg and in the second sweep those for the actor too."""
    reward = dict(reward=100)
    assert counts("td3", reward) == (0, 0, 16) and counts("ddpg", reward) == (0, 0, 8)
    one, two = ({(name, "online", 1): 3} for name in ("critic", "critic_2"))
    assert counts("td3", reward, two) == (0, 0, 24)
    assert counts("td3", reward, one, sweeps=1) == (0, 0, 24)
    assert counts("td3", reward, one) == (0, 0, 32)
    assert counts("ddpg", reward, one) == (0, 0, 24)


def test_gradients_of_experiences_count_too():
    """Nobody takes them, but the hardware computes them with the others."""
    numbers = {("critic", "online", 0): 3, ("critic", "online", 1): 0.75}
    given = dict(reward=100, obs=1), numbers
    assert counts("td3", *given, sweeps=1) == (0, 0, 24)
    assert counts("td3", *given) == (0, 0, 32) and counts("ddpg", *given) == (0, 0, 24)

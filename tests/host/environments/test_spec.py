"""host.environments.spec: of environments, and the fields of an experience."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from learner.modelled import DDPG, DQN

from host.environments.spec import Spec

IMAGE = Spec(shape=(12, 10, 3), dtype="uint8", discrete=True, action_count=4, exponent=-8)
PLANES = replace(IMAGE, exponent=0)
POLE = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
ARM = Spec((3,), "float32", False, 2, low=(-2.0, -2.0), high=(5.0, 5.0))


def of(seen, taken):
    return Spec.of(SimpleNamespace(single_observation_space=seen, single_action_space=taken))


SPACES = [
    (Box(-1, 1, (4,), np.float32), Discrete(2), POLE),
    (Box(-1, 1, (4,), np.float64), Discrete(2, start=7), replace(POLE, start=7)),
    (Box(-1, 1, (3,), np.float32), Box(-2, 5, (2,)), ARM),
    (Box(0, 255, (12, 10, 3), np.uint8), Discrete(4), IMAGE),
    # Flattened images, and numbers with a shape.
    (Box(0, 255, (4,), np.uint8), Discrete(2), POLE),
    (Box(0, 1, (12, 10, 3), np.float64), Discrete(4), replace(PLANES, dtype="float32")),
    (Box(0, 9, (12, 10, 3), np.int16), Discrete(4), replace(PLANES, dtype="float32")),
    (Box(0, 1, (12, 10, 3), np.bool_), Discrete(4), PLANES),
]


@pytest.mark.parametrize("seen, taken, expected", SPACES, ids=lambda each: str(each)[:40])
def test_of_an_environment(seen, taken, expected):
    found = of(seen, taken)
    assert found == expected and type(found.action_count) is int
    assert found.size == np.prod(seen.shape) and type(found.size) is int
    assert Spec.from_dict(json.loads(json.dumps(found.to_dict()))) == found


FLOAT, BYTE, WORD = np.dtype(np.float32), np.dtype(np.uint8), np.dtype(np.uint32)


@pytest.mark.parametrize(
    "spec, obs, action",
    [
        (POLE, (FLOAT, (4,)), (WORD, ())),
        (ARM, (FLOAT, (3,)), (FLOAT, (2,))),
        (IMAGE, (BYTE, (12, 10, 3)), (WORD, ())),
        (replace(ARM, action_count=1), (FLOAT, (3,)), (FLOAT, (1,))),
    ],
)
def test_fields_of_an_experience(spec, obs, action):
    number = (FLOAT, ())
    expected = dict(obs=obs, next_obs=obs, action=action, reward=number, discount=number)
    assert list(spec.fields.items()) == list(expected.items())


@pytest.mark.parametrize("config", [DQN, DDPG], ids=["dqn", "ddpg"])
def test_a_learner_on_the_card_has_the_same(config):
    learner = config.learner
    discrete = learner.discrete
    spec = Spec((learner.observation,), "float32", discrete, learner.action)
    own = {name: (np.dtype(kind), shape) for name, (kind, shape) in config.fields.items()}
    assert list(spec.fields.items()) == list(own.items())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_actions_are_applied_in_the_environments_own_numbers(kind):
    """The ends are reached, and not passed by what rounding adds."""
    taken = Box(kind(0.1), kind(0.3), (2,), kind)
    found = Spec.from_dict(json.loads(json.dumps(of(Box(-1, 1, (3,)), taken).to_dict())))
    applied = found.applied(np.float32([[-1, 1], [0, 0.5]]))
    assert applied.dtype == kind and taken.contains(applied[0])
    assert applied[0, 0] == taken.low[0] and found.action_dtype == taken.dtype.name
    np.testing.assert_allclose(applied, [[0.1, 0.3], [0.2, 0.25]], rtol=1e-6)

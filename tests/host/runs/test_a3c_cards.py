"""A run of a3c is the same on the twin and on the Verilog, to the last bit of every round."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from replay.kernels import opened

from host.a3c.card_network import ActorCritic
from host.runs.assembly import build
from hw.shell.axi import EngineConfig
from tests.host.round_parts import *

PLANES = "rlfabric-tests/Planes-v0"


class Planes(gymnasium.Env):
    """Random binary planes of MinAtar's size, episodes of some 30 steps."""

    observation_space = gymnasium.spaces.Box(0, 1, (10, 10, 4), np.bool_)
    action_space = gymnasium.spaces.Discrete(6)

    def _obs(self):
        return self.np_random.random((10, 10, 4)) < 0.1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._obs(), {}

    def step(self, action):
        seen, ended = self._obs(), self.np_random.random() < 0.03
        return seen, float(seen[action].any()), ended, not ended and seen[0, 0, 0], {}


gymnasium.register(PLANES, entry_point=Planes)

ENGINE = EngineConfig(data_width=128, depth=64, burst_beats=32, bursts=4)
#: run, kernel and rounds
CASES = {
    "CartPole": (
        dict(env_count=6, group=2, agent=dict(hidden=[8], batch_size=2)),
        dict(lanes=1, units=("any",), engine=ENGINE, parameter_rows=64),
        200,
    ),
    "own theta": (
        dict(env_count=6, group=1, agent=dict(hidden=[8], batch_size=2)),
        dict(lanes=1, units=("train", "any"), engine=ENGINE, parameter_rows=64),
        200,
    ),
    "planes": (
        dict(env=PLANES, env_count=8, group=2, agent=dict(hidden=[128], batch_size=5)),
        dict(lanes=2, units=("infer", "train"), rms_units=4, parameter_rows=1024),
        50,
    ),
}


def rounds(card, name):
    """Outputs of every launch, then theta and g."""
    run, kernel, count = CASES[name]
    config, outputs = configured(**run), []
    with opened(card, kernel_of(config, **kernel)) as loaded:
        session = build(config, partial(ActorCritic, loaded))
        executor = session.learner.executor
        execute = executor.run

        def kept(work):
            found = execute(work)
            outputs.extend(each for each in found if each is not None)
            return found

        executor.run = kept
        for _ in range(count):
            session.iterate()
        state, updates = session.state_dict()["learner"], session.clock.updates
        session.close()
    return outputs, state, updates


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_same_rounds_on_both_cards(name):
    (model, model_state, updates), (sim, sim_state, _) = rounds("model", name), rounds("sim", name)
    assert updates > 15 and len(model) == len(sim) > 60
    for number, (one, other) in enumerate(zip(model, sim, strict=True)):
        np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32), str(number))
    for image in ("theta", "squares"):
        assert model_state[image].dtype == np.uint32 and model_state[image].any()
        np.testing.assert_array_equal(model_state[image], sim_state[image])

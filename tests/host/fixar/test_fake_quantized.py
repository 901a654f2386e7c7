"""host.fixar.fake_quantization: a network in training, what acts by it, what is kept of it."""

import numpy as np

from tests.host.agent_parts import CONTINUOUS, make, make_batch


def agent():
    return make("ddpg", precision="fixed32", lagged_critic=False)


def test_who_acts_is_not_captured():
    """Ranges are of what trains; they go on after an action."""
    trained = agent().updater.networks["actor"]
    for capture in (True, False):
        trained.mlp.capture = capture
        trained.infer(np.full((2, 3), 9, np.float32))
        assert trained.mlp.capture is capture
    assert trained.mlp.ranges["activation"][0] == (0, 0)


def test_a_state_is_a_copy():
    one = agent()
    state = one.updater.state_dict()["networks"]["critic"]["parameters"]
    before = state.copy()
    one.learn(make_batch(CONTINUOUS))
    np.testing.assert_array_equal(state, before)
    after = one.updater.state_dict()["networks"]["critic"]["parameters"]
    assert not np.array_equal(after, before)

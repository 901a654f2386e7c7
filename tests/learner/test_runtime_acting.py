"""host.learner.inference on card ``model``: actions of any number of observations, and refusals."""

import numpy as np
import pytest
from learner.modelled import DDPG, DQN, FIXED, filled, kernel_config, opened, weights

from host.learner.learning_replay import LearningReplay
from host.programs.launcher import CommandError
from hw.learner.commands import LearnOpcode
from hw.learner.config import PARAMETER_SETS
from hw.learner.records import LearnError

#: Layers relu, relu, linear or tanh; three numbers an observation, two an action.
CASES = {
    "dqn": (DQN, 1e-5),
    "dqn fixed": (kernel_config("dqn", arithmetic=FIXED), 5e-3),
    "ddpg": (DDPG, 1e-5),
    "ddpg fixed": (kernel_config("ddpg", arithmetic=FIXED), 5e-3),
    # More than a granule of either.
    "wide": (kernel_config("ddpg", observation=5, action=6), 1e-5),
}


def forward(config, x):
    """The acting network of ``weights(config)`` in float64."""
    name, last = ("q", lambda y: y) if config.learner.algorithm == "dqn" else ("actor", np.tanh)
    layers = weights(config)[name]
    for number, (matrix, bias) in enumerate(layers):
        x = x @ np.float64(matrix).T + bias
        x = np.maximum(x, 0) if number < len(layers) - 1 else last(x)
    return x


@pytest.mark.parametrize("name", CASES)
def test_actions(name):
    """Of each observation by itself, whatever comes with it; in one launch."""
    config, tolerance = CASES[name]
    learner = config.learner
    seen = np.random.default_rng(3).normal(size=(2 * learner.batch + 5, learner.observation))
    with opened(config) as kernel:
        buffer = filled(kernel, config)
        state = buffer.state_dict()
        launches = buffer.launches
        actions = buffer.act(seen)
        assert actions.dtype == np.float32 and actions.shape == (len(seen), learner.action)
        np.testing.assert_allclose(actions, forward(config, seen), rtol=0, atol=tolerance)
        assert np.ptp(actions, axis=0).min() > 10 * tolerance
        assert buffer.launches == launches + 1
        for count in (1, learner.batch - 1, learner.batch, learner.batch + 1):
            np.testing.assert_array_equal(buffer.act(seen[-count:]), actions[-count:])
        launches = buffer.launches
        assert buffer.act(seen[:0]).shape == (0, learner.action)
        assert buffer.act(seen.astype(np.float32)[::-2].tolist()).shape[0] == len(seen) // 2 + 1
        assert buffer.launches == launches + 1
        for key, value in buffer.state_dict().items():
            np.testing.assert_array_equal(value, state[key], key)


@pytest.mark.parametrize(
    "observations, message",
    [
        (np.zeros(3), r"^observations must be \[n, 3\], not \[3\]$"),
        (np.zeros((2, 4)), r"^observations must be \[n, 3\], not \[2, 4\]$"),
        (np.zeros((1, 1, 3)), r"^observations must be \[n, 3\], not \[1, 1, 3\]$"),
        ([[0, 1, 2], [np.nan, 0, 1]], r"^observations must be finite, not nan at \[1, 0\]$"),
        (np.full((40, 3), -np.inf), r"^observations must be finite, not -inf at \[0, 0\]$"),
        ([[0, 1e39, 2]], r"^observations must be .* float32 holds, not 1e\+39 at \[0, 1\]$"),
    ],
)
def test_bad_observations_do_not_reach_the_card(observations, message):
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        launches = buffer.launches
        with pytest.raises(ValueError, match=message):
            buffer.act(observations)
        assert buffer.launches == launches


def test_the_online_parameters_are_enough():
    with opened(DQN) as kernel:
        buffer = LearningReplay(kernel, capacity=40)
        for sets in ((), PARAMETER_SETS[1:]):
            if sets:
                buffer.load({"q": [dict.fromkeys(sets, pair) for pair in weights(DQN)["q"]]})
            with pytest.raises(ValueError, match="^parameters must be loaded first .*, not miss"):
                buffer.act(np.zeros((1, 3)))
        buffer.load({"q": [{"online": pair} for pair in weights(DQN)["q"]]})
        np.testing.assert_allclose(
            buffer.act(np.ones((1, 3))), forward(DQN, np.ones((1, 3))), atol=1e-5
        )


def test_the_card_refuses_numbers_that_are_none():
    """Nobody has looked before: the position of the first; what fills a granule is nobody's."""
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        seen = np.full((11, 4), np.nan, np.float32)
        seen[:, :3] = 1
        program = [(LearnOpcode.ACT, {"count": 11})]
        assert len(buffer.launcher.run(program, [(0, seen)], 11 * 16)) == 11 * 16
        seen[9, 0], seen[6, 2] = np.inf, np.nan
        with pytest.raises(CommandError, match=r"\(ACT\) must be valid, not number") as caught:
            buffer.launcher.run(program, [(0, seen)], 11 * 16)
        assert (caught.value.code, caught.value.detail) == (LearnError.NUMBER, 6)
        assert (buffer.act(np.ones((1, 3))) != 0).any()

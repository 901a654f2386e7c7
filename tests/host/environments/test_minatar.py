"""host.environments.minatar: planes that are bytes, seeds that decide all, pictures of them."""

from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from host.agents.registry import find
from host.environments.environment import Actor, make_envs
from host.environments.minatar import MinAtarEnv
from host.environments.seeds import folded
from host.environments.spec import Spec
from tests.host.seeded import Summing, check_seeds

#: whatever the registry's takes
DQN = replace(find("dqn"), images=True)


def test_a_seed_of_minatar_decides_the_first_action_too():
    """Its games repeat the last action, in one step of ten, and across resets."""
    with closing(make_envs("MinAtar/Freeway-v1", 1, DQN)) as envs:
        for seed in range(60):
            firsts = []
            for before in (0, 1, 1):
                envs.reset(seed=3)
                for _ in range(8):
                    envs.step([before])
                envs.reset(seed=seed)
                firsts.append(envs.step([2])[0])
            np.testing.assert_array_equal(firsts[0], firsts[1])


#: actions of a game, and its planes
MINATAR = {
    "Asterix": (5, 4),
    "Breakout": (3, 4),
    "Freeway": (3, 7),
    "Seaquest": (6, 10),
    "SpaceInvaders": (4, 6),
}


@pytest.mark.parametrize("game", MINATAR)
def test_planes_are_bytes(game):
    actions, planes = MINATAR[game]
    with closing(make_envs(f"MinAtar/{game}-v1", 2, DQN, "rgb_array")) as envs:
        spec = Spec.of(envs)
        assert spec == Spec((10, 10, planes), "uint8", True, actions, exponent=0)
        actor = Actor(envs, seed=0)
        for _ in range(30):
            step, _ = actor.step(Summing(actions).act(actor.obs, greedy=True))
            for seen in (step.obs, step.next_obs):
                assert (seen.dtype, seen.shape) == (np.uint8, (2, 10, 10, planes))
                assert set(np.unique(seen)) == {0, 1}
        picture = envs.render()[1]
        shown = actor.obs[1].any(axis=-1)
    assert (picture.dtype, picture.shape) == (np.uint8, (320, 320, 3))
    np.testing.assert_array_equal(picture[16::32, 16::32].any(axis=-1), shown)
    np.testing.assert_array_equal(picture, picture[::32, ::32].repeat(32, 0).repeat(32, 1))


def test_environment_i_starts_from_seed_plus_i():
    with closing(make_envs("MinAtar/Asterix-v1", 3, DQN)) as envs:
        with closing(make_envs("MinAtar/Asterix-v1", 1, DQN)) as one:
            check_seeds(envs, one)


def test_who_takes_no_images_has_numbers():
    with closing(make_envs("MinAtar/Breakout-v1", 1, find("ppo"))) as envs:
        assert Spec.of(envs) == Spec((400,), "float32", True, 3)


@pytest.mark.parametrize("bits", [31, 32])
def test_seeds_that_fit_are_themselves(bits):
    """Of those beyond each is another, within the bits."""
    most = (1 << bits) - 1
    assert [folded(seed, bits) for seed in (0, 1, most)] == [0, 1, most]
    beyond = [folded(seed, bits) for seed in range(most + 1, most + 100)]
    assert len(set(beyond)) == 99 and 0 <= min(beyond) and max(beyond) <= most
    assert max(beyond) > most // 2 and folded(most + 1, bits) == beyond[0]


class Asked(gymnasium.Env):
    """What MinAtarEnv stands in front of; keeps what it was asked."""

    game, picture, asked = SimpleNamespace(last_action=3), None, ()

    def reset(self, *, seed=None, options=None):
        self.asked = seed, options, self.game.last_action
        return None, {}

    def render(self):
        return self.picture


def test_what_is_passed_on():
    """A seed of 32 bits, options; and that there is no picture."""
    inner = Asked()
    env = MinAtarEnv(inner)
    env.reset(options={"a": 1})
    assert inner.asked == (None, {"a": 1}, 3) and env.render() is None
    env.reset(seed=(1 << 32) - 1)
    assert inner.asked == ((1 << 32) - 1, None, 0)
    inner.picture = np.float64([[[0, 0.5, 1], [0.999, 0.001, 0.25]]])
    picture = env.render()
    assert picture.shape == (32, 64, 3) and picture.dtype == np.uint8
    assert picture[0, ::32].tolist() == [[0, 128, 255], [255, 0, 64]]

"""Classic control without its layers, beside gymnasium's SyncVectorEnv: every byte is the same."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import ClipReward, OrderEnforcing, TimeLimit

from host.agents.registry import find
from host.environments.cart_pole import CartPoleEnvs
from host.environments.classic_control import ClassicControlEnvs
from host.environments.environment import Actor, classic_control, make_envs
from host.environments.tasks import TaskVectorEnv
from hw.errors import UsageError

IDS = (
    "CartPole-v1", "CartPole-v0", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0",
    "Pendulum-v1",
)  # fmt: skip


def made(env, count, **options):
    return [gymnasium.make(env, disable_env_checker=True, **options) for _ in range(count)]


def beside(env, count, **options):
    """Both vectors of the same environments."""
    theirs = SyncVectorEnv(
        [lambda one=one: one for one in made(env, count, **options)],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    return classic_control(made(env, count, **options)), theirs


def assert_same(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        assert mine.tobytes() == other.tobytes()


def actions_of(envs, rng, step):
    """Random actions, which for stretches of a time are the same ones."""
    if step % 7 < 3:
        envs.action_space.seed(int(rng.integers(1 << 30)))
        return envs.action_space.sample()
    low, high = ((0, 1), (-2, 2))[hasattr(envs.single_action_space, "high")]
    return np.full_like(envs.action_space.sample(), low if step % 2 else high)


@pytest.mark.parametrize("env", IDS)
@pytest.mark.parametrize("count, limit", [(1, None), (3, 9)])
def test_every_byte_is_gymnasiums(env, count, limit):
    """Over ends of both kinds and both at once, with episodes of a limit of steps, and a second
    reset with other seeds, with a list of them, and with none."""
    ours, theirs = beside(env, count, max_episode_steps=limit)
    assert type(ours) is (CartPoleEnvs if env.startswith("CartPole") else ClassicControlEnvs)
    rng, ends = np.random.default_rng(5), 0
    for seed, steps in ((3, 40), (None, 30), (list(range(count))[::-1], 10)):
        assert_same(ours.reset(seed=seed)[:1], theirs.reset(seed=seed)[:1])
        for step in range(steps):
            action = actions_of(theirs, rng, step)
            *mine, info = ours.step(action)
            *other, told = theirs.step(action)
            assert_same(mine, other)
            assert ("final_obs" in info) == ("final_obs" in told)
            if "final_obs" in info:
                assert_same([info["_final_obs"]], [told["_final_obs"]])
                for i in told["_final_obs"].nonzero()[0]:
                    assert_same([info["final_obs"][i]], [told["final_obs"][i]])
                    ends += 1
    assert ends or limit is None


def test_carts_have_gymnasiums_states():
    """In float64, of which observations show half of the bits."""
    ours, theirs = beside("CartPole-v1", 3, max_episode_steps=30)
    rng = np.random.default_rng(8)
    for envs in (ours, theirs):
        envs.reset(seed=4)
    for _ in range(100):
        action = rng.integers(2, size=3)
        ours.step(action), theirs.step(action)
        states = [np.array(env.unwrapped.state) for env in theirs.envs]
        assert np.array(ours.states).tobytes() == np.stack(states).tobytes()


def test_a_pole_falls_at_the_limit_of_steps():
    """Terminated and truncated in one step."""
    both = 0
    for limit in (8, 9, 10):
        ours, theirs = beside("CartPole-v1", 2, max_episode_steps=limit)
        ours.reset(seed=1), theirs.reset(seed=1)
        for _ in range(60):
            mine, other = (envs.step(np.ones(2, np.int64)) for envs in (ours, theirs))
            assert_same(mine[:4], other[:4])
            both += int((mine[2] & mine[3]).sum())
    assert both


def test_arrays_are_of_each_step():
    """No array changes after it was returned, also in the Actor, which does not copy them."""
    for envs in (beside("CartPole-v1", 2)[0], make_envs("rlfabric/CartPole-v1", 2, find("dqn"))):
        actor, kept = Actor(envs, seed=3), []
        assert actor._own_arrays
        for step in range(40):
            taken, _ = actor.step(np.full(2, step % 4 == 0, np.int64))
            arrays = taken.obs, taken.next_obs, taken.reward, taken.terminated, taken.truncated
            kept += [(array, array.copy()) for array in arrays]
        assert all(array.tobytes() == copy.tobytes() for array, copy in kept)
        inputs = [id(array) for array, _ in kept[1::5]]
        assert len(set(inputs)) == len(inputs)


def test_the_actors_transitions_are_the_same():
    """With and without the way of our own, final observations and episodes included."""
    ours, theirs = (Actor(envs, seed=11) for envs in beside("CartPole-v1", 3))
    for step in range(120):
        action = np.array([step % 3 == 0, 1, step % 2], np.int64)
        (mine, episodes), (other, told) = ours.step(action), theirs.step(action)
        assert episodes == told
        names = "obs", "next_obs", "reward", "terminated", "truncated", "valid"
        assert_same(*([getattr(taken, name) for name in names] for taken in (mine, other)))


class Heavier(CartPoleEnv):
    """A subclass is another environment."""


def _unlike():
    """Name -> environments that must not be stepped in this way."""
    plain = made("CartPole-v1", 1)[0]
    light = made("CartPole-v1", 1)[0]
    light.unwrapped.render_mode = "rgb_array"
    return {
        "a subclass": [TimeLimit(Heavier(), 9)],
        "a wrapper": [ClipReward(plain, -1, 1)],
        "a wrapper within": [TimeLimit(OrderEnforcing(ClipReward(CartPoleEnv(), -1, 1)), 9)],
        "two kinds": [*made("CartPole-v1", 1), *made("Acrobot-v1", 1)],
        "pictures": [light],
        "another environment": made("rlfabric/CartPole-v1", 1),
    }


@pytest.mark.parametrize("name", _unlike())
def test_others_go_by_gymnasiums_vector(name):
    assert classic_control(_unlike()[name]) is None


@pytest.mark.parametrize("what", ["reward", "integrator", "numbers", "source", "object"])
def test_another_cart_goes_by_gymnasiums_step(what, monkeypatch):
    """It has gymnasium's own step, whatever that is, and its results."""
    envs = made("CartPole-v1", 2, sutton_barto_reward=what == "reward")
    cart = envs[1].unwrapped
    if what == "integrator":
        cart.kinematics_integrator = "semi-implicit euler"
    elif what == "numbers":
        cart.gravity = 3.0
    elif what == "object":
        cart.step = lambda action: (np.zeros(4, "f4"), 7.0, False, False, {})
    elif what == "source":
        monkeypatch.setattr(CartPoleEnv, "step", lambda *_: (np.ones(4, "f4"), 5.0, 0, 0, {}))
    ours = classic_control(envs)
    assert type(ours) is ClassicControlEnvs
    ours.reset(seed=0)
    _, reward, *_ = ours.step(np.zeros(2, np.int64))
    expected = {"reward": 0.0, "object": 7.0, "source": 5.0}
    assert reward[1] == expected.get(what, 1.0)


def test_runs_take_them():
    """Where they are made for an algorithm; not where they are drawn."""
    for env, algorithm in (("CartPole-v1", "dqn"), ("Pendulum-v1", "sac")):
        assert isinstance(make_envs(env, 2, find(algorithm)), ClassicControlEnvs)
        drawn = make_envs(env, 1, find(algorithm), render_mode="rgb_array")
        assert isinstance(drawn, SyncVectorEnv)


def test_own_arrays_are_of_the_class_itself():
    """A subclass may do with its arrays as it likes."""

    class Reusing(TaskVectorEnv):
        pass

    envs = make_envs("rlfabric/CartPole-v1", 2, find("dqn"))
    assert Actor(envs, seed=0)._own_arrays
    envs.__class__ = Reusing
    assert not Actor(envs, seed=0)._own_arrays


def test_misuse_is_refused():
    envs = beside("CartPole-v1", 2)[0]
    with pytest.raises(UsageError, match="reset must be called before step"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(seed=0)
    with pytest.raises(UsageError, match="^actions must be 2, one a cart, not 3$"):
        envs.step(np.zeros(3, np.int64))
    with pytest.raises(UsageError, match="seed must have 2 seeds, not 3"):
        envs.reset(seed=[1, 2, 3])

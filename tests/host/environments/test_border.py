"""host.environments.border: whatever an environment does with its arrays, transitions are the same;
what cannot be taken is named."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from host.agents.evaluation import Copies, evaluate
from host.agents.registry import find
from host.environments.border import Border, EnvironmentFailed, received
from host.environments.environment import Actor, make_envs
from host.environments.spaces import Flattened
from hw.errors import UsageError
from tests.host.habits import EQUAL, FAILS, Habit, named

SAME, NEXT, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
MODES = [SAME, NEXT, DISABLED]
FIELDS = ("obs", "next_obs", "reward", "terminated", "truncated", "valid")


def of(habit, count=3, kind=SyncVectorEnv, **options):
    return kind([lambda: Habit(habit)] * count, **options)


def history(envs, steps=40):
    """All bytes of some steps, looked at after the last of them; and the episodes."""
    actor, rng, taken, episodes = Actor(envs, seed=5), np.random.default_rng(1), [], []
    for _ in range(steps):
        step, ended = actor.step(rng.integers(2, size=envs.num_envs))
        taken.append(step)
        episodes += ended
    envs.close()
    assert len(episodes) > 10 and {length for _, length in episodes} == {6, 7}
    return [getattr(step, name).tobytes() for step in taken for name in FIELDS], episodes


@pytest.fixture(scope="module")
def wanted():
    return {mode: history(of("none", autoreset_mode=mode)) for mode in MODES}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("habit", EQUAL)
def test_habits_that_change_nothing(habit, mode, wanted):
    assert history(of(habit, autoreset_mode=mode)) == wanted[mode]


@pytest.mark.parametrize("mode", MODES)
def test_vectors_that_do_not_copy(mode, wanted):
    for habit in ("none", "reused", "shared"):
        plain = of(habit, copy=False, autoreset_mode=mode)
        assert history(plain) == wanted[mode]
        wrapped = RecordEpisodeStatistics(of(habit, copy=False, autoreset_mode=mode))
        assert history(wrapped) == wanted[mode]


class Buffers(VectorEnv):
    """A vector environment of one's own, whose results are the same arrays in each step. With
    ``final`` "own" final_obs are so too, with "obs" they are rows of the observations, and with
    "reset" the arrays of environments that write into one array."""

    def __init__(self, mode, final="own", habit="none", count=3):
        inner = [Habit("reused" if final == "reset" else habit) for _ in range(count)]
        self.envs, self.num_envs, self._final = inner, count, final
        self.single_observation_space = inner[0].observation_space
        self.single_action_space = inner[0].action_space
        self.metadata, self._mode = {"autoreset_mode": mode}, mode
        self._obs, self._last = np.zeros((2, count, 3), np.float32)
        self._reward, self._ended = np.zeros((count, 1)), np.zeros((2, count), bool)

    def reset(self, *, seed=None, options=None):
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self._ended[:, mask] = False
        self._obs[~mask] = np.nan  # has no meaning
        for i in np.flatnonzero(mask):
            self._obs[i] = self.envs[i].reset(seed=None if seed is None else seed + int(i))[0]
        return self._obs, {}

    def step(self, actions):
        final = np.full(self.num_envs, None, object)
        for i, env in enumerate(self.envs):
            if self._mode == NEXT and self._ended[:, i].any():
                self._obs[i], self._reward[i], self._ended[:, i] = env.reset()[0], 0, False
                continue
            obs, self._reward[i], *self._ended[:, i], _ = env.step(actions[i])
            self._obs[i] = obs
            if self._mode == SAME and self._ended[:, i].any():
                self._last[i] = obs
                final[i] = {"own": self._last[i], "obs": self._obs[i], "reset": obs}[self._final]
                self._obs[i] = env.reset()[0]
        info = {"final_obs": final} if self._mode == SAME else {}
        return self._obs, self._reward, self._ended[0], self._ended[1], info


@pytest.mark.parametrize("mode", MODES)
def test_a_vector_of_ones_own_that_writes_into_one_array(mode, wanted):
    assert history(Buffers(mode)) == wanted[mode]


CHANGED = (
    r"^envs must give final_obs that a reset does not change, not .* \(environment \d, step 7 of"
)


@pytest.mark.parametrize("final", ["obs", "reset"])
def test_final_observations_that_a_reset_changed(final):
    with pytest.raises(UsageError, match=CHANGED):
        history(Buffers(SAME, final))


class Still(Habit):
    """Ends where it began, at the limit; ``wanders``: not in odd episodes."""

    wanders = False

    def _seen(self):
        odd = self.wanders and self.resets % 2
        return np.full(3, 0 if not self.time or (self.time == 7 and not odd) else 1, np.float32)


@pytest.mark.parametrize(
    "changes",
    [
        {"_seen": lambda self: np.zeros(3, np.float32)},  # stands still all the time
        {"wanders": True},
    ],
)
def test_what_only_looks_changed(monkeypatch, changes):
    for name, value in changes.items():
        monkeypatch.setattr(Still, name, value)
    envs = Buffers(SAME)
    envs.envs = [Still() for _ in range(3)]
    history(envs)


def test_no_final_observations():
    envs = Buffers(SAME)
    envs.step = lambda actions: (*Buffers.step(envs, actions)[:4], {})
    with pytest.raises(
        UsageError, match=r"^env must give observations of shape \[3\], not None \("
    ):
        history(envs)


@pytest.mark.parametrize("mode", MODES)
def test_environments_of_other_processes(mode, wanted):
    """gymnasium's workers send an array after the reset that changes it: nobody can undo that."""
    envs = of("reused", kind=AsyncVectorEnv, autoreset_mode=mode, copy=False)
    if mode == SAME:
        with pytest.raises(UsageError, match=CHANGED):
            history(envs)
        envs.close()
    else:
        assert history(envs) == wanted[mode]


def test_arrays_of_make_envs_and_of_evaluations():
    """Copies of one evaluation write into one array, too."""
    dqn, returns = find("dqn"), {}
    for habit in ("none", "shared", "reused", "reward of shape 1"):
        envs = make_envs(named(habit), 2, dqn)
        first, _ = envs.reset(seed=0)
        kept = first.copy()
        envs.step(np.zeros(2, np.int64))
        np.testing.assert_array_equal(first, kept)
        envs.close()
        copies = Copies(named(habit), 5, dqn)
        returns[habit] = evaluate(Parity(), copies, seed=3).tolist()
        copies.close()
    assert len(set(map(tuple, returns.values()))) == 1 and len(set(returns["none"])) > 2


class Parity:
    """Acts by its observations, whole numbers."""

    def act(self, obs, *, greedy):
        return obs.sum(axis=1).astype(np.int64) % 2


@pytest.mark.parametrize("habit", FAILS)
@pytest.mark.parametrize("mode", MODES)
def test_habits_that_are_named(habit, mode):
    with pytest.raises((UsageError, EnvironmentFailed)) as it:
        history(of(habit, autoreset_mode=mode))
    said, (cause, place) = str(it.value), FAILS[habit]
    assert cause in said and place in said and "\n" not in said
    assert re.search(r"environment \d\b", said)
    if "raises" in habit:
        assert isinstance(it.value.__cause__, LookupError)


@pytest.mark.parametrize("habit", FAILS)
def test_habits_that_an_evaluation_names(habit):
    copies = Copies(named(habit), 9, find("dqn"))
    with pytest.raises((UsageError, EnvironmentFailed)) as it:
        evaluate(Parity(), copies, seed=0)
    said, (cause, place) = str(it.value), FAILS[habit]
    assert cause in said and place in said and "\n" not in said
    assert re.search(r"(environment|episode) \d of the evaluation", said)


def test_the_number_of_the_environment():
    """Of the one that strikes, in its own step of the present episode."""

    class Late(Habit):
        def __init__(self, index):
            super().__init__()
            self.index = index

        def reset(self, **how):
            if self.index == 2 and self.resets == 2:
                self.habit = "NaN reward"
            return super().reset(**how)

    envs = SyncVectorEnv([lambda i=i: Late(i) for i in range(4)], autoreset_mode=SAME)
    with pytest.raises(UsageError, match=r"not nan \(environment 2, step 5 of its episode\)$"):
        history(envs)


def test_a_vector_of_ones_own_that_raises():
    envs = Buffers(NEXT, habit="raises")
    words = r"^envs raised LookupError: no more of it \(step; habits.py line \d+\)$"
    with pytest.raises(EnvironmentFailed, match=words):
        history(envs)
    envs = Buffers(NEXT, habit="raises at a reset")
    envs.reset = lambda **how: {}[0]
    with pytest.raises(EnvironmentFailed, match=r"^envs raised KeyError: 0 \(reset; test_border"):
        Actor(envs, seed=0)


class Given(gymnasium.Env):
    """Gives what it is told."""

    action_space = Discrete(2)

    def __init__(self, space, obs, *rest):
        self.observation_space, self.obs, self.rest = space, obs, rest or (0.0, False, False, {})

    def reset(self, *, seed=None, options=None):
        return self.obs, {}

    def step(self, action):
        return self.obs, *self.rest


FLOATS, BYTES = Box(0, 255, (2,), np.float32), Box(0, 255, (2,), np.uint8)
PLANES = Box(0, 1, (2,), np.bool_)


@pytest.mark.parametrize(
    "space, obs",
    [
        (FLOATS, np.float64([1, 2])),
        (FLOATS, [1, 2.0]),
        (FLOATS, np.uint8([1, 2])),
        (FLOATS, np.array([True, False])),
        (FLOATS, np.asfortranarray(np.float32([[1, 0], [2, 0]]))[:, 0]),
        (BYTES, np.int64([0, 255])),
        (BYTES, np.float64([0, 255])),
        (PLANES, np.uint8([0, 1])),
        (Discrete(5), 3),
        (Discrete(5), np.int32(3)),
    ],
)
def test_what_can_be_cast(space, obs):
    env = Border(Given(space, obs), "it")
    for found in (env.reset()[0], env.step(0)[0]):
        assert found.dtype == space.dtype and found.shape == space.shape
        assert type(found) is np.ndarray and found.flags.c_contiguous
        assert not np.shares_memory(found, obs)
        np.testing.assert_array_equal(found, obs)


@pytest.mark.parametrize(
    "space, obs, words",
    [
        (FLOATS, np.float32([1]), r"of shape \[2\], not of shape \[1\] \(it, at a reset\)"),
        (
            FLOATS,
            np.float32([[1], [2]]),
            r"of shape \[2\], not of shape \[2, 1\] \(it, at a reset\)",
        ),
        (FLOATS, np.float32(1), r"of shape \[2\], not np.float32\(1.0\) \(it, at a reset\)"),
        (FLOATS, None, r"of shape \[2\], not None"),
        (FLOATS, [[1], [2, 3]], "that are an array, not a list"),
        (FLOATS, np.ma.masked_greater(np.ones(3), 0), "without masked numbers"),
        (FLOATS, ["1", "2"], r"that are numbers, not \['1', '2'\]"),
        (FLOATS, np.array([1j, 0]), "that are numbers, not array"),
        (FLOATS, np.array([1, 1e300]), r"not 1e\+300 \(it, number 1, at a reset\)"),
        (FLOATS, np.array([-np.inf, 1]), r"not -inf \(it, number 0, at a reset\)"),
        (
            BYTES,
            np.array([0.5, 1]),
            r"that are numbers of uint8, not 0.5 \(it, number 0, at a reset",
        ),
        (BYTES, np.array([0, 300]), r"that are numbers of uint8, not 300 \(it, number 1, at a"),
        (BYTES, np.array([np.nan, 0]), "that are numbers of uint8, not nan"),
        (PLANES, np.uint8([0, 2]), "that are numbers of bool, not 2"),
        (Discrete(5), 0.5, r"that are numbers of int64, not 0.5 \(it, at a reset\)"),
        (Discrete(5), [1, 2], r"that are scalars, not of shape \[2\]"),
    ],
)
def test_what_cannot_be_cast(space, obs, words):
    env = Border(Given(space, obs), "it")
    with pytest.raises(UsageError, match=f"^env must give (finite )?observations,? {words}"):
        env.reset()


@pytest.mark.parametrize(
    "space, right, wrong, words",
    [
        (Box(-1, 1, (2, 3)), (2, 3), (3, 2), r"observations of shape \[2, 3\], .* \[3, 2\]"),
        (Box(-1, 1, (2, 3)), (2, 3), (6,), r"observations of shape \[2, 3\], not of shape \[6\]"),
        (Box(-1, 1, ()), (), (1,), r"observations of shape \[\], not of shape \[1\]"),
        (Dict(x=Box(-1, 1, (2, 2))), (2, 2), (4,), r"observations\['x'\] of shape \[2, 2\], not "),
    ],
)
def test_a_wrong_shape_of_the_right_size_below_flattening(space, right, wrong, words):
    def given(shape):
        array = np.zeros(shape, np.float32)
        return {"x": array} if isinstance(space, Dict) else array

    env = Border(Flattened(Given(space, given(right))), "it")
    assert env.reset()[0].shape == env.step(0)[0].shape == (int(np.prod(right)),)
    env.unwrapped.obs = given(wrong)
    for call, when in ((lambda: env.step(0), "step 2 of its episode"), (env.reset, "at a reset")):
        with pytest.raises(UsageError, match=rf"^env must give {words}.* \(it, {when}\)$"):
            call()


def test_structures_are_copied():
    obs = {"x": np.zeros(2, np.float32)}
    env = Border(Given(Dict(x=FLOATS), obs), "it")
    found, _ = env.reset()
    obs["x"][:] = 7
    assert found["x"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "rest, words",
    [
        ((10**400, False, False, {}), "rewards that are numbers, not 1000"),
        (("1", False, False, {}), "rewards that are numbers, not '1'"),
        (
            ([[1]], False, False, {}),
            r"rewards that are scalars, not of shape \[1, 1\] \(it, step 1",
        ),
        ((-np.inf, False, False, {}), r"finite rewards, not -inf \(it, step 1 of its episode\)"),
        ((0, np.zeros(2, bool), False, {}), r"terminated that are scalars, not of shape \[2\]"),
        ((0, False, 2, {}), "truncated that are numbers of bool, not 2"),
        ((0, False, "no", {}), "truncated that are numbers, not 'no'"),
        (
            (0, False, False, None),
            r"an info that is a dict, not None \(it, step 1 of its episode\)",
        ),
    ],
)
def test_what_a_step_cannot_give(rest, words):
    env = Border(Given(FLOATS, np.zeros(2, np.float32), *rest), "it")
    env.reset()
    with pytest.raises(UsageError, match=f"^env must give {words}"):
        env.step(0)


@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.int8(1), np.array(1.0), np.ones(1)])
@pytest.mark.parametrize("flag", [True, np.True_, 1, np.array(True), np.ones(1, bool), 1.0])
def test_scalars(reward, flag):
    env = Border(Given(FLOATS, np.zeros(2, np.float32), reward, flag, None, {}), "it")
    env.reset()
    _, found, terminated, truncated, _ = env.step(0)
    assert float(found) == 1.0 and np.ndim(found) == 0
    assert terminated in (True, np.True_) and truncated is False


def test_too_few_results():
    env = Border(Given(FLOATS, np.zeros(2, np.float32), 0.0, False, {}), "it")
    with pytest.raises(
        EnvironmentFailed, match=r"^it raised ValueError: not enough values to unpack"
    ):
        env.step(0)


def test_attributes_are_the_environments():
    envs = of("reused")
    Actor(envs, seed=0), Actor(envs, seed=0)
    [first, *_] = envs.envs
    assert isinstance(first, Border) and isinstance(first.env, Habit), "one border each"
    assert (
        first.resets == 2 and first.unwrapped.habit == first.get_wrapper_attr("habit") == "reused"
    )
    with pytest.raises(AttributeError):
        print(first.nothing)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.bool_])
def test_received_is_a_copy(kind):
    given = np.zeros((3, 2), kind)
    found = received(given, "x", np.dtype(kind), (3, 2), str)
    assert found.dtype == kind and not np.shares_memory(found, given)

"""Ten spaces of observations: every algorithm trains on them and plays from its file, in a loop of
the user's own, or says by name at the start that it does not."""

from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)

import rlfabric
from host import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::host.environments.environment.FlattenedImages")

SPACES = {
    "number": Box(-1, 1, ()),
    "vector": Box(-1, 1, (4,), np.float64),
    "plane": Box(-1, 1, (2, 3)),
    "cube": Box(-1, 1, (2, 3, 1)),
    "image": Box(0, 255, (8, 8, 2), np.uint8),
    "state": Discrete(5, start=2),
    "flags": MultiBinary((2, 3)),
    "states": MultiDiscrete([3, 4], start=[1, -1]),
    "named": Dict(
        z=Box(-1, 1, (2,), np.float64), k=Discrete(3, start=-1), a=Dict(t=Box(-1, 1, ()))
    ),
    "listed": Tuple([Discrete(3), Box(-1, 1, (2, 2))]),
    # Not of the ten: the numbers of "plane", as a vector.
    "row": Box(-1, 1, (6,)),
}
WITHOUT = {
    "text": Text(5),
    "graph": Graph(Box(-1, 1, (2,)), None),
    "sequence": Sequence(Discrete(2)),
    "text in a dict": Dict(a=Discrete(2), b=Text(3)),
    "nothing": Box(-1, 1, (0,)),
}


class Sampled(gymnasium.Env):
    """Observations of a space, which have nothing to do with the action; episodes of 7 steps. The
    reward tells actions, and the steps at which they were taken, apart."""

    def __init__(self, name, continuous):
        self.observation_space = deepcopy((SPACES | WITHOUT)[name])
        self.action_space = Box(-2, 3, (2,)) if continuous else Discrete(3, start=4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.time += 1
        reward = float(np.sum(action)) * 2.0**-self.time
        return self.observation_space.sample(), reward, self.time == 7, False, {}


def env_of(name, continuous):
    """The id of a Sampled."""
    env = f"rlfabric-tests/{name.replace(' ', '-')}-{'box' if continuous else 'discrete'}-v0"
    if env not in gymnasium.registry:
        gymnasium.register(env, Sampled, kwargs=dict(name=name, continuous=continuous))
    return env


REPLAY = dict(env_count=2, capacity=256, learning_starts=32, batch_size=16, hidden=(8, 8))
SMALL = {
    "dqn": REPLAY,
    "ddpg": REPLAY,
    "td3": REPLAY,
    "sac": REPLAY,
    "ppo": dict(env_count=2, steps_per_launch=16, batch_size=16, hidden=(8,)),
    "a3c": dict(env_count=4, hidden=(8,)),
}
STEPS = {"a3c": 200, "dqn": 160}
LEARNERS = {"dqn": ("card", "cpu"), "ddpg": ("card", "cpu"), "a3c": ("card", "cpu")}
BOX = ("ddpg", "td3", "sac")


def trained(algo, learner, name, out):
    env, config = env_of(name, algo in BOX), SMALL[algo] | dict(evaluation_episodes=1)
    options = dict(steps=STEPS.get(algo, 96), learner=learner, seed=3, progress=False)
    return rlfabric.train(algo, env, out=out, config=config, **options)


def played(policy, env, seed):
    """The return of an episode in a loop of the user's own."""
    obs, _ = env.reset(seed=seed)
    gained, ended = 0.0, False
    while not ended:
        action, _ = policy.predict(obs)
        obs, reward, terminated, truncated, _ = env.step(action)
        gained, ended = gained + reward, terminated or truncated
    return gained


def check(algo, learner, name, out):
    run = trained(algo, learner, name, out)
    assert run.summary["updates"] > 0
    policy = rlfabric.load_policy(run.folder)
    env = gymnasium.make(policy.env)
    expected = rlfabric.evaluate(policy, episodes=2, seed=5).returns.tolist()
    assert [played(policy, env, seed) for seed in (5, 6)] == pytest.approx(expected, rel=1e-5)
    envs = gymnasium.make_vec(policy.env, 3, vectorization_mode="sync")
    obs, _ = envs.reset(seed=5)
    for _ in range(9):
        actions, _ = policy.predict(obs)
        assert actions.shape == envs.action_space.shape
        obs, *_ = envs.step(actions)
    elements = [env.observation_space.sample() for _ in range(3)]
    each = [policy.predict(element)[0] for element in elements]
    assert all(env.action_space.contains(action) for action in each)
    if not isinstance(env.observation_space, (Dict, Tuple)):
        np.testing.assert_allclose(policy.predict(np.stack(elements))[0], each, rtol=1e-5)
    return run


def refused(algo, learner, name):
    """A kernel of dqn takes no images."""
    return (algo, learner, name) == ("dqn", "card", "image")


#: Every algorithm and learner, and each space, once at least.
QUICK = [
    ("dqn", None, "number"),
    ("dqn", None, "cube"),
    ("dqn", "cpu", "named"),
    ("dqn", "cpu", "plane"),
    ("ddpg", "card", "listed"),
    ("ddpg", "cpu", "states"),
    ("td3", None, "plane"),
    ("sac", None, "state"),
    ("ppo", None, "flags"),
    ("a3c", "card", "vector"),
    ("a3c", "cpu", "image"),
]


@pytest.mark.parametrize("algo, learner, name", QUICK)
def test_trains_and_plays(tmp_path, algo, learner, name):
    run = check(algo, learner, name, tmp_path / "run")
    if learner is None:
        assert run.summary["config"]["learner"] == LEARNERS.get(algo, ("cpu",))[0]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SPACES if name != "row"])
@pytest.mark.parametrize(
    "algo, learner", [(algo, each) for algo in SMALL for each in LEARNERS.get(algo, ("cpu",))]
)
def test_every_algorithm_takes_every_space(tmp_path, algo, learner, name):
    """90 trainings: the whole of which ``QUICK`` is a part."""
    if refused(algo, learner, name):
        with pytest.raises(rlfabric.UsageError, match="^env must have observations that are not"):
            trained(algo, learner, name, tmp_path / "run")
        return
    check(algo, learner, name, tmp_path / "run")


def test_the_default_learner_of_images_is_the_cpu(tmp_path):
    assert check("dqn", None, "image", tmp_path).summary["config"]["learner"] == "cpu"
    words = "^env must have observations that are not images with learner card, not 8 x 8 x 2"
    with pytest.raises(rlfabric.UsageError, match=words):
        trained("dqn", "card", "image", tmp_path / "card")


def test_a_plane_on_the_card_is_learned_from_as_its_row(tmp_path):
    """Byte for byte: in the kernel's memory, in one on the CPU, and on the CPU."""
    for number, options in enumerate([dict(), dict(memory="tree"), dict(learner="cpu")]):
        states = []
        for name in ("plane", "row"):
            env, out = env_of(name, False), tmp_path / f"{name}{number}"
            config = REPLAY | dict(evaluation_episodes=1)
            rlfabric.train("dqn", env, out=out, steps=160, progress=False, config=config, **options)
            _, state = checkpoint.load(out / "checkpoint.npz", "training")
            states.append(state["session"])
        plane, row = (state["policy"]["parameters"]["q"] for state in states)
        assert plane.any() and plane.tobytes() == row.tobytes()


@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.parametrize("algo", ["dqn", "ddpg", "ppo", "a3c"])
def test_spaces_that_are_no_numbers_are_refused_at_the_start(tmp_path, algo, name):
    env = env_of(name, algo in BOX)
    what = "of numbers, not without any as" if name == "nothing" else "that can be flattened, not"
    with pytest.raises(rlfabric.UsageError, match=f"^env must have observations {what}.*{env}"):
        trained(algo, None, name, tmp_path / "run")
    assert not [file for file in tmp_path.rglob("*") if file.suffix in (".npz", ".csv")]

"""`rlfabric evaluate`: greedy episodes of what a run kept."""

import gymnasium
import numpy as np
import pytest
from PIL import Image

from host.algorithms.dqn import DQN, DQNConfig, DQNPolicy
from host.algorithms.policy_file import save_policy
from host.checkpoint import CheckpointError
from host.collect.environment import evaluate, make_envs
from host.collect.spec import Spec
from host.commands.playing import play


class Seen(gymnasium.Env):
    """Lasts 3 steps and returns the seed's last digit; looks like its time."""

    metadata = {"render_modes": ["rgb_array", "human"]}
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    shown = 0

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.value = 0, 0 if seed is None else seed % 10
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.time += 1
        if self.render_mode == "human":
            Seen.shown += 1
        last = self.time == 3
        return np.zeros(2, np.float32), float(self.value * last), last, False, {}

    def render(self):
        return np.full((4, 6, 3), 80 * self.time, np.uint8)


class Blind(Seen):
    metadata = {"render_modes": []}

    def __init__(self):
        super().__init__()


class Missing(Seen):
    def render(self):
        raise gymnasium.error.DependencyNotInstalled("no window")


def make_policy(observation_size):
    spec = Spec(shape=(observation_size,), dtype="float32", discrete=True, action_count=2)
    return DQNPolicy(DQNConfig(hidden=(4,)), spec, weights=3)


@pytest.fixture
def policy(tmp_path):
    """``policy(env)``: a folder with a policy for it, as a run leaves it."""
    kinds = {kind.__name__: kind for kind in (Seen, Blind, Missing)}
    for name, kind in kinds.items():
        gymnasium.register(name, kind)

    def call(env, observation_size=2):
        policy = make_policy(observation_size)
        save_policy(tmp_path / "best.npz", policy, algo="dqn", env=env, score=1.0)
        return tmp_path

    yield call
    for name in kinds:
        del gymnasium.registry[name]


def test_episodes_have_the_seeds_that_follow(policy):
    played = play(policy("Seen"), episodes=4, seed=5)
    assert played.returns.tolist() == [5, 6, 7, 8] and played.env == "Seen"
    assert played.file is None
    assert play(policy("Seen") / "best.npz", episodes=1).returns.tolist() == [0]


def test_it_is_the_policy_that_plays(policy):
    folder = policy("CartPole-v1", 4)
    expected = evaluate(make_policy(4), make_envs("CartPole-v1", 6, DQN), seed=9)
    np.testing.assert_array_equal(play(folder, episodes=6, seed=9).returns, expected)


def test_a_film_of_the_first_episode(policy, tmp_path):
    played = play(policy("Seen"), episodes=2, seed=4, render="gif")
    assert played.returns.tolist() == [4, 5] and played.file == tmp_path / "evaluation.gif"
    with Image.open(played.file) as film:
        assert film.n_frames == 3 and film.size == (6, 4)
        film.seek(2)
        assert film.convert("RGB").getpixel((0, 0)) == (160, 160, 160)


def test_a_window(policy):
    before = Seen.shown
    assert play(policy("Seen"), episodes=2, seed=1, render="human").returns.tolist() == [1, 2]
    assert Seen.shown == before + 6


def test_an_episode_without_end(policy):
    with pytest.warns(RuntimeWarning, match="episodes of an evaluation must end within 2 steps"):
        assert play(policy("Seen"), episodes=2, seed=5, limit=2).returns.tolist() == [0, 0]
    assert play(policy("Seen"), episodes=1, seed=5, limit=3).returns.tolist() == [5]


def test_what_cannot_be_rendered(policy):
    with pytest.raises(ValueError, match="^render must be of what Blind can, not gif$"):
        play(policy("Blind"), episodes=1, render="gif")
    assert play(policy("Blind"), episodes=1, seed=2).returns.tolist() == [2]
    with pytest.raises(ValueError, match=r"^render must have its packages installed \(no window\)"):
        play(policy("Missing"), episodes=1, render="gif")
    with pytest.raises(ValueError, match="^render must be human or gif, not 'mp4'$"):
        play(policy("Seen"), episodes=1, render="mp4")


def test_the_command(run, policy, tmp_path):
    code, out, err = run("evaluate", policy("Seen"), "--episodes", 3, "--seed", 2)
    expected = "mean return 3.0, deviation 0.8, 2.0 to 4.0: 3 episodes of Seen\n"
    assert (code, out, err) == (0, expected, "")
    code, out, _ = run("evaluate", tmp_path, "--render", "gif", "--episodes", 1)
    assert code == 0 and out.splitlines()[1] == str(tmp_path / "evaluation.gif")
    code, _, err = run("evaluate", tmp_path / "nothing")
    assert code == 2 and err.startswith("rlfabric: ") and err.count("\n") == 1
    (tmp_path / "best.npz").write_bytes(b"no policy")
    with pytest.raises(CheckpointError):
        play(tmp_path, episodes=1)

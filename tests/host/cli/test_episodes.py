"""`rlfabric evaluate`: greedy episodes of what a run kept."""

import re
import sys
from dataclasses import replace

import av
import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv
from PIL import Image

from host.agents.evaluation import Copies, evaluate
from host.agents.policy_file import save_policy
from host.agents.registry import find
from host.algorithms.dqn import DQN, DQNConfig, DQNPolicy
from host.checkpoint import CheckpointError
from host.cli import episodes, film
from host.cli.episodes import play
from host.environments.spec import Spec
from hw.errors import MissingTool
from tests.host.seeded import Summing


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
    expected = evaluate(make_policy(4), Copies("CartPole-v1", 6, DQN), seed=9)
    np.testing.assert_array_equal(play(folder, episodes=6, seed=9).returns, expected)


def test_a_film_of_the_first_episode(policy, tmp_path):
    played = play(policy("Seen"), episodes=2, seed=4, render="gif")
    assert played.returns.tolist() == [4, 5] and played.file == tmp_path / "evaluation.gif"
    with Image.open(played.file) as film:
        assert film.n_frames == 3 and film.size == (6, 4)
        film.seek(2)
        assert film.convert("RGB").getpixel((0, 0)) == (160, 160, 160)


def decoded(path):
    """Pictures and pictures a second of a video."""
    with av.open(path) as video:
        rate = video.streams.video[0].average_rate
        return [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)], rate


def test_a_video_of_the_first_episode(policy, tmp_path):
    played = play(policy("Seen"), episodes=2, seed=4, render="mp4")
    assert played.returns.tolist() == [4, 5] and played.file == tmp_path / "evaluation.mp4"
    pictures, rate = decoded(played.file)
    assert len(pictures) == 3 and rate == 30 and pictures[0].shape == (320, 480, 3)
    for time, picture in enumerate(pictures):
        assert np.abs(picture.astype(int) - 80 * time).max() <= 3


def test_a_film_has_the_speed_of_the_environment(policy, monkeypatch):
    monkeypatch.setitem(Seen.metadata, "render_fps", 10)
    assert decoded(play(policy("Seen"), episodes=1, render="mp4").file)[1] == 10
    with Image.open(play(policy("Seen"), episodes=1, render="gif").file) as film:
        film.seek(1)
        assert film.info["duration"] == 100


class Watching(Summing):
    """Keeps what it acted on."""

    def __init__(self, count):
        super().__init__(count)
        self.seen = []

    def act(self, obs, *, greedy):
        self.seen.append(obs[0])
        return super().act(obs, greedy=greedy)


@pytest.fixture
def watch(monkeypatch, tmp_path):
    """``watch(env)``: what a policy saw of its first steps, a video of them, its rate."""
    images = replace(find("dqn"), images=True)
    monkeypatch.setattr(episodes, "find", lambda name: images)
    (tmp_path / "best.npz").touch()

    def call(env):
        policy = Watching(3)
        monkeypatch.setattr(episodes, "load_policy", lambda *_: (policy, dict(algo="dqn", env=env)))
        with pytest.warns(RuntimeWarning, match="must end within 30 steps"):
            file = play(tmp_path, episodes=1, seed=8, render="mp4", limit=30).file
        return (np.array(policy.seen), *decoded(file))

    return call


def test_a_video_of_atari(watch):
    """Its own colours, of the same game: their bytes are the emulator's, says test_pixels."""
    seen, pictures, rate = watch("ALE/Pong-v5")
    assert (len(pictures), rate, pictures[0].shape) == (len(seen), 15, (420, 320, 3))
    assert len(seen) == 30 and (seen[0] != seen[-1]).any()
    assert np.ptp(pictures[0].astype(int), axis=-1).max() > 40, "colours"
    for picture, obs in zip(pictures, seen, strict=True):
        grey = np.array(
            Image.fromarray(picture).convert("L").resize((84, 84), Image.Resampling.BOX)
        )
        assert np.percentile(np.abs(np.array(grey, int) - obs[..., -1]), 99) < 20


def test_a_video_of_minatar(watch):
    seen, pictures, _ = watch("MinAtar/Freeway-v1")
    assert len(pictures) == len(seen) == 30
    for picture, obs in zip(pictures, seen, strict=True):
        cells = picture[16::32, 16::32].max(axis=-1)
        np.testing.assert_array_equal(cells > 24, obs.any(axis=-1))


def test_a_gif_that_is_too_long(policy, monkeypatch):
    monkeypatch.setattr(film, "_LONGEST", 2)
    with pytest.warns(RuntimeWarning, match="^a gif must have at most 2 pictures"):
        file = play(policy("Seen"), episodes=1, render="gif").file
    with Image.open(file) as kept:
        assert kept.n_frames == 2


def test_pyav_is_missing(policy, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    words = r"^av must be installed to write an mp4 \(pip install .*\[video\]'?\), not missing"
    with pytest.raises(MissingTool, match=words):
        play(policy("Seen"), episodes=1, render="mp4")


def test_a_window(policy):
    before = Seen.shown
    assert play(policy("Seen"), episodes=2, seed=1, render="human").returns.tolist() == [1, 2]
    assert Seen.shown == before + 6


def test_an_episode_without_end(policy):
    with pytest.warns(RuntimeWarning, match="episodes of an evaluation must end within 2 steps"):
        assert play(policy("Seen"), episodes=2, seed=5, limit=2).returns.tolist() == [0, 0]
    assert play(policy("Seen"), episodes=1, seed=5, limit=3).returns.tolist() == [5]


def test_what_cannot_be_rendered(policy, monkeypatch):
    with pytest.raises(ValueError, match="^render must be none, for Blind cannot be render"):
        play(policy("Blind"), episodes=1, render="gif")
    ways = "^render must be one of human, which CartPole-v1 can, not 'gif'$"
    monkeypatch.setattr(CartPoleEnv, "metadata", {"render_modes": ["human"]})
    with pytest.raises(ValueError, match=ways):
        play(policy("CartPole-v1", 4), episodes=1, render="gif")
    assert play(policy("Blind"), episodes=1, seed=2).returns.tolist() == [2]
    for render in ("gif", "mp4"):
        words = r"^render must have its packages installed \(no window\)"
        with pytest.raises(ValueError, match=words):
            play(policy("Missing"), episodes=1, render=render)
    assert [file.name for file in policy("Missing").iterdir()] == ["best.npz"]
    with pytest.raises(ValueError, match="^render must be human, gif or mp4, not 'avi'$"):
        play(policy("Seen"), episodes=1, render="avi")


def test_a_module_that_a_file_names_is_not_imported_unasked(run, policy, tmp_path, monkeypatch):
    """host 15: the file may be a stranger's."""
    (tmp_path / "a_strangers.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    folder = policy("a_strangers:CartPole-v1", 4)
    code, _, err = run("evaluate", folder)
    words = r"rlfabric: --import must name a_strangers: .*best.npz has the environment"
    assert code == 2 and re.match(words, err) and not (tmp_path / "ran").exists()
    code, out, _ = run("evaluate", folder, "--episodes", 1, "--import", "a_strangers")
    assert code == 0 and out.startswith("mean return ") and (tmp_path / "ran").exists()
    del sys.modules["a_strangers"]


def test_the_command(run, policy, tmp_path):
    code, out, err = run("evaluate", policy("Seen"), "--episodes", 3, "--seed", 2)
    expected = "mean return 3.0, deviation 0.8, 2.0 to 4.0: 3 episodes of Seen\n"
    assert (code, out, err) == (0, expected, "")
    code, out, _ = run("evaluate", tmp_path, "--render", "gif", "--episodes", 1)
    assert code == 0 and out.splitlines()[1] == str(tmp_path / "evaluation.gif")
    for nothing in (tmp_path / "nothing", tmp_path.parent):
        code, _, err = run("evaluate", nothing)
        assert code == 2 and err.count("\n") == 1
        assert err.startswith("rlfabric: RUN must be a run's folder or a policy's file, not ")
    (tmp_path / "README.md").write_text("words")
    code, _, err = run("evaluate", tmp_path / "README.md")
    assert code == 2 and err.count("\n") == 1 and "pickle" not in err
    assert err.startswith("rlfabric: policy must be a whole file that rlfabric wrote, not ")
    (tmp_path / "best.npz").write_bytes(b"no policy")
    with pytest.raises(CheckpointError):
        play(tmp_path, episodes=1)

"""host.environments.pixels: what games of ALE show, against the emulator itself."""

import os
from contextlib import closing
from dataclasses import replace

import ale_py
import gymnasium
import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

from host.agents.registry import find
from host.environments import pixels
from host.environments.environment import Actor, FlattenedImages, make_envs
from host.environments.environment_id import find_spec
from host.environments.pixels import AtariEnvs, settings
from host.environments.spec import Spec
from tests.host.seeded import check_seeds

#: whatever the registry's takes
DQN = replace(find("dqn"), images=True)
#: no scaling: what is left are the emulator's bytes
RAW = dict(img_height=210, img_width=160)


class Game:
    """One game on the bare emulator, a frame at a time: what AtariEnvs says, said again."""

    def __init__(self, name, sticky=0.0):
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", sticky)
        self._rom = ale_py.roms.get_rom_path(name)

    def reset(self, frames, seed=None):
        if seed is not None:
            self.ale.setInt("random_seed", seed)
            self.ale.loadROM(self._rom)
        self.ale.reset_game()
        self.actions = self.ale.getMinimalActionSet()
        first = ale_py.Action.FIRE if ale_py.Action.FIRE in self.actions else ale_py.Action.NOOP
        for frame in range(frames):
            self.ale.act(ale_py.Action.NOOP if frame else first)
        empty = np.zeros((210, 160), np.uint8)
        self._stack = [empty, empty, empty, self.ale.getScreenGrayscale()]
        return np.stack(self._stack, -1)

    def step(self, action):
        """``(observation, score)``, of a step in which the episode goes on."""
        score, seen = 0, []
        for _ in range(4):
            score += self.ale.act(self.actions[action])
            seen.append(self.ale.getScreenGrayscale())
        self._stack = [*self._stack[1:], np.maximum(*seen[2:])]
        return np.stack(self._stack, -1), score


def atari(game, count, env="{}NoFrameskip-v4", **changes):
    return closing(AtariEnvs(find_spec(env.format(game)), count, **changes))


@pytest.mark.parametrize(
    "game, steps, sticky",
    [("Qbert", 300, 0), ("Breakout", 40, 0), ("Freeway", 40, 0), ("Qbert", 60, 0.25)],
)
def test_what_a_game_shows(game, steps, sticky):
    """Qbert over the end of an episode; FIRE begins Breakout; Freeway has no such action. Sticky
    where the registry says so: of ALE/Qbert-v5 they were switched off (host 10)."""
    rng, scores, ends = np.random.default_rng(6), set(), np.zeros(2, int)
    env = "ALE/{}-v5" if sticky else "{}NoFrameskip-v4"
    with atari(game, 2, env, render_mode="rgb_array", **RAW) as envs:
        name = find_spec(env.format(game)).kwargs["game"]
        games = [Game(name, sticky) for _ in range(2)]
        obs, info = envs.reset(seed=40)
        for i, each in enumerate(games):
            first = each.reset(info["episode_frame_number"][i], 40 + i)
            np.testing.assert_array_equal(obs[i], first)
        for _ in range(steps):
            actions = rng.integers(0, envs.single_action_space.n, 2)
            obs, reward, terminated, truncated, info = envs.step(actions)
            assert not truncated.any()
            for i, each in enumerate(games):
                seen, score = each.step(actions[i])
                assert score == reward[i]
                scores.add(score)
                if terminated[i]:
                    ends[i] += 1
                    assert each.ale.game_over()
                    seen = each.reset(info["episode_frame_number"][i])
                np.testing.assert_array_equal(obs[i], seen)
                assert each.ale.lives() == info["lives"][i]
            (picture,) = envs.render()
            np.testing.assert_array_equal(picture, games[0].ale.getScreenRGB())
    if steps == 300:
        assert ends[0] and max(scores) > 1, "an end of the one that is seen; rewards not clipped"


def test_a_game_that_is_seen_has_a_seed():
    with atari("Pong", 1, render_mode="rgb_array") as envs:
        with pytest.raises(ValueError, match="^seed must be a number if a game is"):
            envs.reset()
    with atari("Pong", 1) as envs:
        assert envs.reset()[0].shape == (1, 84, 84, 4) and envs.render() is None


def areas(size, onto):
    """[onto, size]: how much of each of ``size`` pixels is under each of ``onto``."""
    low, high = np.arange(onto) * size / onto, (np.arange(onto) + 1) * size / onto
    pixels = np.arange(size)
    over = np.minimum(pixels + 1, high[:, None]) - np.maximum(pixels, low[:, None])
    return over.clip(0) * onto / size


def test_they_are_scaled_by_area():
    rng = np.random.default_rng(3)
    with atari("Breakout", 2) as envs, atari("Breakout", 2, **RAW) as large:
        pairs = [(envs.reset(seed=1)[0], large.reset(seed=1)[0])]
        for _ in range(6):
            actions = rng.integers(0, 4, 2)
            pairs.append((envs.step(actions)[0], large.step(actions)[0]))
    for small, whole in pairs:
        for got, screen in zip(small[..., -1], whole[..., -1], strict=True):
            # No matrix product: its threads would wait for each other on a machine that is busy.
            rows = np.einsum("yh,hw->yw", areas(210, 84), screen)
            expected = np.einsum("yw,xw->yx", rows, areas(160, 84))
            assert np.abs(got - expected).max() < 0.51


@pytest.mark.parametrize("game, least", [("Breakout", 1), ("Freeway", 0)])
def test_how_many_frames_a_reset_takes(game, least):
    """Seeds are few, for with each the emulator starts anew; Breakout is started with FIRE."""
    small = dict(img_height=8, img_width=8)

    def draw(envs, resets):
        frames = [envs.reset(seed=2)[1]] + [envs.reset()[1] for _ in range(resets - 1)]
        return set(np.ravel([info["episode_frame_number"] for info in frames]))

    with atari(game, 4, **small) as envs:
        drawn = draw(envs, 9)
    assert drawn <= set(range(least, 30)) and max(drawn) > 24 and min(drawn) < 5
    with atari(game, 4, noop_max=3, **small) as envs:
        assert draw(envs, 3) == set(range(least, 3))


def rows(envs, table, steps):
    """Transitions of each environment: its k-th action is the k-th of its row of ``table``."""
    actor, found, taken = Actor(envs, seed=9), [[], []], np.zeros(2, int)
    for _ in range(steps):
        step, _ = actor.step(table[np.arange(2), taken])
        taken += step.valid
        for i in np.flatnonzero(step.valid):
            numbers = step.reward[i], step.terminated[i], step.truncated[i]
            found[i].append((step.obs[i], step.next_obs[i], *map(float, numbers)))
    return found


def test_final_observations_are_true():
    """Against the other mode, in which nothing is reset before it was seen."""
    table = np.random.default_rng(4).integers(0, 4, (2, 450))
    changes = dict(max_num_frames_per_episode=600)
    with atari("Breakout", 2, **changes) as envs:
        assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        found = rows(envs, table, 450)

    class NextStep(AtariVectorEnv):
        metadata = {}

        def step(self, actions):
            obs, *rest = super().step(actions)
            return obs.transpose(0, 2, 3, 1), *rest

        def reset(self, **how):
            obs, info = super().reset(**how)
            return obs.transpose(0, 2, 3, 1), info

    other = NextStep("breakout", 2, **settings(find_spec("BreakoutNoFrameskip-v4")) | changes)
    other.single_observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 4), np.uint8)
    expected = rows(other, table, 450)
    ends = np.zeros(2, int)
    for ours, theirs in zip(found, expected, strict=True):
        assert len(ours) == 450 and len(theirs) > 440
        for mine, true in zip(ours, theirs, strict=False):
            np.testing.assert_array_equal(mine[0], true[0])
            np.testing.assert_array_equal(mine[1], true[1])
            assert mine[2:] == true[2:]
            ends += np.array(mine[3:], int)
    assert (ends > 0).all(), "episodes that terminated, and some that were truncated"


def test_an_episode_goes_on_after_a_lost_life_and_ends_at_the_limit():
    lost, length = 0, 0
    with atari("Breakout", 1, max_num_frames_per_episode=400) as envs:
        _, info = envs.reset(seed=0)
        while True:
            before = info["lives"][0]
            _, _, terminated, truncated, info = envs.step(np.array([1]))
            length += 1
            if terminated[0] or truncated[0]:
                break
            lost += info["lives"][0] < before
    assert (lost > 0, length, terminated[0], truncated[0]) == (True, 100, False, True)


def test_what_is_seen_after_an_episode_that_was_truncated():
    """The next one's beginning."""
    with atari("Freeway", 1, render_mode="rgb_array", max_num_frames_per_episode=8) as envs:
        game, (_, info) = Game("freeway"), envs.reset(seed=1)
        game.reset(info["episode_frame_number"][0], 1)
        for _ in range(2):
            game.step(0)
            *_, truncated, info = envs.step(np.zeros(1, int))
        assert truncated.all()
        before = game.ale.getScreenRGB()
        game.reset(info["episode_frame_number"][0])
        np.testing.assert_array_equal(envs.render()[0], game.ale.getScreenRGB())
        assert (before != game.ale.getScreenRGB()).any()


def test_environment_i_starts_from_seed_plus_i():
    with closing(make_envs("ALE/Pong-v5", 3, DQN)) as envs:
        with closing(make_envs("ALE/Pong-v5", 1, DQN)) as one:
            check_seeds(envs, one)


def test_games_of_two_actors_are_played_beside_each_other():
    """Begun together they show what they show one after the other."""
    rng = np.random.default_rng(3)
    with atari("Pong", 2) as one, atari("Pong", 2) as two, atari("Pong", 2) as alone:
        actors, single = [Actor(one, seed=4), Actor(two, seed=9)], Actor(alone, seed=9)
        for _ in range(30):
            actions = rng.integers(6, size=(2, 2))
            for actor, action in zip(actors, actions, strict=True):
                actor.begin(action)
            (first, _), (second, _) = (actor.end() for actor in actors)
            wanted, _ = single.step(actions[1])
            np.testing.assert_array_equal(second.next_obs, wanted.next_obs)
            np.testing.assert_array_equal(second.action, actions[1])
            assert not np.array_equal(first.next_obs, wanted.next_obs)


def test_what_fits_the_replay_memory():
    with closing(make_envs("ALE/Pong-v5", 1, DQN)) as envs:
        assert Spec.of(envs) == Spec((84, 84, 4), "uint8", True, 6, exponent=-8)


def test_who_takes_no_images_has_them_flattened():
    ppo = find("ppo")
    with pytest.warns(FlattenedImages, match=r"images of \(210, 160, 3\)"):
        with closing(make_envs("ALE/Pong-v5", 1, ppo)) as envs:
            assert Spec.of(envs).shape == (210 * 160 * 3,)


def test_what_is_not_installed(monkeypatch):
    for old in ("0.11.2", "0.9"):
        with monkeypatch.context() as patch:
            patch.setattr(pixels.metadata, "version", lambda name, old=old: old)
            words = r"^env ALE/Pong-v5 must have ale-py 0.12 or newer \(pip .*\[atari\].*\), not "
            with pytest.raises(ValueError, match=words + old):
                make_envs("ALE/Pong-v5", 1, DQN)
    for path in (None, "/nowhere/pong.bin"):
        monkeypatch.setattr(ale_py.roms, "get_rom_path", lambda name, path=path: path)
        with pytest.raises(ValueError, match="^env ALE/Pong-v5 must have a ROM of pong in ale-py"):
            make_envs("ALE/Pong-v5", 1, DQN)


def test_a_window_is_shown_where_it_was_asked_for(monkeypatch):
    windows = []
    monkeypatch.setattr(pixels, "_Screen", lambda *_, shown: windows.append(shown))
    for mode in (None, "rgb_array", "human"):
        with atari("Pong", 1, render_mode=mode) as envs:
            assert envs.render_mode == mode
    assert windows == [False, True]


def test_closed_games_leave_no_threads():
    def threads():
        return len(os.listdir("/proc/self/task"))

    before = threads()
    envs = [make_envs("ALE/Pong-v5", 4, DQN) for _ in range(3)]
    assert threads() == before + 3, "one thread steps all games of a vector environment"
    for each in envs:
        each.close()
        each.close()
    assert threads() == before

"""Games of the Arcade Learning Environment, preprocessed and vectorised by ale-py itself."""

from importlib import metadata
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorWrapper
from packaging.version import Version

from host.collect.seeds import folded
from host.extras import install

__all__ = ["PREPROCESSING", "AtariEnvs", "is_atari"]

#: What an id of ALE means here, whatever it was registered with; the names are ale-py's.
PREPROCESSING = dict(
    frameskip=4,  # an action is held for 4 frames
    maxpool=True,  # of the last two of them
    repeat_action_probability=0.0,  # no sticky actions; the ids ALE/...-v5 have 0.25
    full_action_space=False,
    noop_max=30,
    use_fire_reset=True,
    img_height=84,
    img_width=84,
    grayscale=True,
    stack_num=4,
    max_num_frames_per_episode=108_000,  # half an hour
    episodic_life=False,
    life_loss_info=False,
    reward_clipping=False,
)

#: rewrote the vector environment
_OLDEST = "0.12"

#: of an id that says no more than which game it is
_ENTRY = "ale_py.vector_env:AtariVectorEnv"
_KNOWN = {"game", "frameskip", "repeat_action_probability", "full_action_space"}
_KNOWN |= {"max_num_frames_per_episode"}


def is_atari(spec):
    """Whether ``AtariEnvs`` can make the environments of a ``gymnasium.EnvSpec``: screens of a game
    in its default mode; not its RAM, and not an id that was registered for one emulator alone."""
    return spec.vector_entry_point == _ENTRY and set(spec.kwargs) <= _KNOWN


class AtariEnvs(VectorWrapper):
    """Games of the Arcade Learning Environment, preprocessed as PREPROCESSING says.

    An action of the game's minimal set is held for 4 frames. Observations are [count, 84, 84, 4]
    bytes: the last four, oldest first, each the maximum of the last two frames in grey, scaled by
    area; before an episode there is black. A reset lets 0 to 29 frames pass; where the minimal set
    has FIRE, it is pressed in the first of them, and there is at least one. A lost life neither
    ends an episode nor presses FIRE. Rewards are the game's scores. An episode is truncated after
    108 000 frames, those of the reset not counted.

    The mode is SAME_STEP. ale-py takes no picture of the frame in which an episode ends: the newest
    of the four in ``final_obs`` is of the frames before it.

    Parameters
    ----------
    spec : gymnasium.EnvSpec
        Of which ``is_atari``.
    count : int
    render_mode : str, optional
        ``rgb_array`` or ``human``: environment 0 is seen in colours.
    threads : int
        That step the games; several such vector environments share a machine.
    changes
        Of PREPROCESSING, for tests.

    ValueError if ale-py is too old or has no ROM of the game.
    """

    def __init__(self, spec, count, *, render_mode=None, threads=1, **changes):
        game = spec.kwargs["game"]
        _check_installed(spec.id, game)
        from ale_py.vector_env import AtariVectorEnv

        mode = AutoresetMode.SAME_STEP
        how = PREPROCESSING | changes
        super().__init__(
            AtariVectorEnv(game, count, num_threads=threads, autoreset_mode=mode, **how)
        )
        frames, height, width = self.env.single_observation_space.shape
        space = Box(0, 255, (height, width, frames), np.uint8)
        self.single_observation_space = space
        self.observation_space = gymnasium.vector.utils.batch_space(space, count)
        # The vector environment writes its mode into a dictionary that all of them share.
        self.metadata = {"autoreset_mode": mode, "render_fps": 60 // how["frameskip"]}
        self._mode, self._screen = render_mode, None
        if render_mode:
            self._screen = _Screen(game, how["frameskip"], shown=render_mode == "human")

    @property
    def render_mode(self):
        return self._mode

    def reset(self, *, seed=None, options=None):
        """Environment i starts from ``seed + i``. ValueError where a game is to be seen that has
        never had a seed."""
        seeds = None
        if seed is not None:
            # ale-py's are of 31 bits.
            seeds = np.array([folded(seed + i, 31) for i in range(self.num_envs)])
        obs, info = self.env.reset(seed=seeds, options=options)
        if self._screen:
            self._screen.reset(info["episode_frame_number"][0], None if seed is None else seeds[0])
        return _channels_last(obs), info

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions):
        """Begin a step, as of ``gymnasium.vector.AsyncVectorEnv``: the games are played beside
        their caller, who may begin other ones' steps."""
        self._actions = np.asarray(actions, np.int64)
        self.env.send(self._actions)

    def step_wait(self):
        """What ``step`` gives, of the step that was begun."""
        obs, reward, terminated, truncated, info = self.env.recv()
        if "final_obs" in info:
            info["final_obs"] = _channels_last(info["final_obs"])
        if self._screen and (terminated[0] or truncated[0]):
            self._screen.reset(info["episode_frame_number"][0])
        elif self._screen:
            self._screen.step(self._actions[0])
        return _channels_last(obs), reward.astype(np.float64), terminated, truncated, info

    def close(self, **kwargs):
        self.env.close(**kwargs)
        self.env.ale = None  # its threads end with it

    def render(self):
        """What environment 0 looks like, [210, 160, 3] (some games are higher): a tuple of one."""
        return None if self._mode != "rgb_array" else (self._screen.picture(),)


def _channels_last(obs):
    return np.stack(obs.swapaxes(0, 1), axis=-1)  # 4 times as fast as a transposed copy


def _check_installed(env, game):
    from ale_py import roms

    found = metadata.version("ale-py")
    if Version(found) < Version(_OLDEST):
        raise ValueError(
            f"env {env} must have ale-py {_OLDEST} or newer ({install('atari')}), not {found}"
        )
    path = roms.get_rom_path(game)
    if path is None or not Path(path).exists():
        raise ValueError(f"env {env} must have a ROM of {game} in ale-py ({install('atari')})")


class _Screen:
    """The game of environment 0 once more, for its colours.

    The vector environment shows no screen; but a game follows from its seed and its actions, since
    none are sticky, and ``info`` says how many frames a reset took.
    """

    def __init__(self, game, frameskip, *, shown):
        from ale_py import Action, ALEInterface, LoggerMode, roms

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale, self._frameskip, self._actions = ALEInterface(), frameskip, Action
        self._rom, self._set = roms.get_rom_path(game), None
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setBool("display_screen", shown)

    def reset(self, frames, seed=None):
        """A new episode, ``frames`` after its beginning; with a seed, of a new game."""
        if seed is not None:
            self.ale.setInt("random_seed", int(seed))
            self.ale.loadROM(self._rom)
            self._set = self.ale.getMinimalActionSet()
        if self._set is None:
            raise ValueError("seed must be a number where a game is rendered, not None")
        self.ale.reset_game()
        for frame in range(frames):
            fire = frame == 0 and self._actions.FIRE in self._set
            self.ale.act(self._actions.FIRE if fire else self._actions.NOOP)

    def step(self, action):
        for _ in range(self._frameskip):
            self.ale.act(self._set[action])

    def picture(self):
        return self.ale.getScreenRGB()

"""Games of the Arcade Learning Environment, preprocessed and vectorised by ale-py itself."""

from importlib import metadata
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorWrapper
from packaging.version import Version

from host.environments.seeds import folded
from hw.errors import UsageError
from hw.extras import install

__all__ = ["PREPROCESSING", "AtariEnvs", "is_atari", "settings"]

#: How games are preprocessed; the names are ale-py's. Options of a registered id are not among
#: these, for example sticky actions, which ids ALE/...-v5 have and ids ...NoFrameskip-v4 have not.
PREPROCESSING = dict(
    maxpool=True,  # of the last two frames for which an action is held
    noop_max=30,
    use_fire_reset=True,
    img_height=84,
    img_width=84,
    grayscale=True,
    stack_num=4,
    episodic_life=False,
    life_loss_info=False,
    reward_clipping=False,
)

#: the release that rewrote the vector environment
_OLDEST = "0.12"

#: Options that an id may be registered with besides its game, and their defaults.
_REGISTERED = dict(
    frameskip=4,  # an action is held for so many frames
    repeat_action_probability=0.25,  # sticky actions
    full_action_space=False,
    max_num_frames_per_episode=108_000,  # half an hour
)
_ENTRY = "ale_py.env:AtariEnv"


def is_atari(spec):
    """Whether ``AtariEnvs`` can make the environments of ``spec``, a ``gymnasium.EnvSpec``. It must
    be a game of ale-py in its default mode, whose observations are screens, not the RAM, and whose
    actions are not held for a random number of frames."""
    return (
        spec.entry_point == _ENTRY
        and set(spec.kwargs) <= {"game", *_REGISTERED}
        and isinstance((_REGISTERED | spec.kwargs)["frameskip"], int)
    )


def settings(spec):
    """All options of ale-py's vector environment except the game, as a dict, for a
    ``gymnasium.EnvSpec`` for which ``is_atari`` is true: those with which the id is registered, and
    PREPROCESSING.

    If the id has no frame skipping, as ids ...NoFrameskip-v4, an action is held for 4 frames all
    the same: such ids leave the skipping to the preprocessing.
    """
    own = {name: value for name, value in spec.kwargs.items() if name != "game"}
    how = PREPROCESSING | _REGISTERED | own
    return how | {"frameskip": _REGISTERED["frameskip"]} if how["frameskip"] == 1 else how


class AtariEnvs(VectorWrapper):
    """A vector environment of ``count`` copies of a game of the Arcade Learning Environment, with
    the ``settings`` of its id.

    Actions are those of the game's minimal set, unless the id is registered with all actions. An
    action is held for 4 frames. If actions are sticky, the action before it is repeated in each
    of these frames with the registered probability. Observations are [count, 84, 84, 4] bytes: the
    last four images, oldest first. An image is the maximum of the last two frames for which an
    action was held, in grey, scaled by area; images before an episode are black.

    A reset lets 0 to 29 frames pass; if the game has the action FIRE, FIRE is pressed in the first
    of these frames, and at least one frame passes. A lost life neither ends an episode nor presses
    FIRE. Rewards are the game's scores. An episode is truncated after 108 000 frames, without those
    of the reset.

    The autoreset mode is SAME_STEP. ale-py makes no image of the frame in which an episode ends:
    the newest of the four images in ``final_obs`` is one of earlier frames.

    Parameters
    ----------
    spec : gymnasium.EnvSpec
        One for which ``is_atari`` is true.
    count : int
        Environments.
    render_mode : str, optional
        ``rgb_array`` or ``human``: environment 0 is shown in colours.
    threads : int
        Threads that step the games; several vector environments may share a machine.
    changes
        Changes of ``settings``, for tests.

    ValueError if ale-py is too old or has no ROM of the game.
    """

    own_final_obs = True  # arrays are made anew in each step

    def __init__(self, spec, count, *, render_mode=None, threads=1, **changes):
        game = spec.kwargs["game"]
        _check_installed(spec.id, game)
        from ale_py.vector_env import AtariVectorEnv

        mode = AutoresetMode.SAME_STEP
        how = settings(spec) | changes
        super().__init__(
            AtariVectorEnv(game, count, num_threads=threads, autoreset_mode=mode, **how)
        )
        frames, height, width = self.env.single_observation_space.shape
        space = Box(0, 255, (height, width, frames), np.uint8)
        self.single_observation_space = space
        self.observation_space = gymnasium.vector.utils.batch_space(space, count)
        # ale-py writes the mode into a dictionary that all its vector environments share.
        self.metadata = {"autoreset_mode": mode, "render_fps": 60 // how["frameskip"]}
        self._mode, self._screen = render_mode, None
        if render_mode:
            self._screen = _Screen(game, how, shown=render_mode == "human")

    @property
    def render_mode(self):
        return self._mode

    def reset(self, *, seed=None, options=None):
        """Resets all environments; environment i starts from ``seed + i``. ``seed`` None: every
        game goes on with its own random numbers. ValueError if a game is rendered and no seed was
        ever given."""
        seeds = None
        if seed is not None:
            # Seeds of ale-py have 31 bits.
            seeds = np.array([folded(seed + i, 31) for i in range(self.num_envs)])
        obs, info = self.env.reset(seed=seeds, options=options)
        if self._screen:
            self._screen.reset(info["episode_frame_number"][0], None if seed is None else seeds[0])
        return _channels_last(obs), info

    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions):
        """Begins a step with ``actions`` [count], as ``gymnasium.vector.AsyncVectorEnv`` does: the
        games run while the caller goes on, and ``step_wait`` returns the results."""
        self._actions = np.asarray(actions, np.int64)
        self.env.send(self._actions)

    def step_wait(self):
        """Returns the results of the step that was begun, as ``step`` does."""
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
        """A tuple with the picture of environment 0, bytes [210, 160, 3] (some games are higher);
        None unless ``render_mode`` is ``rgb_array``."""
        return None if self._mode != "rgb_array" else (self._screen.picture(),)


def _channels_last(obs):
    return np.stack(obs.swapaxes(0, 1), axis=-1)  # 4 times as fast as a transposed copy


def _check_installed(env, game):
    from ale_py import roms

    found = metadata.version("ale-py")
    if Version(found) < Version(_OLDEST):
        raise UsageError(
            f"env {env} must have ale-py {_OLDEST} or newer ({install('atari')}), not {found}"
        )
    path = roms.get_rom_path(game)
    if path is None or not Path(path).exists():
        raise UsageError(f"env {env} must have a ROM of {game} in ale-py ({install('atari')})")


class _Screen:
    """Plays the game of environment 0 a second time, for its colours.

    The vector environment shows no screen. But seed and actions decide a game, also with sticky
    actions, and ``info`` has the number of frames of a reset. ``how``: the ``settings``.
    """

    def __init__(self, game, how, *, shown):
        from ale_py import Action, ALEInterface, LoggerMode, roms

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale, self._how, self._actions = ALEInterface(), how, Action
        self._rom, self._set = roms.get_rom_path(game), None
        self.ale.setFloat("repeat_action_probability", how["repeat_action_probability"])
        self.ale.setBool("display_screen", shown)

    def reset(self, frames, seed=None):
        """Starts a new episode and lets ``frames`` pass; with a seed, starts a new game."""
        if seed is not None:
            self.ale.setInt("random_seed", int(seed))
            self.ale.loadROM(self._rom)
            whole = self._how["full_action_space"]
            self._set = self.ale.getLegalActionSet() if whole else self.ale.getMinimalActionSet()
        if self._set is None:
            raise UsageError("seed must be a number if a game is rendered, not None")
        self.ale.reset_game()
        for frame in range(frames):
            fire = frame == 0 and self._actions.FIRE in self._set
            self.ale.act(self._actions.FIRE if fire else self._actions.NOOP)

    def step(self, action):
        for _ in range(self._how["frameskip"]):
            self.ale.act(self._set[action])

    def picture(self):
        return self.ale.getScreenRGB()

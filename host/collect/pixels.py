"""Games of the Arcade Learning Environment, preprocessed and vectorised by ale-py itself."""

from importlib import metadata
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorWrapper
from packaging.version import Version

from host.collect.seeds import folded
from hw.errors import UsageError
from hw.extras import install

__all__ = ["PREPROCESSING", "AtariEnvs", "is_atari", "settings"]

#: How games are shown; the names are ale-py's. What an id was registered with is not among it, such
#: as sticky actions, which the ids ALE/...-v5 have and those called NoFrameskip-v4 have not.
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

#: rewrote the vector environment
_OLDEST = "0.12"

#: What an id may say besides which game it is, and what it means where it does not.
_REGISTERED = dict(
    frameskip=4,  # an action is held for so many frames
    repeat_action_probability=0.25,  # sticky actions
    full_action_space=False,
    max_num_frames_per_episode=108_000,  # half an hour
)
_ENTRY = "ale_py.env:AtariEnv"


def is_atari(spec):
    """Whether ``AtariEnvs`` can make the environments of a ``gymnasium.EnvSpec``: screens of a game
    in its default mode; not its RAM, and not with actions held for a random time."""
    return (
        spec.entry_point == _ENTRY
        and set(spec.kwargs) <= {"game", *_REGISTERED}
        and isinstance((_REGISTERED | spec.kwargs)["frameskip"], int)
    )


def settings(spec):
    """All that ale-py is told of a ``gymnasium.EnvSpec``, of which ``is_atari``, but for the game.

    What it was registered with, and PREPROCESSING. Without frame skipping, as the ids called
    NoFrameskip have it, an action is held for 4 frames as always: skipping is left to what
    preprocesses, which is this.
    """
    own = {name: value for name, value in spec.kwargs.items() if name != "game"}
    how = PREPROCESSING | _REGISTERED | own
    return how | {"frameskip": _REGISTERED["frameskip"]} if how["frameskip"] == 1 else how


class AtariEnvs(VectorWrapper):
    """Games of the Arcade Learning Environment, with the ``settings`` of their id.

    An action of the game's minimal set is held for 4 frames; where actions are sticky, the one
    before it goes on in each of them with the registered probability. Observations are [count, 84,
    84, 4] bytes: the last four, oldest first, each the maximum of the last two frames in grey,
    scaled by area; before an episode there is black. A reset lets 0 to 29 frames pass; where the
    minimal set has FIRE, it is pressed in the first of them, and there is at least one. A lost life
    neither ends an episode nor presses FIRE. Rewards are the game's scores. An episode is truncated
    after 108 000 frames, those of the reset not counted.

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
        Of ``settings``, for tests.

    ValueError if ale-py is too old or has no ROM of the game.
    """

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
        # The vector environment writes its mode into a dictionary that all of them share.
        self.metadata = {"autoreset_mode": mode, "render_fps": 60 // how["frameskip"]}
        self._mode, self._screen = render_mode, None
        if render_mode:
            self._screen = _Screen(game, how, shown=render_mode == "human")

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
        raise UsageError(
            f"env {env} must have ale-py {_OLDEST} or newer ({install('atari')}), not {found}"
        )
    path = roms.get_rom_path(game)
    if path is None or not Path(path).exists():
        raise UsageError(f"env {env} must have a ROM of {game} in ale-py ({install('atari')})")


class _Screen:
    """The game of environment 0 once more, for its colours.

    The vector environment shows no screen; but a game follows from its seed and its actions, sticky
    ones too, and ``info`` says how many frames a reset took. ``how`` : of ``settings``
    """

    def __init__(self, game, how, *, shown):
        from ale_py import Action, ALEInterface, LoggerMode, roms

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale, self._how, self._actions = ALEInterface(), how, Action
        self._rom, self._set = roms.get_rom_path(game), None
        self.ale.setFloat("repeat_action_probability", how["repeat_action_probability"])
        self.ale.setBool("display_screen", shown)

    def reset(self, frames, seed=None):
        """A new episode, ``frames`` after its beginning; with a seed, of a new game."""
        if seed is not None:
            self.ale.setInt("random_seed", int(seed))
            self.ale.loadROM(self._rom)
            whole = self._how["full_action_space"]
            self._set = self.ale.getLegalActionSet() if whole else self.ale.getMinimalActionSet()
        if self._set is None:
            raise UsageError("seed must be a number where a game is rendered, not None")
        self.ale.reset_game()
        for frame in range(frames):
            fire = frame == 0 and self._actions.FIRE in self._set
            self.ale.act(self._actions.FIRE if fire else self._actions.NOOP)

    def step(self, action):
        for _ in range(self._how["frameskip"]):
            self.ale.act(self._set[action])

    def picture(self):
        return self.ale.getScreenRGB()

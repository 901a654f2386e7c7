"""CartPole as a vector, stepped by formulas of our own in one compiled pass."""

import hashlib
import inspect

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv

from host.environments.classic_control import ClassicControlEnvs
from hw.errors import UsageError
from sim.compiled import compiled

__all__ = ["CartPoleEnvs", "is_as_written"]

#: SHA-256 of the source of ``CartPoleEnv.step`` from which ``CartPoleEnvs`` was written
#: (gymnasium 1.4.0).
_CARTPOLE = "36d99482f4772b6cd6c4dedb06f431ebf479d1866f70aa6cf50ce05dc8b9fc30"


#: Numbers of a CartPoleEnv that its step takes.
_NUMBERS = (
    "gravity", "masspole", "total_mass", "length", "polemass_length", "force_mag", "tau",
    "x_threshold", "theta_threshold_radians",
)  # fmt: skip


class CartPoleEnvs(ClassicControlEnvs):
    """CartPole. A step is gymnasium's, operation by operation, in one compiled pass; sine and
    cosine are NumPy's.

    Attributes
    ----------
    states : float64 array [num_envs, 4]
        Position, velocity, angle and angular velocity of each cart.
    """

    own_arrays = True

    def __init__(self, envs, limits):
        super().__init__(envs, limits)
        self.states = np.zeros((len(envs), 4))

    def reset(self, *, seed=None, options=None):
        self._numbers = np.array([getattr(self.envs[0], name) for name in _NUMBERS], np.float64)
        return super().reset(seed=seed, options=options)

    def _begun(self, i):
        self.states[i] = self.envs[i].state

    def _stepped(self, actions):
        count, angles = self.num_envs, self.states[:, 2]
        if len(actions) != count:
            raise UsageError(f"actions must be {count}, one a cart, not {len(actions)}")
        obs = np.empty((count, 4), np.float32)
        terminated, truncated = np.empty(count, bool), np.empty(count, bool)
        ended = _advance(
            self.states, np.cos(angles), np.sin(angles), np.asarray(actions, np.int64),
            self._numbers, self._steps, self._limits, obs, terminated, truncated,
        )  # fmt: skip
        return obs, np.ones(count), terminated, truncated, ended


@compiled
def _advance(states, cos, sin, actions, numbers, steps, limits, obs, terminated, truncated):
    """Steps CartPoleEnvs as ``CartPoleEnv.step`` of gymnasium does, operation by operation, in
    float64. Returns whether an episode ended.

    states : float64 [carts, 4]: position, velocity, angle, angular velocity; changed in place
    cos, sin : float64 [carts], of the angles
    actions : int64 [carts]
    numbers : float64 [9]: gravity, mass of the pole, both masses, length, their product with the
        pole's mass, force, seconds of a step, the largest position and angle
    steps, limits : int64, float64 [carts]: steps of the episode, one more afterwards, and their
        limit
    obs, terminated, truncated : float32 [carts, 4], bool [carts]: the results
    """
    gravity, pole, mass, length, arm = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    force, tau, far, low = numbers[5], numbers[6], numbers[7], numbers[8]
    ended = False
    for i in range(len(states)):
        x, x_dot, theta, theta_dot = states[i, 0], states[i, 1], states[i, 2], states[i, 3]
        push = force if actions[i] == 1 else -force
        temp = (push + arm * (theta_dot * theta_dot) * sin[i]) / mass
        turn = gravity * sin[i] - cos[i] * temp
        turn /= length * (4.0 / 3.0 - pole * (cos[i] * cos[i]) / mass)
        slide = temp - arm * turn * cos[i] / mass
        x, x_dot = x + tau * x_dot, x_dot + tau * slide
        theta, theta_dot = theta + tau * theta_dot, theta_dot + tau * turn
        states[i, 0], states[i, 1], states[i, 2], states[i, 3] = x, x_dot, theta, theta_dot
        for k in range(4):
            obs[i, k] = np.float32(states[i, k])
        steps[i] += 1
        terminated[i] = (x < -far) | (x > far) | (theta < -low) | (theta > low)
        truncated[i] = steps[i] >= limits[i]
        ended |= terminated[i] | truncated[i]
    return ended


def is_as_written(envs):
    """Whether CartPoleEnvs computes as these objects of CartPoleEnv do: the step's source is known,
    no option is set, and their numbers are alike."""
    try:
        source = inspect.getsource(CartPoleEnv.step)
    except (OSError, TypeError):
        return False
    if hashlib.sha256(source.encode()).hexdigest() != _CARTPOLE:
        return False
    first = envs[0]
    return all(
        "step" not in vars(env)
        and env.kinematics_integrator == "euler"
        and not env._sutton_barto_reward
        and all(getattr(env, name) == getattr(first, name) for name in _NUMBERS)
        for env in envs
    )

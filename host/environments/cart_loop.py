"""The compiled pass of ``host.environments.classic_control``: a step of carts with poles."""

import numpy as np

from sim.compiled import compiled

__all__ = ["step"]


@compiled
def step(states, cos, sin, actions, numbers, steps, limits, obs, terminated, truncated):
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

"""RLtools' side: its Python package, which compiles its C++ for the task at first use."""

from contextlib import nullcontext
from importlib.metadata import version
from itertools import count

import gymnasium
import numpy as np
import rltools
from gymnasium.wrappers import RescaleAction

from bench.learning.peers import PeerPlan

__all__ = ["RLtools"]

# An ImportError without it: RLtools would multiply by its own loops, which take 10 times as long.
version("mkl")


class RLtools:
    """The run of a PeerPlan, given as a dict of JSON values, whose ``arguments`` go to the
    algorithm's function in ``rltools``, with the steps and the number of environments.

    RLtools keeps a compiled library for each algorithm in the system's folder of temporary files.
    Its compiler is another process, so its seconds do not count.
    """

    def __init__(self, asked, seed):
        self._env, self._seed = asked["rule"]["env"], seed
        self._plan = plan = PeerPlan(**asked["plan"])
        limit = "TOTAL_STEP_LIMIT" if plan.algorithm == "PPO" else "STEP_LIMIT"
        self._seeds = count(seed)
        self._library = getattr(rltools, plan.algorithm)(
            self._new_env,
            enable_evaluation=False,
            interface_name="solve",
            N_ENVIRONMENTS=plan.env_count,
            **{limit: plan.steps},
            **plan.arguments,
        )

    def warm(self):
        """Begins the run, and drops it after an update."""
        self._steps(lambda steps, updates, act: not updates)

    def train(self, watch):
        self._steps(watch, begun=watch.restart)

    def _steps(self, watch, begun=lambda: None):
        self._seeds = count(1000 * self._seed)
        state, steps, on = self._library.State(self._seed), 0, True
        each = self._plan.env_count * self._plan.arguments.get("ON_POLICY_RUNNER_STEPS_PER_ENV", 1)
        policy = nullcontext(_Policy(state))
        begun()
        while on and steps + each <= self._plan.steps:
            state.step()
            steps += each
            on = watch(steps, self._updates(steps), policy)

    def _updates(self, steps):
        """Gradient steps after ``steps``: one a step after the warm-up; PPO's minibatches."""
        known = self._plan.arguments
        if self._plan.algorithm == "PPO":
            return known["N_EPOCHS"] * steps // known["BATCH_SIZE"]
        return max(0, steps - known["N_WARMUP_STEPS"])

    def _new_env(self):
        env = RescaleAction(gymnasium.make(self._env), -1, 1)
        env.reset(seed=next(self._seeds))  # RLtools resets without a seed
        return env


class _Policy:
    """The greedy policy of a state, with actions in [-1, 1]."""

    def __init__(self, state):
        self._state = state

    def act(self, obs, *, greedy):
        rows = np.ascontiguousarray(obs, np.float32)
        return np.clip([self._state.action(row) for row in rows], -1, 1)

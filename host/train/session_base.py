"""What sessions share: environments, the agent that acts in them, and the seeds of both."""

from dataclasses import dataclass

import numpy as np

from host.collect.environment import Actor, evaluate, make_envs, sizes
from host.phases import Phases
from host.train.policy import agent_type

__all__ = ["Iteration", "SessionBase"]

#: spawn keys: every random stream of a run is its own branch of the run's seed
_AGENT, BUFFER, _ENVS, _EVALUATION = range(4)


@dataclass(frozen=True)
class Iteration:
    """What one launch gave.

    ``episodes`` lists (return, length). ``measured`` maps columns of progress.csv to numbers, which
    a row has the means of, or None; it is empty before learning starts.
    """

    episodes: list
    measured: dict


class SessionBase:
    """A run as a state machine: no files, no clock, a function of its config and saved state.

    A subclass has ``iterate()``, which gives an Iteration, ``progress()`` (column of progress.csv
    -> number now), ``device_cycles``, ``close()``, and names in ``COLUMNS`` what its rows have
    besides what all have.

    Parameters
    ----------
    config : RunConfig

    Attributes
    ----------
    agent : Agent
    launches : int
    phases : Phases
        Where the time of the thread that iterates goes.
    """

    COLUMNS = ()

    def __init__(self, config):
        self.config, self.launches, self.phases = config, 0, Phases()
        self._envs = make_envs(config.env, config.env_count, config.algo)
        self._evaluation_envs = make_envs(config.env, config.evaluation_episodes, config.algo)
        self.observation_size, self.action_count = sizes(self._envs)
        self.agent = agent_type(config.algo)(
            config.agent,
            observation_size=self.observation_size,
            action_count=self.action_count,
            seed=np.random.SeedSequence(config.seed, spawn_key=(_AGENT,)),
            **self._agent_options(),
        )
        self._actor = Actor(self._envs, seed=self._seed(_ENVS, 0))

    def _agent_options(self):
        """What the environments decide of the agent, besides its sizes."""
        return {}

    def _seed(self, *key):
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        return int(sequence.generate_state(1)[0]) >> 1

    def evaluate(self, attempt=0, agent=None, stop=()):
        """Greedy returns [evaluation_episodes]; each attempt has its own episodes. None if there
        comes to be something in ``stop`` before they end."""
        return evaluate(
            agent or self.agent,
            self._evaluation_envs,
            seed=self._seed(_EVALUATION, attempt),
            limit=self.config.evaluation_steps,
            stop=stop,
        )

    def state_dict(self):
        """Everything but the environments, which gymnasium cannot save."""
        return {"launches": self.launches, "agent": self.agent.state_dict()}

    def load_state_dict(self, state):
        """Environments start new episodes, from seeds that follow from the run's and the launch."""
        self.launches = int(state["launches"])
        self.agent.load_state_dict(state["agent"])
        self._actor = Actor(self._envs, seed=self._seed(_ENVS, self.launches))

    def close(self):
        self._envs.close()
        self._evaluation_envs.close()

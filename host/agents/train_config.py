"""What a training run is made of, apart from the card it runs on."""

from dataclasses import dataclass, field

from host.agents.dqn_config import DQNConfig, check_choice, check_number
from hw.config import ConfigBase, check_range

__all__ = ["ALGORITHMS", "TrainConfig"]

#: name -> what it is
ALGORITHMS = {"dqn": "deep Q-network with prioritized replay; discrete actions"}

#: fields that may change when a run is resumed: they decide how long and how watched it is
_FREE = ("steps", "until_solved", "log_interval", "checkpoint_interval")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(ConfigBase):
    """One run; the defaults solve CartPole-v1. Intervals are in learner iterations (launches)."""

    #: Learning algorithm.
    algo: str = "dqn"
    #: gymnasium id; Discrete actions.
    env: str = "CartPole-v1"
    #: Environment steps to take at most, all actors together.
    steps: int = 200_000
    #: Stop once the policy is solved and confirmed (``host.train``).
    until_solved: bool = False
    #: Of everything random: weights, exploration, environments, draws, evaluation.
    seed: int = 0
    #: Environments that collect, stepped together.
    env_count: int = 8
    #: Steps of each environment for one launch.
    steps_per_launch: int = 1
    #: Experiences that the replay buffer holds.
    capacity: int = 1 << 15
    #: Exponent of the priorities, and what is added to the TD error first.
    alpha: float = 0.6
    priority_epsilon: float = 0.01
    #: Experiences in the buffer before learning starts.
    learning_starts: int = 1000
    #: Greedy evaluation: how often, and over how many episodes.
    evaluation_interval: int = 100
    evaluation_episodes: int = 20
    #: Rows of progress.csv: how often.
    log_interval: int = 100
    #: Checkpoints: how often.
    checkpoint_interval: int = 5000
    #: The agent.
    dqn: DQNConfig = field(default_factory=DQNConfig)

    def __post_init__(self):
        check_choice("algo", self.algo, ALGORITHMS)
        if not isinstance(self.env, str) or not self.env:
            raise ValueError(f"env must be the id of a gymnasium environment, not {self.env!r}")
        if not isinstance(self.until_solved, bool):
            raise ValueError(f"until_solved must be True or False, not {self.until_solved!r}")
        if not isinstance(self.dqn, DQNConfig):
            raise ValueError(f"dqn must be a DQNConfig, not {self.dqn!r}")
        check_range("steps", self.steps, 1, 1 << 40)
        check_range("seed", self.seed, 0, (1 << 63) - 1)
        check_range("env_count", self.env_count, 1, 1 << 12)
        check_range("steps_per_launch", self.steps_per_launch, 1, 1 << 12)
        check_range("capacity", self.capacity, 2, 1 << 30)
        check_range("evaluation_episodes", self.evaluation_episodes, 1, 1 << 12)
        for name in ("evaluation_interval", "log_interval", "checkpoint_interval"):
            check_range(name, getattr(self, name), 1, 1 << 31)
        check_range(
            "learning_starts",
            self.learning_starts,
            self.dqn.batch_size,
            self.capacity,
            " (batch_size..capacity)",
        )
        check_number("alpha", self.alpha, "in [0, 1]", lambda x: 0 <= x <= 1)
        check_number("priority_epsilon", self.priority_epsilon, "in (0, 1]", lambda x: 0 < x <= 1)

    def identity(self):
        """The fields that a resumed run must share with its checkpoint, as JSON values."""
        return {name: value for name, value in self.to_dict().items() if name not in _FREE}

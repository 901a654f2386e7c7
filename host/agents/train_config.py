"""What a training run is made of, apart from the card it runs on."""

from dataclasses import dataclass

from host.agents.agent_config import check_choice, check_number
from host.agents.ddpg_config import DDPGConfig
from host.agents.dqn_config import DQNConfig
from hw.config import ConfigBase, check_range

__all__ = ["ALGORITHMS", "LEARNERS", "TrainConfig", "preset"]

#: name -> what it is
ALGORITHMS = {
    "dqn": "deep Q-network with prioritized replay; discrete actions",
    "ddpg": "deep deterministic policy gradient with prioritized replay; continuous actions",
}

#: name -> what it is
LEARNERS = {
    "cpu": "the card draws batches, the CPU trains (kernel replay)",
    "card": "the card trains too (kernel of the algorithm's name)",
}

_AGENTS = {"dqn": DQNConfig, "ddpg": DDPGConfig}

#: fields that may change when a run is resumed: they decide how long and how watched it is
_FREE = ("steps", "until_solved", "log_interval", "checkpoint_interval")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(ConfigBase):
    """One run; the defaults solve CartPole-v1. Intervals are in launches; ``preset`` has the
    defaults of the other algorithms and learners."""

    #: Learning algorithm.
    algo: str = "dqn"
    #: Where it learns: cpu or card.
    learner: str = "cpu"
    #: gymnasium id; Discrete actions for dqn, a Box for ddpg.
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
    #: Learner card: learner iterations for one launch.
    updates_per_launch: int = 1
    #: Learner card: launches between one fetch of the weights that act and the next.
    weights_interval: int = 1
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
    #: The agent: that of ``algo``; None is its defaults, and what the other one is.
    dqn: DQNConfig | None = None
    ddpg: DDPGConfig | None = None

    def __post_init__(self):
        check_choice("algo", self.algo, ALGORITHMS)
        check_choice("learner", self.learner, LEARNERS)
        for name, kind in _AGENTS.items():
            if name == self.algo and getattr(self, name) is None:
                object.__setattr__(self, name, kind())
            value, wanted = getattr(self, name), kind if name == self.algo else type(None)
            if not isinstance(value, wanted):
                raise ValueError(
                    f"{name} must be {'a ' if wanted is kind else ''}{wanted.__name__} "
                    f"for {self.algo}, not {value!r}"
                )
        if not isinstance(self.env, str) or not self.env:
            raise ValueError(f"env must be the id of a gymnasium environment, not {self.env!r}")
        if not isinstance(self.until_solved, bool):
            raise ValueError(f"until_solved must be True or False, not {self.until_solved!r}")
        check_range("steps", self.steps, 1, 1 << 40)
        check_range("seed", self.seed, 0, (1 << 63) - 1)
        check_range("env_count", self.env_count, 1, 1 << 12)
        check_range("steps_per_launch", self.steps_per_launch, 1, 1 << 12)
        check_range("capacity", self.capacity, 2, 1 << 30)
        check_range("evaluation_episodes", self.evaluation_episodes, 1, 1 << 12)
        check_range("updates_per_launch", self.updates_per_launch, 1, 1 << 12)
        intervals = ("evaluation_interval", "log_interval", "checkpoint_interval")
        for name in (*intervals, "weights_interval"):
            check_range(name, getattr(self, name), 1, 1 << 31)
        check_range(
            "learning_starts",
            self.learning_starts,
            self.agent.batch_size,
            self.capacity,
            " (batch_size..capacity)",
        )
        check_number("alpha", self.alpha, "in [0, 1]", lambda x: 0 <= x <= 1)
        check_number("priority_epsilon", self.priority_epsilon, "in (0, 1]", lambda x: 0 < x <= 1)
        self._check_learner()

    def _check_learner(self):
        """Rules of one learner alone."""
        if self.learner == "cpu":
            for name in ("updates_per_launch", "weights_interval"):
                value = getattr(self, name)
                if value != 1:
                    raise ValueError(f"{name} must be 1 with learner cpu, not {value!r}")
            return
        if self.agent.max_gradient_norm is not None:
            raise ValueError(
                "max_gradient_norm must be None with learner card, "
                f"not {self.agent.max_gradient_norm!r}"
            )
        if getattr(self.agent, "dueling", False):
            raise ValueError("dueling must be False with learner card, not True")

    @property
    def agent(self):
        """The agent's config."""
        return getattr(self, self.algo)

    @classmethod
    def from_dict(cls, values):
        agents = {
            name: kind.from_dict(values[name])
            for name, kind in _AGENTS.items()
            if values.get(name) is not None
        }
        return super().from_dict({**values, **agents})

    def identity(self):
        """The fields that a resumed run must share with its checkpoint, as JSON values."""
        return {name: value for name, value in self.to_dict().items() if name not in _FREE}


#: what differs from the fields' defaults, which are for dqn on the CPU
_PRESETS = {
    "dqn": {},
    "ddpg": dict(
        env="Pendulum-v1",
        steps=40_000,
        env_count=4,
        learning_starts=256,
        evaluation_interval=250,
        evaluation_episodes=50,
    ),
}
#: what differs again on the card: networks that a kernel holds, and for ``dqn`` few gradient steps
#: on much experience, with values of the order of 1 as fixed point wants them
_CARD = {
    "dqn": dict(
        steps=100_000,
        steps_per_launch=4,
        evaluation_interval=25,
        dqn=dict(
            hidden=(64, 64),
            activation="tanh",
            n_step=10,
            reward_scale=0.1,
            batch_size=32,
            learning_rate=4e-3,
            max_gradient_norm=None,
            double=False,
            epsilon_steps=8000,
        ),
    ),
    "ddpg": {},
}


def preset(algo, learner):
    """The default config of an algorithm on a learner: ``dqn`` solves CartPole-v1, ``ddpg``
    Pendulum-v1."""
    check_choice("algo", algo, ALGORITHMS)
    check_choice("learner", learner, LEARNERS)
    card = _CARD[algo] if learner == "card" else {}
    return TrainConfig.from_dict({"algo": algo, "learner": learner, **_PRESETS[algo], **card})

"""What every training run is made of, whatever learns, apart from the card it runs on."""

from dataclasses import dataclass
from typing import Annotated

from host.rules import FINITE, POSITIVE, Choice, Flag, Integer, check_choice, check_fields
from hw.config import ConfigBase

__all__ = ["LEARNERS", "RunConfig"]

#: name -> what it is
LEARNERS = {
    "cpu": "the CPU trains; the card draws batches (kernel replay), or for ppo estimates "
    "advantages (kernel gae)",
    "card": "the card trains too (kernel of the algorithm's name); not for ppo",
}

#: fields that may change when a run is resumed: they decide how long and how watched it is
_FREE = (
    "steps",
    "until_solved",
    "threshold",
    "evaluation_steps",
    "log_interval_steps",
    "checkpoint_interval_steps",
    "checkpoint_interval_s",
)


_INTERVAL = Integer(1, 1 << 40)


@dataclass(frozen=True, kw_only=True)
class RunConfig(ConfigBase):
    """One run. A subclass has a field for the agent of each of its
    algorithms, and lists them in ``AGENTS``: name -> the class of its agent's config."""

    #: Learning algorithm.
    algo: str
    #: What trains: the CPU, or the card.
    learner: Annotated[str, Choice(tuple(LEARNERS))] = "cpu"
    #: gymnasium's id, or MODULE:ID; with Discrete actions for dqn, a Box for ddpg, either for ppo.
    env: str = "CartPole-v1"
    #: Environment steps to take at most, all actors together.
    steps: Annotated[int, Integer(1, 1 << 40)] = 200_000
    #: Stop once the policy is solved and confirmed by a second evaluation.
    until_solved: Annotated[bool, Flag()] = False
    #: Mean return that counts as solved; None: the environment's own.
    threshold: Annotated[float | None, FINITE] = None
    #: Seed of everything random: weights, exploration, environments, draws, evaluation.
    seed: Annotated[int, Integer(0, (1 << 63) - 1)] = 0
    #: Environments that collect, stepped together.
    env_count: Annotated[int, Integer(1, 1 << 12)] = 8
    #: Steps of each environment for one launch.
    steps_per_launch: Annotated[int, Integer(1, 1 << 12)] = 1
    #: Environment steps, all actors together, from one greedy evaluation to the next. An interval
    #: ends with the launch that passes a multiple of it.
    evaluation_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Episodes of an evaluation.
    evaluation_episodes: Annotated[int, Integer(1, 1 << 12)] = 20
    #: Steps after which an episode of an evaluation is broken off, where it has no end of its own.
    evaluation_steps: Annotated[int, _INTERVAL] = 100_000
    #: Environment steps from one row of progress.csv to the next; an evaluation has its own row.
    log_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Environment steps from one checkpoint to the next.
    checkpoint_interval_steps: Annotated[int, _INTERVAL] = 40_000
    #: Seconds from one checkpoint to the next at most, if that is earlier.
    checkpoint_interval_s: Annotated[float, POSITIVE] = 60.0

    AGENTS = {}

    def __post_init__(self):
        check_choice("algo", self.algo, self.AGENTS)
        check_fields(self)
        for name, kind in self.AGENTS.items():
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

    @property
    def agent(self):
        """The agent's config."""
        return getattr(self, self.algo)

    @classmethod
    def from_dict(cls, values):
        agents = {
            name: kind.from_dict(values[name])
            for name, kind in cls.AGENTS.items()
            if values.get(name) is not None
        }
        return super().from_dict({**values, **agents})

    def identity(self):
        """The fields that a resumed run must share with its checkpoint, as JSON values."""
        return {name: value for name, value in self.to_dict().items() if name not in _FREE}

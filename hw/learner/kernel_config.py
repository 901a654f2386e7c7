"""Config of a kernel with a learner: replay manager, memory engines and the learner behind them."""

from dataclasses import dataclass

from hw.config import ConfigBase
from hw.errors import UsageError
from hw.learner.config import LearnerConfig
from hw.learner.records import record_words
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.shell.axi import EngineConfig

__all__ = ["LearnerKernelConfig"]


@dataclass(frozen=True, kw_only=True)
class LearnerKernelConfig(ConfigBase):
    """The whole kernel ``dqn`` or ``ddpg``; the algorithm is the learner's."""

    replay: ReplayConfig = ReplayConfig()
    engine: EngineConfig = EngineConfig()
    learner: LearnerConfig = LearnerConfig()

    def __post_init__(self):
        self.replay_kernel  # noqa: B018 -- its rules are this kernel's too
        if self.learner.batch > self.replay.capacity:
            raise UsageError(
                f"batch must be at most the capacity ({self.replay.capacity}), "
                f"not {self.learner.batch!r}"
            )

    @property
    def replay_kernel(self):
        """Config of the replay core inside."""
        return ReplayKernelConfig(replay=self.replay, engine=self.engine)

    @property
    def fields(self):
        """``{name: (dtype, shape)}`` of the fields of an experience, in the order of
        ``record_words``: "<u4" for a discrete action, "<f4" for all others; ``()`` for a single
        number."""
        learner, fields = self.learner, {}
        for name, (_, count) in record_words(learner).items():
            discrete = name == "action" and learner.discrete
            scalar = discrete or name in ("reward", "discount")
            fields[name] = ("<u4" if discrete else "<f4", () if scalar else (count,))
        return fields

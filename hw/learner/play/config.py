"""Config of a kernel that plays: environments on the card and their windows."""

from dataclasses import dataclass

from hw.config import ConfigBase, check_range
from hw.environment.machine_ports import MachineConfig
from hw.errors import UsageError
from hw.learner.play.episodes import EpisodesConfig
from hw.learner.play.explore import ExploreConfig
from hw.learner.play.windows import WindowsConfig

__all__ = ["LONGEST", "MOST_ENVIRONMENTS", "PlayConfig"]

#: Environments of a kernel, and rewards of a window, at most.
MOST_ENVIRONMENTS, LONGEST = 64, 16


@dataclass(frozen=True, kw_only=True)
class PlayConfig(ConfigBase):
    """Sizes of PLAY.

    environments : side by side, 1..64, and at most the learner's largest batch; 0: no PLAY.
    longest : rewards of a window at most, 1..16; ``environments * longest`` experiences, which end
        at once if all episodes do, are at most the capacity.
    """

    environments: int = 0
    longest: int = LONGEST

    def __post_init__(self):
        check_range("environments", self.environments, 0, MOST_ENVIRONMENTS)
        check_range("longest", self.longest, 1, LONGEST)

    def __bool__(self):
        return self.environments > 0

    @property
    def machine(self):
        return MachineConfig(environments=self.environments)

    @property
    def episodes(self):
        return EpisodesConfig(environments=self.environments)

    def explore(self, learner):
        return ExploreConfig(environments=self.environments, actions=learner.action)

    def windows(self, learner):
        return WindowsConfig(
            environments=self.environments, observation=learner.observation, longest=self.longest
        )

    def check(self, learner, capacity):
        """UsageError, with the field's name, unless a kernel with this learner can play."""
        if not self:
            return
        if not learner.discrete:
            raise UsageError(
                f"environments must be 0 for {learner.algorithm}, whose actions are numbers, not "
                f"{self.environments!r}"
            )
        most = min(MOST_ENVIRONMENTS, learner.batch)
        check_range("environments", self.environments, 1, most, " (the batch)")
        if self.environments * self.longest > capacity:
            raise UsageError(
                f"longest must be at most {capacity // self.environments}, for "
                f"{self.environments} environments and a capacity of {capacity}, not "
                f"{self.longest!r}"
            )
        self.explore(learner)
        self.windows(learner)

"""The core of a learner's kernel that plays: its tables."""

from hw.errors import UsageError
from hw.learner.core import LearnerCore
from hw.learner.play.commands import COMMANDS, PLAYING
from hw.learner.play.contract import PLAY_STATUS

__all__ = ["PlayingCore"]


class PlayingCore(LearnerCore):
    """As LearnerCore, with the commands of ``hw.learner.play.commands``."""

    COMMANDS = COMMANDS
    STATUS = PLAY_STATUS

    @property
    def table(self):
        return PLAYING

    def elaborate(self, platform):
        raise UsageError(
            f"play.environments must be 0 in Verilog, not {self.config.play.environments}: the "
            "card model alone plays so far"
        )

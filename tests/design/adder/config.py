"""Config of the kernel ``adder``: what a number of units and every width follow from."""

from dataclasses import dataclass

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.shell.axi import EngineConfig
from hw.shell.interconnect import InterconnectConfig

__all__ = ["NUMBER_BYTES", "AdderConfig"]

NUMBER_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class AdderConfig(ConfigBase):
    """The whole kernel.

    capacity : numbers of the longest vectors.
    engine : of the host's master. vectors_engine : of the vectors', at most as wide.
    """

    capacity: int = 1 << 20
    engine: EngineConfig = EngineConfig()
    vectors_engine: EngineConfig = EngineConfig(data_width=256)

    def __post_init__(self):
        check_range("capacity", self.capacity, 1, (1 << 24) - 1)
        widest = self.engine.data_width
        if self.vectors_engine.data_width > widest:
            raise UsageError(
                f"vectors_engine.data_width must be at most {widest} (engine.data_width), "
                f"not {self.vectors_engine.data_width!r}"
            )

    @property
    def interconnect(self):
        """Of the two ports on the vectors' master."""
        engine = self.vectors_engine
        return InterconnectConfig(
            data_width=engine.data_width,
            ports=2,
            depth=engine.depth,
            burst_beats=engine.burst_beats,
        )

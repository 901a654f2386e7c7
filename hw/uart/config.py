"""Sizes of a kernel's surroundings on a board that is reached over a serial line."""

from dataclasses import dataclass

from hw.config import ConfigBase, check_range, freeze_lists
from hw.errors import UsageError
from hw.uart.protocol import BANK_TARGET, MAX_BANKS, TARGET_SHIFT

__all__ = ["BAUD", "UartConfig"]

#: Of every board: the most that an FT231X does.
BAUD = 3_000_000

#: Of a bit, by which the clock's nearest divisor may miss it: at the end of a byte the receiver
#: then samples a fifth of a bit beside the middle.
_TOLERANCE = 0.02


@dataclass(frozen=True, kw_only=True)
class UartConfig(ConfigBase):
    """A kernel with block RAM behind its masters and a bridge from a serial line.

    clock_hz : clock of the kernel and of everything around it, in Hz.
    baud : bits a second on the line. ``clock_hz`` over ``baud``, rounded, is ``divisor``, the
        clocks a bit; the rounding may change the rate by at most 2 %.
    banks : bytes of the memory behind each master, in the masters' order; each 4096 to 1 MiB.
    payload : the most bytes that one request may read or write.
    backlog : received bytes that may wait at the board, for example while it sends a reply.
    """

    clock_hz: int
    baud: int = BAUD
    banks: tuple[int, ...]
    payload: int = 1024
    backlog: int = 2048

    def __post_init__(self):
        freeze_lists(self, "banks")
        check_range("clock_hz", self.clock_hz, 1_000_000, 1_000_000_000)
        check_range("baud", self.baud, 300, self.clock_hz // 4, " for four clocks a bit")
        error = abs(self.divisor * self.baud / self.clock_hz - 1)
        if error > _TOLERANCE:
            raise UsageError(
                f"baud must be within 2 % of clock_hz ({self.clock_hz}) over a whole number, "
                f"not {self.baud!r}"
            )
        check_range("payload", self.payload, 64, 16384)
        check_range("backlog", self.backlog, 64, 65536)
        if not 1 <= len(self.banks) <= MAX_BANKS:
            raise UsageError(f"banks must be 1 to {MAX_BANKS} sizes, not {self.banks!r}")
        for size in self.banks:
            check_range("banks", size, 4096, 1 << TARGET_SHIFT)

    @property
    def divisor(self):
        """Clocks a bit."""
        return round(self.clock_hz / self.baud)

    @property
    def bases(self):
        """Address of each bank, for the kernel and on the line alike."""
        return [bank + BANK_TARGET << TARGET_SHIFT for bank in range(len(self.banks))]

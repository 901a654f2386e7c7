"""Configs of advantage estimation: the array of rows, and the kernel around it."""

from dataclasses import dataclass

from hw.arith.fixed import SQ, UQ
from hw.config import ConfigBase, check_flag, check_range
from hw.errors import UsageError
from hw.shell.axi import EngineConfig
from hw.stream.ram import style_of

__all__ = ["GaeConfig", "GaeKernelConfig"]

_WIDTHS = (8, 16, 32)
_HEADROOM = 11  # bits of a word above a result: an advantage is a sum over up to 1024 steps


@dataclass(frozen=True, kw_only=True)
class GaeConfig(ConfigBase):
    """``rows`` PEs beside a stack (HEPPO's FILO memory) of ``depth`` slots, a slot a time step.

    The stack takes one slot more, for bootstraps alone, so that a rollout of ``depth`` steps may
    end with unfinished episodes.

    rows : trajectories that are worked on at the same time, 1 to 256.
    depth : slots of the stack, 2 to 65536.
    lookahead : registers in a PE's loop (HEPPO III-B): 1, 2 or 3.
    code_width : bits of a reward or value in the stack: 8 or 16, codes; 32, words.
    result_width : bits of an advantage or reward-to-go: 8 or 16, codes; 32, words.
    ultra_ram : whether a stack of 2048 slots and more may be UltraRAM.
    """

    rows: int = 64
    depth: int = 1024
    lookahead: int = 2
    code_width: int = 8
    result_width: int = 8
    ultra_ram: bool = True

    def __post_init__(self):
        check_range("rows", self.rows, 1, 256)
        check_range("depth", self.depth, 2, 1 << 16)
        check_range("lookahead", self.lookahead, 1, 3)
        for name in ("code_width", "result_width"):
            if getattr(self, name) not in _WIDTHS:
                raise UsageError(f"{name} must be one of 8, 16, 32, not {getattr(self, name)!r}")
        check_flag("ultra_ram", self.ultra_ram)

    @property
    def word(self):
        """Rewards, values and advantages inside a PE, in units that the host chooses.

        With 8-bit codes a word has 27 bits, which one DSP48E2 multiplies; wider codes need wider
        words and two blocks.
        """
        return SQ(27 if self.code_width == 8 else 35, 0)

    @property
    def coefficient(self):
        """The format of gamma and of the powers of gamma * lambda, 1 included."""
        return UQ(1, 16 if self.code_width == 8 else 25)

    @property
    def scale(self):
        """The format of the factor that turns a code into a word."""
        return UQ(10, 16)

    @property
    def code_limit(self):
        """Largest code of ``code_width`` bits; the lowest is its negative."""
        return self.limit_of(0)

    def limit_of(self, bits):
        """Largest code of a PUSH with ``code_bits`` of ``bits``, of which 0 is ``code_width``."""
        return (1 << ((bits or self.code_width) - 1)) - 1

    @property
    def most_code_bits(self):
        """The most ``code_bits`` of a PUSH; 0 if codes are words, which have all their bits."""
        return 0 if self.code_width == 32 else self.code_width

    @property
    def result_limit(self):
        """Largest result; the lowest is its negative."""
        return (1 << (self.result_width - 1)) - 1

    @property
    def result_shift(self):
        """Bits of a word below a result's unit."""
        return max(0, self.word.width - _HEADROOM - self.result_width)

    @property
    def ram_style(self):
        """Which kind of memory the stack is."""
        return style_of(self.depth, self.ultra_ram)

    @property
    def cell_width(self):
        """Bits of a row in a slot of the stack: the kind, with reward and value or with the two
        results."""
        return 2 * max(self.code_width, self.result_width) + 2


@dataclass(frozen=True, kw_only=True)
class GaeKernelConfig(ConfigBase):
    """The whole kernel ``gae``."""

    gae: GaeConfig = GaeConfig()
    engine: EngineConfig = EngineConfig()

    @property
    def slot_beats(self):
        """Beats of each plane of a slot, in order: numbers (kinds, rewards, values), codes (the
        same), results (advantages, rewards-to-go). Each plane begins on a new beat."""
        rows, beat = self.gae.rows, self.engine.beat_bytes

        def planes(*sizes):
            return tuple(-(-rows * size // beat) for size in sizes)

        code, result = self.gae.code_width // 8, self.gae.result_width // 8
        return {
            "numbers": planes(1, 4, 4),
            "codes": planes(1, code, code),
            "results": planes(result, result),
        }

    def slot_bytes(self, planes):
        """Bytes of the planes of a slot: "numbers", "codes" or "results"."""
        return sum(self.slot_beats[planes]) * self.engine.beat_bytes

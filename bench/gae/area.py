"""Resources and speed of HEPPO's rows: PEs as yosys maps them, loops as nextpnr routes them.

These are estimates: no vendor's tool is used.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bench import row
from boards.area import synthesize
from boards.timing import fmax, logic_depth
from hw.gae.array.pe import PE
from hw.gae.array.rounded_mac import rounded_mac
from hw.gae.array.stack import Stack
from hw.gae.config import GaeConfig
from hw.gae.design import HEPPO_WIDTHS
from hw.stream.delay import delay
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["Loop", "rows"]

#: HEPPO, Table IV: 64 PEs, k = 2; V-D2: BRAM blocks for the bandwidth of 64 rows.
_TABLE_4 = {"lut": 12_864, "ff": 54_336, "dsp": 768}
_BRAM36 = 32
_WORK = BUILD_DIRECTORY / "speed"
_MAPPED = "estimate: yosys, UltraScale+, registers and adders packed into DSP48E2"
_ROUTED = "estimate: yosys and nextpnr, ECP5 LFE5U-85F, speed grade 6"


class Loop(wiring.Component):
    """The PE's only feedback loop by itself, A = b + coefficient * A, for measurements of speed.

    Its inputs ``addend`` (b) and ``coefficient``, and its output ``advantage`` (A), are registered.
    A new addend comes every clock, and A on the right is that of ``config.lookahead`` clocks ago.

    Parameters
    ----------
    config : GaeConfig
    """

    def __init__(self, config):
        self.config = config
        word, coefficient = config.word.shape, config.coefficient.shape
        super().__init__(
            {"addend": In(word), "coefficient": In(coefficient), "advantage": Out(word)}
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        advantage = Signal(config.word.shape)
        total, _ = rounded_mac(
            m,
            delay(m, self.addend, 1, name="s1_addend"),
            delay(m, self.coefficient, 1, name="s1_coefficient"),
            advantage,
            clocks=config.lookahead,
            shape=config.word.shape,
            fraction=config.coefficient.fraction,
            name="loop",
        )
        m.d.comb += advantage.eq(total)
        m.d.comb += self.advantage.eq(delay(m, advantage, 1, name="o"))
        return m


def rows():
    """The list of rows lut, ff, dsp and bram36 of an array of 64 rows, and of logic_depth and
    ecp5_fmax_mhz of its loop and its PE, for k = 1, 2, 3 steps of lookahead."""
    result = _stack()
    for lookahead in (1, 2, 3):
        config = GaeConfig(lookahead=lookahead, **HEPPO_WIDTHS)
        result += _pes(config) + _speed(config)
    return result


def _pes(config):
    """Rows of all PEs: a PE with its loaders is mapped once, and multiplied."""
    area = synthesize(
        to_verilog(PE(config), name="pe"), "pe", work=BUILD_DIRECTORY / "area", family="xcup_dsp"
    )
    compared = config.lookahead == 2
    return [
        row("gae", f"{config.rows} PEs with their loaders, k={config.lookahead}", name,
            config.rows * area[name], "cells",
            reference="HEPPO, Table IV" if compared else None,
            reference_value=_TABLE_4[name] if compared else None, source=_MAPPED)
        for name in ("lut", "ff", "dsp")
    ]  # fmt: skip


def _stack():
    config = GaeConfig(**HEPPO_WIDTHS)
    area = synthesize(
        to_verilog(Stack(config), name="stack"), "stack", work=BUILD_DIRECTORY / "area",
        family="xcup_dsp",
    )  # fmt: skip
    return [
        row("gae", f"stack of {config.rows} x {config.depth}, 8-bit codes", name, area[name],
            "cells", reference="HEPPO V-D2" if name == "bram36" else None,
            reference_value=_BRAM36 if name == "bram36" else None, source=_MAPPED)
        for name in ("lut", "ff", "bram36")
    ]  # fmt: skip


def _speed(config):
    """Rows of the loop, whose path lookahead shortens, and of the whole PE."""
    case, result = f"k={config.lookahead}, words of {config.word.width} bits", []
    for unit, component in (("loop", Loop), ("pe", PE)):
        name = f"{unit}_{config.lookahead}"
        verilog = to_verilog(component(config), name=name)
        depth, mhz = (measure(verilog, name, work=_WORK) for measure in (logic_depth, fmax))
        result += [
            row("gae", f"{unit}, {case}", "logic_depth", depth, "cells",
                source="estimate: yosys, LUT6 alone, longest path between registers"),
            row("gae", f"{unit}, {case}", "ecp5_fmax_mhz", round(mhz, 1), "MHz", source=_ROUTED),
        ]  # fmt: skip
    return result

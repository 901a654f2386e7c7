"""Resources of the whole manager as yosys maps them to UltraScale+: estimates."""

from bench import area, row
from boards.area import synthesize
from boards.timing import fmax
from hw.designs import DESIGNS
from hw.replay.config import ReplayConfig
from hw.replay.tree.manager import ReplayManager
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["rows"]

#: The project's own limits: K -> resource -> at most.
_LIMITS = {16: {"lut": 26_000, "ff": 26_000, "uram": 200}, 64: {"lut": 50_000}}


def rows():
    """The list of rows lut, ff, uram, bram36 and dsp of the whole kernel and of the manager with
    2^20 leaves of 24 bits, and of ecp5_fmax_mhz of the ULX3S's manager."""
    result = [*_kernel(), *_routed()]
    for fanout, limits in _LIMITS.items():
        config = ReplayConfig(capacity=1 << 20, fanout=fanout)
        verilog = to_verilog(ReplayManager(config), name="replay_manager")
        cells = synthesize(verilog, "replay_manager", work=BUILD_DIRECTORY / "area")
        for name in ("lut", "ff", "uram", "bram36", "dsp"):
            result.append(
                row(
                    "replay",
                    f"N=2^20, K={fanout}, 24-bit leaves",
                    name,
                    cells[name],
                    "cells",
                    reference="at most" if name in limits else None,
                    reference_value=limits.get(name),
                    source="estimate: yosys synth_xilinx -family xcup, flattened",
                )
            )
    return result


def _routed():
    """The manager of the ULX3S by itself: a clock at which all paths between its registers work."""
    config = ReplayConfig(capacity=4096, fanout=16, ultra_ram=False)
    verilog = to_verilog(ReplayManager(config), name="replay_manager")
    mhz = fmax(verilog, "replay_manager", work=BUILD_DIRECTORY / "speed")
    return [
        row("replay", "manager, N=4096, K=16, 24-bit leaves", "ecp5_fmax_mhz", round(mhz, 1), "MHz",
            reference="at least", reference_value=80,
            source="estimate: yosys and nextpnr, ECP5 LFE5U-85F, speed grade 6")
    ]  # fmt: skip


def _kernel():
    """Cells of the kernel for U200, and what the kernel estimates for itself."""
    config = DESIGNS["replay"].default({"data_width": 512, "uram": 640})
    whole = area.whole_of(area.mapped("replay", config, {}, "kernel"))
    case = "whole kernel, N=2^20, K=16, 512 bits"
    source = "estimate: yosys for UltraScale+, module by module"
    found = [
        row("replay", case, name, value, "cells", source=source) for name, value in whole.items()
    ]
    return found + area.judged("replay", "replay", config, case, whole, {}, source)

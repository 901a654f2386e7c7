"""The replay kernel under cocotb with cocotbext-axi: the usual way, to compare the card with.

``python tests/replay/cocotb_kernel.py`` builds and runs it and prints ``rate <clocks a second>``.
"""

import os
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from host.programs.encoder import encode
from hw.designs import DESIGNS
from hw.replay.commands import COMMANDS, Opcode

BATCH, SAMPLES = 512, 8
_PERIOD = 4  # ns
_PATH = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
_OPERANDS, _RESULTS, _STATUS = 0x1_0000, 0x4_0000, 0x8_0000  # in one RAM of the host master


def _config():
    return DESIGNS["replay"].default({"data_width": 512, "uram": 640})


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def sample(dut):
    cocotb.start_soon(Clock(dut.ap_clk, _PERIOD, "ns").start())
    dut.ap_rst_n.value = 0
    control = AxiLiteMaster(
        AxiLiteBus.from_prefix(dut, "s_axi_control"),
        dut.ap_clk,
        dut.ap_rst_n,
        reset_active_level=False,
    )
    host, _ = (
        AxiRam(
            AxiBus.from_prefix(dut, f"m_axi_{name}"),
            dut.ap_clk,
            dut.ap_rst_n,
            reset_active_level=False,
            size=1 << 20,
        )
        for name in ("host", "storage")
    )
    for _ in range(8):
        await RisingEdge(dut.ap_clk)
    dut.ap_rst_n.value = 1
    arguments = {a.name: a for a in DESIGNS["replay"].describe(_config()).arguments}

    async def launch(*commands):
        host.write(0, encode(COMMANDS, commands, _config()).tobytes())
        values = {
            "operands": _OPERANDS,
            "results": _RESULTS,
            "status": _STATUS,
            "command_count": len(commands),
            "operands_bytes": _RESULTS - _OPERANDS,
            "results_bytes": _STATUS - _RESULTS,
        }
        for name, argument in arguments.items():
            # Sizes that are not given are as large as can be.
            value = values.get(name, (1 << 20) // argument.unit if argument.buffer else 0)
            await control.write(argument.offset, value.to_bytes(argument.size, "little"))
        await control.write_dword(4, 1)
        await control.write_dword(8, 1)
        await control.write_dword(0, 1)
        await with_timeout(RisingEdge(dut.interrupt), 20, "ms")
        await control.write_dword(12, 1)
        assert (await control.read_dword(0)) & 2, "ap_done must be set after the interrupt"

    await launch(
        (Opcode.SETUP, {"capacity": 1 << 20, "granules": 3, "priority": 65536}),
        (Opcode.INSERT, {"count": BATCH}),
    )
    begin, start = cocotb.utils.get_sim_time("ns"), time.process_time()
    await launch(*[(Opcode.SAMPLE, {"count": BATCH, "stratum_width": 1 << 48})] * SAMPLES)
    seconds = time.process_time() - start
    clocks = (cocotb.utils.get_sim_time("ns") - begin) / _PERIOD
    Path(os.environ["RATE_FILE"]).write_text(str(clocks / seconds))


def main():
    """Build, run, print."""
    import hashlib
    import shutil

    from cocotb_tools.runner import get_runner

    from hw.verilog import to_verilog
    from system.tools import BUILD_DIRECTORY, VERILATOR_MAKEFLAGS, require, tool_environment

    require("verilator", "g++", "make", "perl")
    os.environ["PATH"] = tool_environment()["PATH"]
    # Optimized little: with every signal public, -O3 takes ten minutes and the time goes to Python.
    os.environ["MAKEFLAGS"] = VERILATOR_MAKEFLAGS.replace("OPT_FAST=-O3", "OPT_FAST=-O1")
    verilog = to_verilog(DESIGNS["replay"].kernel(_config()), name="replay")
    key = hashlib.sha256(verilog.encode()).hexdigest()[:16]
    folder = BUILD_DIRECTORY / "cocotb" / f"replay-{key}"
    shutil.rmtree(folder, ignore_errors=True)  # what is found there is not run
    folder.mkdir(parents=True)
    (folder / "replay.v").write_text(verilog)
    runner = get_runner("verilator")
    runner.build(
        sources=[folder / "replay.v"],
        hdl_toplevel="replay",
        build_dir=folder,
        build_args=["-Wno-fatal", "-O3", "--output-split-cfuncs", "200"],
        timescale=("1ns", "1ps"),
    )
    rate = folder / "rate"
    rate.unlink(missing_ok=True)
    runner.test(
        hdl_toplevel="replay",
        test_module="cocotb_kernel",
        build_dir=folder,
        test_dir=folder,
        timescale=("1ns", "1ps"),
        extra_env={"RATE_FILE": str(rate), "PYTHONPATH": os.pathsep.join(_PATH)},
    )
    print(f"rate {rate.read_text()}")


if __name__ == "__main__":
    main()

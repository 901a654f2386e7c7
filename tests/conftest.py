"""Elaborate, build and run one unit under Icarus or Verilator; builds are kept under build/."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY, VERILATOR_MAKEFLAGS, require, tool_environment

ROOT = Path(__file__).parent.parent


@pytest.fixture
def simulate(tmp_path, monkeypatch):
    """``simulate(dut, bench, simulator="icarus", **case)`` runs the cocotb module ``bench``.

    The bench finds ``case`` as JSON in the environment variable CASE. A failed assertion in the
    bench fails the test; so does a simulation that runs no test.
    """

    def run(dut, bench, *, simulator="icarus", name="dut", **case):
        require(*{"icarus": ["iverilog"], "verilator": ["verilator", "g++", "make"]}[simulator])
        monkeypatch.setenv("PATH", tool_environment()["PATH"])
        monkeypatch.setenv("MAKEFLAGS", VERILATOR_MAKEFLAGS)  # the runner calls make by itself
        text = to_verilog(dut, name=name)
        options = {
            "verilator": ["-Wno-fatal", "-O3"],
            # Not the runner's -g2012: with it, the triggers by which yosys starts every `always @*`
            # have their value before the block listens, and constants behind them stay X.
            "icarus": ["-g2005"],
        }[simulator]
        key = hashlib.sha256(f"{simulator}{options}{text}".encode()).hexdigest()[:20]
        built = BUILD_DIRECTORY / "tests" / f"{name}-{simulator}-{key}"
        runner = get_runner(simulator)
        if not (built / "done").exists():
            # Built aside and renamed: parallel tests and interrupts never see half a build.
            work = tmp_path / "build"
            work.mkdir()
            source = work / f"{name}.v"
            source.write_text(text)
            runner.build(
                sources=[source],
                hdl_toplevel=name,
                build_dir=work,
                build_args=options,
                timescale=("1ns", "1ps"),
            )
            (work / "done").touch()
            built.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.move(work, built)
            except OSError:
                assert (built / "done").exists()
        results = runner.test(
            hdl_toplevel=name,
            hdl_toplevel_lang="verilog",
            test_module=bench,
            build_dir=built,
            test_dir=tmp_path,
            timescale=("1ns", "1ps"),
            extra_env={
                "CASE": json.dumps(case),
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            },
        )
        report = Path(results).read_text()
        assert "<testcase" in report, f"{bench} ran no test"

    return run

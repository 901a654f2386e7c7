"""``simulate`` runs a bench, under the simulators that ``--simulator`` names; waveforms on demand.

Every test that uses it comes twice: under Icarus, by its own name, and under Verilator, with
``[verilator]`` in its name and the marker ``long``. One whose test, or parameter, is marked
``verilator`` is not long: a few fast ones of each folder are. With ``--simulator icarus`` or
``verilator`` there is only the one, with ``both`` there are both, and neither is long for it.
"""

import itertools
import re
from pathlib import Path

import pytest
import resident_yosys
from simulators import SIMULATORS, run_bench

from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY, tool_environment

resident_yosys.stay()


def pytest_addoption(parser):
    parser.addoption(
        "--simulator",
        choices=(*SIMULATORS, "both"),
        help="run benches under this one, whatever is long about that (default: under Icarus, and "
        "under Verilator in the long tests or where a test is marked `verilator`)",
    )
    parser.addoption("--waves", action="store_true", help="keep benches' waves below build/waves")


def pytest_generate_tests(metafunc):
    if "simulate" in metafunc.fixturenames:
        ids = {"icarus": pytest.HIDDEN_PARAM, "verilator": "verilator"}
        only = metafunc.config.getoption("simulator")
        names = [only] if only in SIMULATORS else SIMULATORS
        metafunc.parametrize("simulate", names, indirect=True, ids=[ids[name] for name in names])


def pytest_itemcollected(item):
    if "simulate" in getattr(item, "fixturenames", ()):
        item.add_marker("bench")
        verilator = item.callspec.params["simulate"] == "verilator"
        chosen = item.config.getoption("simulator") or item.get_closest_marker("verilator")
        if verilator and not chosen:
            item.add_marker("long")


@pytest.fixture
def simulate(request, tmp_path, monkeypatch):
    """``simulate(dut, bench, **case)`` runs the cocotb module ``bench``.

    The bench finds ``case`` as JSON in the environment variable CASE. A failed assertion in the
    bench fails the test; so does a simulation that runs no test. ``simulator`` names one for a
    test that is about it; ``again`` another, where the same text runs after it has under Icarus.
    """

    numbers = itertools.count(1)

    def run(dut, bench, *, simulator=request.param, again=None, name="dut", **case):
        monkeypatch.setenv("PATH", tool_environment()["PATH"])
        for variable in ("WAVES", "GUI"):  # they would overrule what the runner is told
            monkeypatch.delenv(variable, raising=False)
        waves, text = None, to_verilog(dut, name=name)
        if request.config.getoption("waves"):
            waves = _waves_of(request.node.nodeid, next(numbers))
            request.node.user_properties.append(("waves", str(waves)))
        for each in (simulator, again) if again and simulator == "icarus" else (simulator,):
            run_bench(each, text, bench, tmp_path, name=name, case=case, waves=waves)

    return run


def _waves_of(test, number):
    """Path without suffix, for the ``number``-th run of a test."""
    words = re.sub(r"\W+", "-", test.removeprefix("tests/").replace(".py::", "-")).strip("-")
    return BUILD_DIRECTORY / "waves" / (words if number == 1 else f"{words}-{number}")


def pytest_terminal_summary(terminalreporter):
    """Where the waves are, of passed and of failed tests."""
    for report in itertools.chain(*terminalreporter.stats.values()):
        if getattr(report, "when", None) == "call":
            for waves in (Path(value) for name, value in report.user_properties if name == "waves"):
                for path in waves.parent.glob(f"{waves.name}.*"):
                    terminalreporter.write_line(f"waves of {report.nodeid}: {path}")

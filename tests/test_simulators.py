"""The fixture ``simulate``: both simulators, what they show of what nobody wrote, and failures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hw.stream.ram import Ram

ROOT = Path(__file__).parent.parent
UNIT = "tests/stream/test_queue.py"


@pytest.mark.verilator
@pytest.mark.parametrize("bad", [None, "fails", "hangs"])
def test_bench(request, simulate, bad):
    """X in one, a random word in the other; a test that fails, and one that waits for ever."""
    depth, simulator = 8, request.node.callspec.params["simulate"]
    case = dict(depth=depth, expected=simulator, fails=bad == "fails", hangs=bad == "hangs")
    unit = Ram(width=32, depth=depth)
    if bad is None:
        simulate(unit, "simulators_bench", **case)
    else:
        with pytest.raises(SystemExit):
            simulate(unit, "simulators_bench", **case)


def test_named_by_the_test(simulate):
    case = dict(depth=2, expected="verilator", fails=False, hangs=False)
    simulate(Ram(width=32, depth=2), "simulators_bench", simulator="verilator", **case)


def collected(*arguments):
    """Names of the tests of a unit that would run."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", UNIT, *arguments],
        cwd=ROOT, text=True, capture_output=True,
    )  # fmt: skip
    return set(re.findall(r"::(test_queue\[.*\])$", result.stdout, re.M))


def test_which_tests_run():
    """Under Icarus by their own names; a few under Verilator, the others in the long tests."""
    quick, every = (1, 2, 3, 64, 65), (1, 2, 3, 64, 65, 100, 128)

    def named(depths, before=""):
        return {f"test_queue[{before}{depth}]" for depth in depths}

    assert collected("-m", "not long") == named(quick) | {"test_queue[verilator-3]"}
    assert collected("--simulator", "verilator", "-m", "not long") == named(quick, "verilator-")
    both = named(every) | named(every, "verilator-")
    assert collected("--simulator", "both", "-m", "bench") == both


def test_no_test_of_a_bench_is_long_only():
    """A bench may skip a test by its case: one of the quick cases runs it."""
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    found = [path for path in texts if path.match("*_bench.py") and "skip=" in texts[path]]
    names = [".".join(path.relative_to(ROOT / "tests").with_suffix("").parts) for path in found]
    users = [path for path in texts if any(f'"{name}"' in texts[path] for name in names)]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-p", "bench_cases",
         "-m", "bench and not long", *map(str, set(users) - {Path(__file__)})],
        cwd=ROOT, text=True, capture_output=True, env={**os.environ, "PYTHONPATH": "tests"},
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert len(re.findall(r"^runs: ", result.stdout, re.M)) > len(names) > 10
    assert re.findall(r"^left out: (.*)$", result.stdout, re.M) == []

"""scripts/run_unit.py and `make cocotb`: the benches of a unit, by hand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import run_unit

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "unit, meant",
    [
        ("stream/skip", "stream/skid"),
        ("replay/manager", "replay/tree/manager"),  # the default that there was, which is none
        ("boards/boards", None),  # tests, but none in a simulator
        ("nope", None),
    ],
)
def test_wrong_units(unit, meant):
    """user, polish: some ninety units on one line, in no order, and nothing that may be meant."""
    with pytest.raises(SystemExit) as stop:
        run_unit.main(unit, "icarus")
    first, *lines = stop.value.code.splitlines()
    assert first.startswith(f"UNIT must be a unit with a bench, not '{unit}' (")
    assert f"did you mean {meant}" in first if meant else "did you mean" not in first
    assert lines == list(run_unit.listed(run_unit.units()))


def test_units_are_listed(capsys):
    with pytest.raises(SystemExit) as stop:
        run_unit.main("list")
    assert not stop.value.code
    found = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert list(found) == sorted(found) and "manager" in found["replay/tree"].split()
    assert all(names.split() == sorted(names.split()) for names in found.values())
    assert sum(len(names.split()) for names in found.values()) == len(run_unit.units())


@pytest.mark.parametrize("simulator", ["vcs", ""])
def test_wrong_simulators(simulator):
    with pytest.raises(SystemExit) as stop:
        run_unit.main("stream/skid", simulator)
    assert stop.value.code == f"SIM must be one of icarus, verilator, not '{simulator}'"


@pytest.mark.parametrize("waves, kept", [(["1"], True), (["0"], False), ([""], False), ([], False)])
def test_command(monkeypatch, waves, kept):
    commands = []

    def run(command, **_):
        commands.append(command)
        return SimpleNamespace(returncode=5)

    monkeypatch.setattr(run_unit.subprocess, "run", run)
    with pytest.raises(SystemExit) as stop:
        run_unit.main("shared", "verilator", *waves)
    assert stop.value.code == 5
    (command,) = commands
    assert command[-1] == str(ROOT / "tests" / "test_shared.py")
    assert command[command.index("--simulator") + 1] == "verilator"
    assert ("--waves" in command) == kept


def test_waves(tmp_path):
    """Of every test, at the path that is printed; of the smallest unit where none is named, with
    what to type next (papers N16: `make cocotb` alone failed)."""
    result = subprocess.run(
        [sys.executable, "scripts/run_unit.py", "", "icarus", "1"],
        cwd=ROOT,
        env=os.environ | {"RLFABRIC_BUILD": str(tmp_path)},
        text=True,
        capture_output=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert (
        result.stdout.endswith(f"{run_unit.NEXT}\n") and "UNIT=replay/tree/manager" in run_unit.NEXT
    )
    assert "replay/tree/manager" in run_unit.units()
    paths = re.findall(r"^waves of tests/stream/test_skid\.py::\S+: (.*)$", result.stdout, re.M)
    assert len(paths) == 2 and all(Path(path).stat().st_size for path in paths)
    assert sorted(map(str, tmp_path.glob("waves/*"))) == sorted(paths)


def test_make_passes_all_three():
    command = ["make", "--dry-run", "cocotb"]
    for words, shown in (
        (["UNIT=a/b", "SIM=c", "WAVES=1"], '"a/b" "c" "1"'),
        ([], '"" "icarus" ""'),
    ):
        result = subprocess.run([*command, *words], cwd=ROOT, text=True, capture_output=True)
        assert f"run_unit.py {shown}\n" in result.stdout

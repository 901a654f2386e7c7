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
    "arguments, name, known, wrong",
    [
        (["stream/skip", "icarus"], "UNIT", {"stream/pack", "shared"}, "stream/skip"),
        # Tests, but none in a simulator.
        (["boards/boards", "icarus"], "UNIT", {"boards/kernel_xml"}, "boards/boards"),
        ([], "UNIT", {"replay/tree/manager"}, ""),
        (["stream/skid", "vcs"], "SIM", {"icarus", "verilator"}, "vcs"),
        (["stream/skid", ""], "SIM", {"icarus", "verilator"}, ""),
    ],
)
def test_wrong_names(arguments, name, known, wrong):
    with pytest.raises(SystemExit) as stop:
        run_unit.main(*arguments)
    line = re.fullmatch(rf"{name} must be one of (.*), not '{wrong}'", stop.value.code)
    assert known <= set(line[1].split(", "))


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
    """Of every test, at the path that is printed."""
    result = subprocess.run(
        [sys.executable, "scripts/run_unit.py", "stream/skid", "icarus", "1"],
        cwd=ROOT,
        env=os.environ | {"RLFABRIC_BUILD": str(tmp_path)},
        text=True,
        capture_output=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    paths = re.findall(r"^waves of tests/stream/test_skid\.py::\S+: (.*)$", result.stdout, re.M)
    assert len(paths) == 2 and all(Path(path).stat().st_size for path in paths)
    assert sorted(map(str, tmp_path.glob("waves/*"))) == sorted(paths)


def test_make_passes_all_three():
    command = ["make", "--dry-run", "cocotb", "UNIT=a/b", "SIM=c", "WAVES=1"]
    result = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert 'run_unit.py "a/b" "c" "1"\n' in result.stdout

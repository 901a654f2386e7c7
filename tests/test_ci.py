"""The workflow that a public host runs: what a user runs, and nothing else."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from scripts.machines import MACHINES

ROOT = Path(__file__).parent.parent
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())


def runs():
    """Shell commands by job."""
    return {
        name: [step["run"] for step in job["steps"] if "run" in step]
        for name, job in WORKFLOW["jobs"].items()
    }


def test_jobs():
    assert set(WORKFLOW[True]) == {"push", "pull_request"}  # YAML reads the key `on` as true
    assert runs() == {
        "lint": ["make lint"],
        "test": ["make test JOBS=4"],
        "machines": ["make test-machines JOBS=4"],
        "bitstream": ["make bitstream BOARD=ulx3s DESIGN=replay"],
    }
    for name, job in WORKFLOW["jobs"].items():
        assert job["runs-on"].startswith("ubuntu-"), name
        assert 0 < job["timeout-minutes"] <= 90, f"{name} must be bounded"
        assert job["steps"][0]["uses"].startswith("actions/checkout@"), name


def test_tests_have_the_whole_history():
    """A test asks git for the commits that pages cite, and would be skipped without them."""
    for name, commands in runs().items():
        tests = any(command.startswith("make test") for command in commands)
        given = WORKFLOW["jobs"][name]["steps"][0].get("with", {})
        assert (given.get("fetch-depth") == 0) == tests, name


def test_the_oldest_python_is_one_everywhere():
    project = (ROOT / "pyproject.toml").read_text()
    (oldest,) = re.findall(r'requires-python = ">=(.+)"', project)
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"][0] == oldest
    assert f'target-version = "py{oldest.replace(".", "")}"' in project
    rule = f"sys.version_info < ({oldest.replace('.', ', ')})"
    assert rule in (ROOT / "scripts" / "setup.sh").read_text()
    assert f"`python3` ({oldest} or newer)" in (ROOT / "README.md").read_text()


def _vermin():
    """``make lint``'s command that holds the sources to the oldest Python, as a list."""
    lines = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True).stdout
    (command,) = (line for line in lines.splitlines() if "/vermin " in line)
    return command.split()


def test_lint_holds_every_folder_to_the_oldest_python():
    folders = {path.parent.name for path in ROOT.glob("*/**/*.py") if path.parent.parent == ROOT}
    assert {name for name in folders if name != "build" and name[0] != "."} <= set(_vermin())


@pytest.mark.parametrize(
    "source, good",
    [
        ("import ast\nfrom typing import Any", True),
        ("import tomllib", False),
        ("from enum import StrEnum", False),
        ("import hashlib\nhashlib.file_digest(1, '')", False),
        ("try:\n    pass\nexcept* OSError:\n    pass", False),
        ("with open('a', 'b') as a:\n    pass\ntype B = int", False),
    ],
)
def test_lint_finds_a_newer_python(tmp_path, source, good):
    (tmp_path / "file.py").write_text(source)
    command = _vermin()
    options = command[: command.index("hw")]
    result = subprocess.run([*options, str(tmp_path)], cwd=ROOT, capture_output=True)
    assert (result.returncode == 0) == good, result.stdout


def test_every_command_is_known_to_make():
    for command in sum(runs().values(), []):
        result = subprocess.run(
            [*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr


def test_every_machine_has_a_job():
    """By the environment, from which make takes MACHINES."""
    job = WORKFLOW["jobs"]["machines"]
    assert job["strategy"]["matrix"]["machine"] == list(MACHINES)
    assert job["env"] == {"MACHINES": "${{ matrix.machine }}"}
    result = subprocess.run(
        ["make", "-n", "--no-print-directory", "test-machines", "JOBS=4"],
        cwd=ROOT,
        env=os.environ | {"MACHINES": "Zen"},
        capture_output=True,
        text=True,
    )
    assert result.stdout.splitlines()[-1].endswith("scripts/machines.py 4 Zen")


def test_the_bitstream_is_kept():
    """What the last job uploads is what its command writes."""
    (upload,) = (s for s in WORKFLOW["jobs"]["bitstream"]["steps"] if "upload" in s.get("uses", ""))
    assert upload["with"]["path"] == "build/ulx3s/replay"
    assert upload["with"]["if-no-files-found"] == "error"


def test_own_ci_runs_make_test_alone():
    (command,) = (
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert command == 'cd "$(dirname "$0")/.." && exec make test'

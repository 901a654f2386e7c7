"""The workflow that a public host runs: what a user runs, and nothing else."""

import subprocess
from pathlib import Path

import yaml

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
        "bitstream": ["make bitstream BOARD=ulx3s DESIGN=replay"],
    }
    for name, job in WORKFLOW["jobs"].items():
        assert job["runs-on"].startswith("ubuntu-"), name
        assert 0 < job["timeout-minutes"] <= 90, f"{name} must be bounded"
        assert job["steps"][0]["uses"].startswith("actions/checkout@"), name


def test_every_command_is_known_to_make():
    for command in sum(runs().values(), []):
        result = subprocess.run(
            [*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr


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

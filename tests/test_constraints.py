"""constraints.txt: one version of all that is installed, for every Python of the workflow."""

import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packages import requirements
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
PYTHONS = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]
ROWS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and line[0] != "#"
]
#: What torch's CUDA build pins to the digit itself, for a GPU that nothing here uses.
CUDA = re.compile(r"nvidia-|cuda-")


def pinned(python):
    """``{name: version}`` of ``constraints.txt`` for ``python``."""
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    found = {}
    for row in ROWS:
        (specifier,) = row.specifier
        assert specifier.operator == "==", row
        if row.marker is None or row.marker.evaluate(environment):
            name = canonicalize_name(row.name)
            assert name not in found, f"{name} has two versions for Python {python}"
            found[name] = specifier.version
    return found


def needed(name, extras, python):
    """What the installed ``name`` requires on ``python``, and what is behind it, as far as the
    version there is the one that is installed here."""
    rows = pinned(python)

    def installed(name):
        here = Version(metadata.version(name)).public  # 2.13.0+cpu is 2.13.0
        return rows.get(canonicalize_name(name), here) == here

    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return requirements(name, extras, environment, installed)


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_has_a_row_that_it_allows(python):
    rows = pinned(python)
    extras = metadata.metadata("rlfabric").get_all("Provides-Extra")
    walked = set()
    for of, requirement in needed("rlfabric", extras, python):
        name = canonicalize_name(requirement.name)
        if CUDA.match(name) or name == "rlfabric":
            continue
        assert name in rows, f"{of} needs {requirement}, which has no row for Python {python}"
        assert requirement.specifier.contains(rows[name], prereleases=True), (
            f"{of} needs {requirement}, not {rows[name]} as for Python {python}"
        )
        walked.add(of)
    assert len(walked) > 20 and {"rlfabric", "pytest", "torch", "gymnasium"} <= walked


@pytest.mark.parametrize("python", PYTHONS)
def test_what_torchs_cuda_build_needs_has_a_row(python):
    """It is in no tested environment, for `make` installs the CPU build: this was resolved."""
    assert "triton" in pinned(python)

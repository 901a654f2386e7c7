"""What users read and import: help, exit codes, plans and programs, the wheel, the public names."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import typer
from typer.testing import CliRunner

from host.agents.registry import ALGORITHMS
from host.cli import lists
from host.cli.app import app
from host.compose import answer, machine_library, profile
from host.terminal import exit_codes
from hw.designs import DESIGNS
from system.tools import BUILD_DIRECTORY
from tests.host.compose.trainer_files import FOLDER
from tests.host.composed_plans import compose, unmeasured

__all__ = ["COMPOSITIONS", "codes", "composition", "helps", "names", "shows", "wheel"]

ROOT = Path(__file__).parents[2]

_CARD = ["--board", "u200"]
COMPOSITIONS = {
    "dqn": ["dqn", "--env", "CartPole-v1"],
    "dqn on a U200": ["dqn", "--env", "CartPole-v1", *_CARD],
    "dqn, uniform": ["dqn", "--env", "CartPole-v1", "--uniform", "--batch", "64"],
    "dqn on a machine of a U50": ["dqn", "--env", "CartPole-v1", "--machine", "u50_host"],
    "ddpg on a U200": ["ddpg", "--env", "Pendulum-v1", *_CARD],
    "td3 with three in flight": ["td3", "--env", "Pendulum-v1", "--set", "launches_in_flight=3"],
    "sac": ["sac", "--env", "Pendulum-v1"],
    "ppo on a ZCU106": ["ppo", "--env", "CartPole-v1", "--board", "zcu106"],
    "a3c on a U200": ["a3c", "--env", "CartPole-v1", *_CARD],
    "a trainer": [f"{os.path.relpath(FOLDER / 'sequential.py', ROOT)}:Trainer", "--env",
                  "CartPole-v1", *_CARD],
}  # fmt: skip


def helps():
    """``{command: its --help}``, without frames, line ends and the place of the build folder."""
    group = typer.main.get_command(app)
    result = {}
    for words in ([], *([name] for name in group.commands)):
        plain = {"COLUMNS": "1000", "TERMINAL_WIDTH": "1000", "TERM": "dumb", "NO_COLOR": "1"}
        found = CliRunner().invoke(app, [*words, "--help"], env=plain, prog_name="rlfabric")
        result[" ".join(["rlfabric", *words])] = " ".join(
            re.sub("[─│╭╮╰╯]", " ", found.output.replace(str(BUILD_DIRECTORY), "BUILD")).split()
        )
    return result


def shows():
    """``{"NAME: field": default, range and meaning}``, as ``rlfabric show`` has the fields of an
    algorithm or a design."""
    result = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists.console, "_width", 500)  # no cell is wrapped
        for name in sorted({*ALGORITHMS, *DESIGNS}):
            for line in CliRunner().invoke(app, ["show", name]).output.splitlines():
                _, field, *cells = [" ".join(cell.split()) for cell in line.split("│")] + [""]
                if cells:
                    result[f"{name}: {field}"] = result.get(f"{name}: {field}", "") + str(cells)
    return result


def codes():
    """``{name: exit code}``."""
    return {
        name: value
        for name, value in sorted(vars(exit_codes).items())
        if name.isupper() and isinstance(value, int)
    }


def composition(name):
    """``{file: bytes}`` of a composition with profiles in which nothing is trained."""
    build = ROOT / "build"  # as far from the trainer in each checkout
    build.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(dir=build) as own:
        out = Path(own)
        patch.chdir(ROOT)
        unmeasured(patch)
        # The plan of one machine, wherever this runs.
        patch.setattr(profile, "here", lambda: {"processor": "one", "cores": 2, "versions": {}})
        patch.setattr(machine_library, "cores", lambda: 2)
        patch.setattr(machine_library, "_gpu", lambda: None)
        patch.setattr(answer, "write_kernel", lambda *_, **__: None)
        compose(*COMPOSITIONS[name], "--profile", "--generate", "--out", out)
        return {
            str(path.relative_to(out)): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.name in ("plan.json", "train.py", "README.md")
        }


def wheel(folder):
    """``{entry: text}`` of the wheel: entry points, requirements, licences, names of data files."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        every = sorted(archive.namelist())
        (info,) = {name.partition("/")[0] for name in every if ".dist-info/" in name}
        head = archive.read(f"{info}/METADATA").decode().partition("\n\n")[0]
        result = {"METADATA": head}
        for name in every:
            if name.endswith("entry_points.txt") or "licenses/" in name:
                result[name.removeprefix(f"{info}/")] = archive.read(name)
            elif not name.endswith(".py") and not name.startswith(info):
                result[f"data file {name}"] = "is there"
    return result


def names():
    """``{public name: its signature, or its members' signatures}``."""
    result = {}
    for module in ("rlfabric", "rlfabric.training"):
        found = importlib.import_module(module)
        result[f"{module}.__all__"] = sorted(found.__all__)
        for name in found.__all__:
            thing = getattr(found, name)
            result[f"{module}.{name}"] = _signature(thing)
            if inspect.isclass(thing):
                for member, value in sorted(inspect.getmembers(thing)):
                    if not member.startswith("_") and callable(value):
                        result[f"{module}.{name}.{member}"] = _signature(value)
    return result


def _signature(thing):
    """Without the modules of the annotations, which may move."""
    try:
        return re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", str(inspect.signature(thing)))
    except (TypeError, ValueError):
        return type(thing).__name__

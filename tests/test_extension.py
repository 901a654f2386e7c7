"""hw.extension: what installed packages add to ours, and what is left out of it, a line each."""

import importlib
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from extensions import REGISTRIES, install, visible
from in_process import in_process

import boards
import hw.errors
from boards.bitstream import files
from hw.designs import DESIGNS
from hw.extension import API, Registry
from hw.gae.design import DESIGN as GAE
from hw.shell.design import Design
from sim import compiled, sources

GROUP = "rlfabric.designs"
GOOD = """
from dataclasses import replace
from rlfabric.hw.designs import DESIGNS  # while it asks for this module
design = replace(DESIGNS["gae"], name="{name}")
"""


@pytest.fixture
def site(tmp_path):
    """A folder where packages can be installed with ``add``."""
    with visible(tmp_path):
        yield tmp_path


def add(site, module, entries, source, init=f"RLFABRIC_API = {API}", group=GROUP):
    """Install the package ``module`` with ``entries``, ``{name: object}`` of its module ``made``;
    it is called as its module, with a number that says nothing."""
    lines = "".join(f"{name} = {module}.made:{what}\n" for name, what in entries.items())
    files = {f"{module}/__init__.py": init, f"{module}/made.py": textwrap.dedent(source)}
    install(site, module.replace("_", "-"), f"[{group}]\n{lines}", files)


def asked(name=None):
    """The object of that name, or all names; and the lines of what was left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = DESIGNS.get(name) if name else list(DESIGNS)
    assert all(each.category is RuntimeWarning for each in caught)
    return found, [str(each.message) for each in caught]


def test_a_design_is_found_by_its_name(site):
    add(site, "zoo", {"tiger": "design"}, GOOD.format(name="tiger"))
    ours = asked()[0][:-1]
    assert ours == ["replay", "gae", "dqn", "ddpg", "td3", "fixar", "a3c"]
    found, said = asked("tiger")
    assert (found.name, type(found), said) == ("tiger", Design, [])
    assert DESIGNS.modules == {"tiger": "zoo.made"} and len(DESIGNS) == 8


@pytest.mark.parametrize(
    "source, init, why",
    [
        ("1 / 0", None, "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", None, "SystemExit: 3"),
        ("raise RuntimeError('of two\\nlines')", None, "RuntimeError: of two lines"),
        ("import nowhere", None, "ModuleNotFoundError: No module named 'nowhere'"),
        ("", None, "AttributeError: module 'zoo.made' has no attribute 'design'"),
        ("design = 7", None, "it must be a Design, not 7"),
        (GOOD.format(name="lion"), None, "its name must be 'lion', as the object's, not 'tiger'"),
        ("1 / 0", "", "ZeroDivisionError: division by zero"),
        (GOOD.format(name="tiger"), "", "RLFABRIC_API of zoo.made must be 1, not None"),
        ("1 / 0", "RLFABRIC_API = 2", "RLFABRIC_API of zoo.made must be 1, not 2"),
    ],
)
def test_what_cannot_be_used_is_left_out(site, source, init, why):
    """One of another API is not even imported; the others stay; the line comes once."""
    add(site, "zoo", {"tiger": "design"}, source, **({} if init is None else {"init": init}))
    add(site, "yard", {"dog": "design"}, GOOD.format(name="dog"))
    found, said = asked()
    assert found[-1] == "dog" and "tiger" not in found and len(found) == 8
    what = f"tiger = zoo.made:design ({GROUP}) of zoo 0.1 is left out"
    assert said == [f"{what}: {why}"]
    assert asked("tiger") == (None, []) and asked()[1] == []


def test_of_one_name_the_first_is_kept(site):
    """Ours before all; then by the packages' names, those left aside that cannot be used."""
    add(site, "zoo", {"gae": "design", "dog": "design"}, GOOD.format(name="dog"))
    add(site, "yard", {"dog": "design"}, GOOD.format(name="dog"))
    add(site, "attic", {"dog": "design"}, "1 / 0")
    found, said = asked("gae")
    assert found is GAE and [line.partition(": ")[2] for line in said] == [
        "rlfabric has one of this name"
    ]
    assert asked("dog")[0].name == "dog" and DESIGNS.modules == {"dog": "yard.made"}


def test_of_one_name_each_other_has_a_line(site):
    others = "cellar", "loft", "yard", "zoo"
    for module in ("loft", "yard", "attic", "zoo", "cellar"):  # whatever order a folder has
        add(site, module, {"dog": "design"}, GOOD.format(name="dog"))
    assert asked("dog")[1] == [
        f"dog = {each}.made:design ({GROUP}) of {each} 0.1 is left out: attic.made has one of this "
        "name"
        for each in others
    ]


@pytest.mark.parametrize("name", ["Dog", "a/b", "zoo.made", "d-og"])
def test_names_are_plain(site, name):
    add(site, "zoo", {name: "design"}, GOOD.format(name=name))
    assert "its name must be [a-z][a-z0-9_]*, not " in asked()[1][0]


def test_a_twin_is_a_class(site):
    add(site, "zoo", {"dog": "twin", "cat": "Cat"}, "twin = 3\nclass Cat: ...", group="twins")
    twins = Registry("twins", type, {})
    with pytest.warns(RuntimeWarning, match="it must be a class, not 3"):
        assert list(twins) == ["cat"]


def test_a_board_has_a_module_build(site):
    """A module that is no package has none; what is wrong inside of one is not hidden."""
    source = "from rlfabric.boards.u50 import U50\nfrom dataclasses import replace\n"
    source += "board = replace(U50, name='{}', title='Mine', flow='nextpnr')"
    group = "rlfabric.boards"
    add(site, "yard", {"mine": "board"}, source.format("mine"), group=group)
    add(site, "zoo", {"other": "board"}, source.format("other"), group=group)
    (site / "zoo" / "made").mkdir()
    (site / "zoo" / "made.py").rename(site / "zoo" / "made" / "__init__.py")
    (site / "zoo" / "made" / "build.py").write_text("import nowhere")
    description = DESIGNS["gae"].describe(DESIGNS["gae"].default(boards.get("u50").numbers))
    with pytest.raises(hw.errors.UsageError, match="yard.made must be a package with a module bui"):
        files(description, boards.get("mine"))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        files(description, boards.get("OTHER"))


def test_an_alveo_board_needs_no_code(site):
    source = "from rlfabric.boards.u50 import U50\nfrom dataclasses import replace\n"
    source += "board = replace(U50, name='mine', title='Mine')"
    add(site, "zoo", {"mine": "board"}, source, group="rlfabric.boards")
    description = DESIGNS["gae"].describe(DESIGNS["gae"].default(boards.get("u50").numbers))
    mine, ours = (files(description, boards.get(name)) for name in ("mine", "u50"))
    assert mine.keys() == ours.keys()


def test_a_board_has_templates_of_its_own(site):
    """They lie beside its ``build.py``, wherever that is."""
    source = "from rlfabric.boards.u50 import U50\nfrom dataclasses import replace\n"
    source += "board = replace(U50, name='mine', title='Mine')"
    add(site, "zoo", {"mine": "board"}, source, group="rlfabric.boards")
    (site / "zoo" / "made").mkdir()
    (site / "zoo" / "made.py").rename(site / "zoo" / "made" / "__init__.py")
    (site / "zoo" / "made" / "notes.j2").write_text("{{ kernel.name }} on {{ board.title }}")
    (site / "zoo" / "made" / "build.py").write_text(
        "from rlfabric.boards.templates import render\n"
        "def files(kernel, board, banks, mapped):\n"
        "    return {'notes': render(__package__, 'notes', kernel=kernel, board=board)}\n"
    )
    description = DESIGNS["gae"].describe(DESIGNS["gae"].default(boards.get("u50").numbers))
    assert files(description, boards.get("mine"))["notes"] == "gae on Mine"


def test_nothing_is_imported_before_it_is_asked_for(site, monkeypatch, capsys):
    add(site, "zoo", {"tiger": "design"}, "1 / 0")
    run = in_process(monkeypatch, capsys)
    assert run("--help")[0] == 0 and run("show", "gae")[0] == 0
    assert DESIGNS["gae"].name == "gae" and "zoo" not in sys.modules


def test_list_goes_on(site, monkeypatch, capsys):
    """A line for each, in every group, and the whole list."""
    for group in (registry.group for registry in REGISTRIES):
        module = group.rpartition(".")[2]
        add(site, module, {"tiger": "thing"}, "raise KeyError('tiger')", group=group)
    run = in_process(monkeypatch, capsys)
    code, out, err = run("list")
    lines = [line for line in err.splitlines() if "left out" in line]
    assert code == 0 and len(lines) == 3 and "cards" in out.lower() and "u200" in out
    assert all(line.startswith("rlfabric: warning: tiger = ") for line in lines)
    code, _, err = run("train", "tiger")
    assert code == 2 and err.startswith("rlfabric: ALGO must be one of dqn, ")


def test_a_compiled_twin_follows_ours_by_either_name(site, monkeypatch):
    """What it is compiled of has the constants of ``rlfabric.hw`` as those of ``hw``."""
    source = "from rlfabric.hw.arith.log2 import Log2Config\n"
    source += "from sim.compiled import FOLDER\nimport json\n"
    (site / "twin.py").write_text(source)
    importlib.import_module("twin")
    read, own = [], sources._read
    monkeypatch.setattr(sources, "_read", lambda name: read.append(name) or own(name))
    compiled.sources.__wrapped__("twin")
    assert {"rlfabric.hw.arith.log2", "sim.compiled"} <= set(read) and "json" not in read
    assert "hw.arith.interpolate" in read  # which log2 imports


def test_an_import_has_one_form_everywhere():
    """``rlfabric.hw`` is ``hw`` in a checkout, never a second copy, whichever comes first."""
    program = """
import sys
from rlfabric.hw.errors import UsageError
from rlfabric import boards, hw
import rlfabric.boards.u50
import hw.errors, boards as plain
assert hw.errors.UsageError is UsageError and boards is plain and boards.u50
assert hw.errors.__name__ == hw.errors.__spec__.name == "hw.errors"
twice = [name for name in sys.modules if name.startswith(("rlfabric.hw", "rlfabric.boards"))]
assert len(twice) == 4
assert all(sys.modules[name] is sys.modules[name.partition(".")[2]] for name in twice)
for name in "rlfabric.hw.nothing", "rlfabric.nothing":
    try:
        __import__(name)
        raise SystemExit(name)
    except ModuleNotFoundError:
        pass
"""
    root = Path(hw.errors.__file__).parents[1]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root, timeout=60)

"""``python -m bench``: what each bench keeps, and what is printed."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from in_process import in_process
from typer.main import get_command

from bench import BENCHES
from bench.command import app
from host.cli import lists

ROOT = Path(__file__).parents[2]
ROWS = [
    {
        "bench": "stub",
        "case": "K=[16]",
        "metric": "cycles",
        "value": 3,
        "unit": "clocks",
        "reference": "paper",
        "reference_value": None,
        "source": "eq. 4",
    }
]


@pytest.fixture
def run(monkeypatch, capsys):
    return in_process(monkeypatch, capsys, "bench.command")


@pytest.fixture(autouse=True)
def committed(monkeypatch):
    """The list of changed sources, none, so that a bench may be kept while it is worked on."""
    changed = []
    monkeypatch.setattr("bench.provenance.changed", lambda: changed)
    return changed


@pytest.fixture
def bench_stub(monkeypatch):
    asked = []
    module = SimpleNamespace(rows=lambda area: asked.append(area) or ROWS)
    monkeypatch.setitem(sys.modules, "bench.stub", module)
    monkeypatch.setattr("bench.command.BENCHES", ("stub",))
    return asked


def test_bench_as_json_is_the_rows(run, bench_stub):
    code, out, _ = run("stub", "--json", "--area")
    assert code == 0 and json.loads(out) == ROWS and bench_stub == [True]


def test_bench_keeps_what_it_measured(run, bench_stub, monkeypatch):
    """host 11: each bench writes its file, from which documents are printed."""
    kept = []
    monkeypatch.setattr("bench.pages.write", lambda: kept.append(1) or ["README.md"])
    monkeypatch.setattr("bench.results.keep", lambda *row, fresh: kept.append((*row, fresh)) or 3)
    code, out, err = run("stub", "--write", "--json")
    assert code == 0 and json.loads(out) == ROWS and kept == [("stub", ROWS, False), 1]
    assert f"{len(ROWS)} rows, 3 stay" in err
    assert "README.md is printed anew" in err
    assert run("--print")[0] == 0 and kept[2:] == [1] and bench_stub == [False]
    assert run("stub", "--fresh")[0] == 2


def test_changed_sources_are_not_measured_for_a_row(run, bench_stub, committed):
    """They are not kept after hours, so they are not measured; without --write they are."""
    committed.append("hw/config.py")
    code, _, err = run("stub", "--write")
    assert code == 2 and bench_stub == []
    assert err.splitlines() == [
        "rlfabric: sources must be committed before their measurements are kept, not changed in "
        "hw/config.py"
    ]
    assert run("stub", "--json")[0] == 0 and bench_stub == [False]


def test_each_bench_keeps_its_own_rows(run, bench_stub, monkeypatch):
    """Not those of the benches before it."""
    kept = {}
    for name in ("first", "second"):
        rows = [dict(ROWS[0], case=name)]
        module = SimpleNamespace(rows=lambda area, rows=rows: rows)
        monkeypatch.setitem(sys.modules, f"bench.{name}", module)
    monkeypatch.setattr("bench.command.BENCHES", ("first", "second"))
    monkeypatch.setattr("bench.pages.write", lambda: [])
    monkeypatch.setattr(
        "bench.results.keep", lambda name, rows, fresh: kept.update({name: list(rows)}) or 0
    )
    code, out, _ = run("all", "--write", "--json")
    assert code == 0 and [row["case"] for row in json.loads(out)] == ["first", "second"]
    assert {name: [row["case"] for row in rows] for name, rows in kept.items()} == {
        "first": ["first"],
        "second": ["second"],
    }


def test_bench_as_table_shows_names_with_brackets(run, bench_stub, monkeypatch):
    monkeypatch.setattr(lists.console, "width", 200)
    code, out, _ = run()
    assert code == 0 and "K=[16]" in out and "None" not in out and bench_stub == [False]


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_has_rows(name):
    assert callable(import_module(f"bench.{name}").rows)


#: Lines of `python -m bench`, as pages and its help show them.
LINES = re.compile(r"`python -m bench((?: [^`]*)?)`")


def test_help_has_an_example_that_works(run):
    code, out, _ = run("--help")
    assert code == 0 and "python -m bench replay --area" in " ".join(out.split())


def test_lines_that_are_shown_can_be_typed():
    """Every bench and every option that a page or the help names is there."""
    command = get_command(app)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [command.help, *(path.read_text() for path in pages)]
    lines = [line.split() for text in texts for line in LINES.findall(text)]
    assert len(lines) > 10
    for words in filter(None, lines):
        given = command.make_context("bench", words).params
        assert given["name"] in (*BENCHES, "all", "figures", "NAME"), words


def test_a_bench_that_is_not_there_is_a_line(run):
    code, _, err = run("none")
    assert code == 2 and err.startswith("rlfabric: bench must be one of actors, ")
    assert err.count("\n") == 1


def test_it_runs_as_a_module():
    """With the errors and the exit codes of ``rlfabric``, and by no command of it."""
    words = [sys.executable, "-m", "bench", "replay", "--fresh"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rlfabric: fresh must be with --write, not alone\n"

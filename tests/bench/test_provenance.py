"""bench.provenance: the commit that a number is of, and whether the sources were its own."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from bench import provenance, results
from hw.errors import UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """``checkout(*words)`` is git in a checkout of one commit, where the project is now."""

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    (tmp_path / "file").write_text("one")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        git(*words)
    return git


def test_a_commit_and_a_change_of_it(checkout, tmp_path):
    name = checkout("rev-parse", "HEAD")[:7]
    (tmp_path / "file").write_text("no source")
    assert provenance.commit() == name
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/file.py").write_text("two")
    assert provenance.commit() == f"{name}+"


def test_where_there_is_no_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "none")
    assert provenance.commit() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit() is None, "no git"


def test_dates_have_the_order_of_their_texts():
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", provenance.now())


# -- a measurement is of a commit


@pytest.mark.parametrize(
    "file, tracked", [("hw/a.py", True), ("bench/new.py", False), ("pyproject.toml", True)]
)
def test_measurements_of_changed_sources_are_not_kept(checkout, tmp_path, file, tracked):
    """Where they would be committed; the line names the files."""
    path, kept = tmp_path / file, tmp_path / "docs/results"
    path.parent.mkdir(exist_ok=True)
    if tracked:
        path.write_text("a")
        checkout("add", ".")
        checkout("commit", "-q", "-m", "b")
    name = checkout("rev-parse", "HEAD")[:7]
    assert provenance.commit_for(kept) == name
    path.write_text("b")
    assert provenance.changed() == [file]
    with pytest.raises(UsageError) as error:
        results.keep("tiny", [], kept)
    assert str(error.value) == (
        f"sources must be committed before their measurements are kept, not changed in {file}"
    )
    assert not kept.exists()
    assert provenance.commit_for(tmp_path.parent / "elsewhere") == f"{name}+"
    results.keep("tiny", [], kept, made=("1234567", "2026-01-01 00:00"))
    assert results.kept("tiny", kept)[0]["commit"] == "1234567"


def test_of_many_files_five_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    monkeypatch.setattr(provenance, "changed", lambda: [f"hw/{n}.py" for n in range(7)])
    with pytest.raises(UsageError, match=r"hw/0.py, .*, hw/4.py and 2 more$"):
        provenance.commit_for(tmp_path / "docs")


@pytest.mark.parametrize(
    "file", ["docs/results/a.json", "README.md", "tests/a.py", "hw/ignored.py", "build/hw/a.py"]
)
def test_what_no_row_depends_on_may_differ(checkout, tmp_path, file):
    """Rows and pages that the same command has written before, tests, and ignored files."""
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a")
    assert provenance.changed() == []
    assert "+" not in provenance.commit_for(tmp_path / "docs/results")


def test_every_folder_of_code_is_a_source():
    """All but tests, which measure nothing that is kept."""
    folders = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.py")}
    folders = {name for name in folders if (ROOT / name / "__init__.py").exists()}
    assert {"hw", "bench", "host"} <= folders
    assert folders - {"tests"} <= set(provenance.SOURCES)
    assert all((ROOT / name).exists() for name in provenance.SOURCES)


def _git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def cited(value):
    """Names of commits anywhere in a JSON value, under ``commit`` and ``commits``."""
    if isinstance(value, list):
        return [name for each in value for name in cited(each)]
    if not isinstance(value, dict):
        return []
    found = [name for key, each in value.items() if key != "rows" for name in cited(each)]
    return found + [name for name in [value.get("commit"), *value.get("commits", ())] if name]


def test_every_cited_commit_is_an_ancestor():
    """Of rows, records and pages: what is measured can be checked out."""
    try:
        shallow = _git("rev-parse", "--is-shallow-repository")
    except FileNotFoundError:
        shallow = None
    if shallow is None:
        pytest.skip("no git, or no checkout: commits cannot be asked for")
    if shallow.strip() != "false":
        pytest.skip("a shallow clone lacks the commits: git fetch --unshallow")
    where = {}
    for path in sorted((ROOT / "docs").rglob("*.json")):
        for name in cited(json.loads(path.read_text())):
            where.setdefault(name.rstrip("+"), path.relative_to(ROOT))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for names in re.findall(
            r"commits? ((?:`?[0-9a-f]{7,40}\b`?\+?(?:, )?)+)", path.read_text()
        ):
            for name in re.findall(r"[0-9a-f]{7,40}", names):
                where.setdefault(name, path.relative_to(ROOT))
    ancestors = _git("rev-list", "HEAD").split()
    beginnings = {name[:length] for length in set(map(len, where)) for name in ancestors}
    assert len(where) > 40
    lost = {name: str(path) for name, path in where.items() if name not in beginnings}
    assert not lost, f"no ancestors of HEAD: {lost}"

"""bench.provenance: the commit that a number is of, and whether the sources were its own."""

import re
import subprocess

import pytest

from bench import provenance


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
    (tmp_path / "notes").write_text("no source")
    assert provenance.commit() == name
    (tmp_path / "file").write_text("two")
    assert provenance.commit() == f"{name}+"


def test_where_there_is_no_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path / "none")
    assert provenance.commit() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit() is None, "no git"


def test_dates_have_the_order_of_their_texts():
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d", provenance.now())

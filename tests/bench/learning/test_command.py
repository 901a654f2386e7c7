"""bench.learning.command: what is run, what the pages say, and the exit code."""

import io
import json
import os
import signal
import sys
import threading
import time

import pytest
from rich.console import Console

from bench.learning import command as module
from bench.learning import job as job_module
from bench.learning.command import hold
from tests.bench.learning.tiny import *

TWO = (kind("one"), kind("two", counts=False))


@pytest.fixture
def held(tmp_path):
    """``held(claims, means, *only)`` is ``hold``'s exit code with scripted runs; ``held.begun``
    are those, ``held.words()`` what was printed since the last call, ``held.docs`` the pages."""

    def run(claims, means, *only, **options):
        console, held.begun = Console(file=io.StringIO(), width=200), []
        held.words = console.file.getvalue
        options.setdefault("command", scripted(means, held.begun))
        return hold(
            only, claims=claims, runs=tmp_path / "runs", docs=held.docs, workers=2,
            console=console, **options,
        )  # fmt: skip

    held, run.docs = run, tmp_path / "docs"
    return run


def results(held):
    return json.loads((held.docs / "results.json").read_text())


def test_what_is_finished_is_not_repeated(held):
    claims = (claim("a", seeds=2, needed=1), claim("b"))
    means = {"a/cpu-0": 100.0, "a/cpu-1": 50.0, "b/cpu-0": 300.0}
    assert held(claims, means) == 0 and sorted(held.begun) == sorted(means)
    assert "3 runs, of which 0 are finished" in held.words()
    assert held(claims, {}) == 0 and held.begun == []
    assert "3 runs, of which 3 are finished" in held.words()
    more = (claim("a", seeds=3, needed=1), claims[1])
    assert held(more, {"a/cpu-2": 0.0}) == 0 and held.begun == ["a/cpu-2"]


@pytest.mark.parametrize("needed, code", [(1, 0), (2, 1)])
def test_a_claim_that_does_not_hold_is_named(held, needed, code):
    """Just solved and just not; what stands beside does not count."""
    means = {"a/one-0": 100.0, "a/one-1": 99.999, "a/two-0": 0.0, "a/two-1": 0.0, "b/cpu-0": 500.0}
    claims = (claim("a", kinds=TWO, seeds=2, needed=needed), claim("b"))
    assert held(claims, means) == code
    assert ("a DOES NOT HOLD" in held.words()) == bool(code) and "b holds" in held.words()
    assert f"{needed} needed: one 1 of 2; two 0 of 2" in held.words()
    assert results(held)["a"]["holds"] == (not code)
    page = (held.docs / "a.md").read_text()
    assert ("**It does not hold.**" in page) == bool(code)
    assert "| 1 | **100.0**, not solved (120 000; 77) | **0.0**, not solved" in page


def test_each_kind_that_counts_has_to_solve(held):
    both = (kind("one"), kind("two"))
    means = {"a/one-0": 200.0, "a/two-0": 99.0}
    assert held((claim("a", kinds=both),), means) == 1


def test_a_run_that_fails(held):
    """The others are run; the claim has no page, and is not held."""
    claims = (claim("a", seeds=2), claim("b"))
    assert held(claims, {"a/cpu-1": 100.0, "b/cpu-0": 100.0}) == 1
    assert len(held.begun) == 3 and "failed: a/cpu-0 (3)" in held.words()
    assert "a: 1 of 2 runs are finished" in held.words()
    assert [*results(held)] == ["b"] and not (held.docs / "a.md").exists()
    assert "took 30 minutes" in (held.docs / "README.md").read_text()
    assert held(claims, {"a/cpu-0": 100.0}) == 0 and held.begun == ["a/cpu-0"]


def test_claims_that_are_not_asked_for_keep_their_pages(held, tmp_path):
    """Also where their runs are gone, as on another machine."""
    claims = (claim("a"), claim("b"), claim("c", env="Acrobot-v1"))
    means = {"a/cpu-0": 100.0, "b/cpu-0": 100.0, "c/cpu-0": 0.0}
    assert held(claims, means) == 1
    kept = {path: path.read_bytes() for path in held.docs.glob("[bc].*")}
    assert len(kept) == 4
    (tmp_path / "runs").rename(tmp_path / "gone")
    assert held(claims, {"a/cpu-0": 50.0}, "a") == 1 and held.begun == ["a/cpu-0"]
    assert {path: path.read_bytes() for path in kept} == kept
    index = (held.docs / "README.md").read_text()
    assert "| [a](a.md) | 100 | cpu 0 of 1 | 1 |  | **no** |" in index
    assert "| [b](b.md) | 100 | cpu 1 of 1 | 1 |  | yes |" in index
    assert index.index("[a]") < index.index("[b]") < index.index("[c]")
    assert "took 1.5 hours" in index and results(held)["a"]["seconds"] == 1800
    assert held(claims[:2], {}, "a") == 1 and [*results(held)] == ["a", "b"]
    assert "[c]" not in (held.docs / "README.md").read_text(), "a claim that is none any more"


def test_a_claim_that_is_not_finished_keeps_its_page(held):
    held((claim("a"),), {"a/cpu-0": 100.0})
    page = (held.docs / "a.md").read_bytes()
    assert held((claim("a", seeds=2),), {}) == 1
    assert (held.docs / "a.md").read_bytes() == page and [*results(held)] == ["a"]


def test_the_page(held):
    means = {"a/one-0": 100.04, "a/two-0": 300.0}
    assert held((claim("a", kinds=TWO, episodes=7, until_solved=True),), means) == 0
    page = (held.docs / "a.md").read_text()
    for words in (
        "# a\n\nClaim: `dqn` on CartPole-v1, one, reaches 100 in 1 of 1 seeds. It holds.",
        "| seed | one | two |\n| ---: | ---: | ---: |\n"
        "| 0 | 100.0 (120 000; 77) | 300.0 (120 000; 77) |\n| mean | 100.0 | 300.0 |",
        "mean of 7 greedy episodes",
        "confirms it",
        "- one, as one: `rlfabric train dqn --env CartPole-v1 --learner cpu --until-solved ",
        "(a.png)",
    ):
        assert words in page, words
    assert (held.docs / "a.png").read_bytes().startswith(b"\x89PNG")


def test_other_sources(held, monkeypatch):
    """Such runs count, and are repeated on request."""
    claims, means = (claim("a"), claim("b")), {"a/cpu-0": 100.0, "b/cpu-0": 100.0}

    def begin(job):
        job.begin()
        return scripted(means, held.begun)(job)

    assert held(claims, means, command=begin) == 0 and "FRESH" not in held.words()
    monkeypatch.setattr(job_module, "_digest", lambda: "other")
    assert held(claims, means) == 0 and held.begun == []
    assert "2 runs are of other sources than these: FRESH=1 repeats them" in held.words()
    assert held(claims, means, "a", fresh=True, command=begin) == 0 and held.begun == ["a/cpu-0"]
    assert held(claims, means, fresh=True, command=begin) == 0 and held.begun == ["b/cpu-0"]


def test_an_interrupt_keeps_what_is_finished(held, tmp_path):
    """And the same call goes on."""
    claims, ready = (claim("a"), claim("b")), tmp_path / "ready"
    means = {"a/cpu-0": 100.0, "b/cpu-0": 100.0}
    slow = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(30)"

    def command(job):
        words = scripted(means, held.begun)(job)
        return words if job.name == "a/cpu-0" else [sys.executable, "-c", slow]

    def interrupt():
        deadline = time.monotonic() + 20
        while not (ready.exists() and (tmp_path / "runs/a/cpu-0/result.json").exists()):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        held(claims, means, command=command)
    thread.join()
    assert [*results(held)] == ["a"] and "b: 0 of 1 runs are finished" in held.words()
    assert held(claims, means) == 0 and held.begun == ["b/cpu-0"]


def test_wrong_words_and_fields(held):
    with pytest.raises(ValueError, match="^ONLY must be of a, dqn, CartPole-v1, not 'td3'$"):
        held((claim("a"),), {}, "td3")
    with pytest.raises(ValueError, match="^gama must be a field of "):
        held((claim("a"), claim("b", fields={"gama": 0.9})), {})
    beside = kind("b", peer="zoo", counts=False, fields={"env": "Pendulum-v1"})
    with pytest.raises(ValueError, match="^peer must be zoo for dqn on CartPole-v1, "):
        held((claim("a", kinds=(kind(), beside)),), {})
    assert held.begun == []


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["nonsense"], 2, "rlfabric: ONLY must be of dqn-CartPole-v1, dqn, "),
        (["--jobs", "0"], 2, "rlfabric: jobs must be at least 1, not 0"),
    ],
)
def test_exit_codes(monkeypatch, capsys, words, code, said):
    monkeypatch.setattr(sys, "argv", ["learning", *words])
    monkeypatch.setattr(module, "leave", sys.exit)
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == code and capsys.readouterr().err.startswith(said)


def test_an_interrupted_command_says_how_to_go_on(monkeypatch, capsys):
    def cut(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["learning"])
    monkeypatch.setattr(module, "hold", cut)
    monkeypatch.setattr(module, "leave", sys.exit)
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 130 and "the same command goes on" in capsys.readouterr().err


@pytest.mark.long
def test_a_real_run(held):
    """By the process that `make learning` starts."""
    assert held((claim("a", threshold=1.0),), {}, command=module._child) == 0
    assert results(held)["a"]["kinds"]["cpu"]["solved"] == 1


def test_what_stands_beside_may_be_missing(held):
    """It comes last, and the page says that it was not run; one more call adds it."""
    both = kind("one"), kind("two", counts=False, peer="zoo")
    claims, means = (claim("a", kinds=both),), {"a/one-0": 100.0}
    assert held(claims, means) == 1 and held.begun == ["a/one-0", "a/two-0"]
    assert "a holds, 1 needed: one 1 of 1; two 0 of 0" in held.words()
    page = (held.docs / "a.md").read_text()
    assert "| 0 | 100.0 (120 000; 77) | not run yet |" in page and "| mean | 100.0 |  |" in page
    assert "| two no run finished yet | yes |" in (held.docs / "README.md").read_text()
    assert held(claims, {"a/two-0": 5.0}) == 0 and held.begun == ["a/two-0"]
    assert "| mean | 100.0 | 5.0 |" in (held.docs / "a.md").read_text()

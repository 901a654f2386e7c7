"""bench.learning.command: what is run, what the pages say, and the exit code."""

import io
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from bench.learning import command as module
from bench.learning.changes import Change
from bench.learning.command import hold
from bench.learning.job import jobs_of
from bench.learning.state import put
from hw.errors import UsageError
from tests.bench.learning.tiny import *

TWO = (kind("one"), kind("two", counts=False))


@pytest.fixture
def held(tmp_path, monkeypatch):
    """``held(claims, means, *only)`` is ``hold``'s exit code with scripted runs; ``held.begun``
    are those, ``held.words()`` what was printed since the last call, ``held.docs`` the pages. A
    figure is its claim's name: to draw one takes longer than all else here."""
    monkeypatch.setattr(
        "bench.learning.documents.draw", lambda claim, records, path: path.write_text(claim.name)
    )

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


def kept(held):
    """Names of claims that have a record."""
    return sorted(path.name for path in (held.docs / "runs").iterdir())


def test_what_is_finished_is_not_repeated(held):
    claims = (claim("a", seeds=2, needed=1), claim("b"))
    means = {"a/cpu-0": 100.0, "a/cpu-1": 50.0, "b/cpu-0": 300.0}
    assert held(claims, means) == 0 and sorted(held.begun) == sorted(means)
    assert "3 runs, of which 0 are finished" in held.words()
    assert held(claims, {}) == 0 and held.begun == []
    assert "3 runs, of which 3 are finished" in held.words()
    more = (claim("a", seeds=3, needed=1), claims[1])
    assert held(more, {"a/cpu-2": 0.0}) == 0 and held.begun == ["a/cpu-2"]


def test_a_part_of_a_claim_is_run_alone(held):
    """The claim is judged by what there is then."""
    row = claim("a", kinds=TWO, seeds=2, needed=1)
    assert held((row,), {"a/one-1": 100.0}, "a/one-1") == 0 and held.begun == ["a/one-1"]
    assert "1 runs, of which 0 are finished" in held.words()
    assert "a: 1 of 4 runs are finished" in held.words()


@pytest.mark.parametrize("needed, code", [(1, 0), (2, 1)])
def test_a_claim_that_does_not_hold_is_named(held, needed, code):
    """Just solved and just not; what stands beside does not count."""
    means = {"a/one-0": 100.0, "a/one-1": 99.999, "a/two-0": 0.0, "a/two-1": 0.0, "b/cpu-0": 500.0}
    claims = (claim("a", kinds=TWO, seeds=2, needed=needed), claim("b"))
    assert held(claims, means) == code
    assert ("a DOES NOT HOLD" in held.words()) == bool(code) and "b holds" in held.words()
    assert f"{needed} needed: one 1 of 2; two 0 of 2" in held.words()
    page = (held.docs / "a.md").read_text()
    assert ("**It does not hold.**" in page) == bool(code)
    assert "| 1 | **100.0**, not solved (120 000; 77) | **0.0**, not solved" in page


def test_each_kind_that_counts_has_to_solve(held):
    both = (kind("one"), kind("two"))
    means = {"a/one-0": 200.0, "a/two-0": 99.0}
    assert held((claim("a", kinds=both),), means) == 1


def test_a_run_that_fails(held):
    """The others are run; the claim is not decided."""
    claims = (claim("a", seeds=2, needed=2), claim("b"))
    assert held(claims, {"a/cpu-1": 100.0, "b/cpu-0": 100.0}) == 1
    assert len(held.begun) == 3 and "failed: a/cpu-0 (3)" in held.words()
    assert "a: 1 of 2 runs are finished" in held.words()
    assert kept(held) == ["a", "b"] and "a NOT DECIDED, 2 needed: cpu 1 of 1" in held.words()
    assert "| 0 | not run yet |" in (held.docs / "a.md").read_text()
    assert "took 1.0 hours" in (held.docs / "README.md").read_text()
    assert held(claims, {"a/cpu-0": 100.0}) == 0 and held.begun == ["a/cpu-0"]


def test_what_has_a_record_is_not_trained_again(held, tmp_path):
    """In a clone without the runs; unless it was asked for something else."""
    claims = (claim("a"), claim("b"))
    assert held(claims, {"a/cpu-0": 100.0, "b/cpu-0": 0.0}) == 1
    pages = {path: path.read_bytes() for path in held.docs.glob("*.md")}
    (tmp_path / "runs").rename(tmp_path / "gone")
    assert held(claims, {}) == 1 and held.begun == []
    assert {path: path.read_bytes() for path in pages} == pages
    other = (claim("a"), claim("b", fields=SHORT | {"gamma": 0.5}))
    assert held(other, {"b/cpu-0": 200.0}) == 0 and held.begun == ["b/cpu-0"]


def test_judging_runs_nothing(held, tmp_path):
    """And sees records alone, not the runs."""
    claims = (claim("a"), claim("b"))
    assert held(claims, {"a/cpu-0": 100.0, "b/cpu-0": 100.0}) == 0
    path = held.docs / "runs/a/cpu-0.json"
    path.write_text(path.read_text().replace("100.0", "99.0"))
    assert held(claims, {}, judging=True) == 1 and held.begun == []
    assert "a DOES NOT HOLD" in held.words() and "b holds" in held.words()
    assert "**99.0**, not solved" in (held.docs / "a.md").read_text()
    assert held(claims, {}, "b", judging=True) == 0


def test_what_does_not_hold_is_not_claimed(held, tmp_path):
    """host 4, 12: the exit code is 0 where README says what was found, and 1 where it does not."""
    claims, means = (claim("a"), claim("b"), claim("c")), {"a/cpu-0": 100.0, "b/cpu-0": 0.0}
    readme = tmp_path / "README.md"
    readme.write_text("<!-- claims: begin -->3 claims of training: 3 hold.<!-- claims: end -->")
    held(claims, means)
    assert held(claims, {}, judging=True, readme=readme) == 1
    said = (
        "3 claims of training: 1 holds (1 fresh); 1 does not (1 fresh); "
        "1 is not decided (1 not run)."
    )
    assert f"must say between its marks: {said}" in held.words()
    readme.write_text(f"<!-- claims: begin -->\n{said}\n<!-- claims: end -->")
    assert held(claims, {}, judging=True, readme=readme) == 0
    named = "1 does not (1 fresh): b; 1 is not decided (1 not run): c."
    assert named in (held.docs / "README.md").read_text()


def test_a_named_folder_has_what_is_not_finished(held, tmp_path):
    """papers N1: what another clone left there goes on here, and is gone from there at the end."""
    (job,) = jobs_of(claim("a"), tmp_path / "other").values()
    job.begin()
    for name, text in (("checkpoint.npz", "half"), ("progress.csv", "steps\n400\n")):
        Path(job.folder, name).write_text(text)
    assert put([job], tmp_path / "saved") == ["a/cpu-0"]
    seen, claims, means = [], (claim("a"),), {"a/cpu-0": 100.0}

    def command(job):
        seen.append(Path(job.folder, "checkpoint.npz").read_text())
        return [sys.executable, "-c", "raise SystemExit(3)"]

    assert held(claims, {}, saved=tmp_path / "saved", command=command) == 1 and seen == ["half"]
    assert "a/cpu-0 goes on from" in held.words() and "a/cpu-0 is put into" in held.words()
    assert held(claims, means, saved=tmp_path / "saved") == 0
    assert not (tmp_path / "saved/a/cpu-0").exists()


def test_a_claim_without_a_record_is_in_the_index(held):
    assert held((claim("a"), claim("b")), {"a/cpu-0": 100.0}) == 1
    index = (held.docs / "README.md").read_text()
    assert "| [a](a.md) | 100 | cpu 1 of 1 | 1 |" in index
    assert "| b | 100 | cpu no run finished yet | 1 |" in index and index.count("b.md") == 0


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
    assert (held.docs / "a.png").read_text() == "a"


@pytest.fixture
def change(monkeypatch):
    """Plants a change of all runs of dqn, after those of ``scripted``."""
    made = Change(what="rounded", date="2027-06-01 00:00", algos=("dqn",))
    monkeypatch.setattr("bench.learning.records.CHANGES", (made,))


def test_runs_from_before_a_change(held, change):
    """They count, and are repeated on request, each once."""
    claims, means = (claim("a"), claim("b")), {"a/cpu-0": 100.0, "b/cpu-0": 100.0}
    assert held(claims, means) == 0 and "2 runs were made before a change: FRESH=1" in held.words()
    assert held(claims, means) == 0 and held.begun == []

    def again(job):
        assert job.result is None, "the old one is forgotten"
        return scripted(means, held.begun, {"date": "2027-07-01 00:00"})(job)

    assert held(claims, means, "a", fresh=True, command=again) == 0 and held.begun == ["a/cpu-0"]
    assert held(claims, means, fresh=True, command=again) == 0 and held.begun == ["b/cpu-0"]
    assert "before a change" not in held.words()
    assert held(claims, means, fresh=True, command=again) == 0 and held.begun == []


@pytest.mark.parametrize("begun, text", [("2027-07-01 00:00", "half"), ("2027-05-01 00:00", None)])
def test_a_repeated_run_that_was_cut_goes_on(held, change, tmp_path, begun, text):
    """Although the record of the old run is finished; but not from a state before the change."""
    claims, means, seen = (claim("a"),), {"a/cpu-0": 100.0}, []
    assert held(claims, means) == 0
    (job,) = jobs_of(claims[0], tmp_path / "runs").values()
    job.begin()
    Path(job.folder, "checkpoint.npz").write_text("half")
    Path(job.folder, "progress.csv").write_text("steps\n400\n")
    asked = json.loads(Path(job.folder, "asked.json").read_text())
    Path(job.folder, "asked.json").write_text(json.dumps(asked | {"begun": begun}))
    put([job], tmp_path / "saved")

    def command(job):
        seen.append(Path(job.folder, "checkpoint.npz").read_text() if job.cut else None)
        return [sys.executable, "-c", "raise SystemExit(3)"]

    for _ in range(2):  # from the folder of runs, and from the folder of states alone
        held(claims, means, fresh=True, command=command, saved=tmp_path / "saved")
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    assert seen == [text, text]


def test_sources_that_differ_from_the_commit_train_nothing(held, monkeypatch, tmp_path):
    """They may judge."""
    held((claim("a"),), {"a/cpu-0": 100.0})
    monkeypatch.setattr("bench.provenance._ROOT", tmp_path)
    monkeypatch.setattr("bench.provenance.changed", lambda: ["hw/config.py", "host/new.py"])
    index = (held.docs / "README.md").read_text()
    with pytest.raises(UsageError, match=r"not changed in hw/config.py, host/new.py$"):
        held((claim("a"), claim("b")), {"b/cpu-0": 100.0})
    assert held.begun == [] and (held.docs / "README.md").read_text() == index
    assert held((claim("a"),), {}, judging=True) == 0


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
    assert kept(held) == ["a"] and "b: 0 of 1 runs are finished" in held.words()
    assert held(claims, means) == 0 and held.begun == ["b/cpu-0"]


def test_wrong_words_and_fields(held):
    with pytest.raises(ValueError, match="^ONLY must be one of a, dqn, .*, not 'td3'$"):
        held((claim("a"),), {}, "td3")
    with pytest.raises(ValueError, match="^gama must be the name of a field, "):
        held((claim("a"), claim("b", fields={"gama": 0.9})), {})
    beside = kind("b", peer="zoo", counts=False, fields={"env": "Pendulum-v1"})
    with pytest.raises(ValueError, match="^peer must be zoo for dqn on CartPole-v1, "):
        held((claim("a", kinds=(kind(), beside)),), {})
    assert held.begun == []


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--judge", "--fresh"], 2, "rlfabric: judge must be without fresh and state"),
        (["nonsense"], 2, "rlfabric: ONLY must be one of dqn-CartPole-v1, dqn, "),
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
    assert ended.value.code == 130 and "the same command continues" in capsys.readouterr().err


@pytest.mark.long
def test_a_real_run(held):
    """By the process that `make learning` starts."""
    assert held((claim("a", threshold=1.0),), {}, command=module._child) == 0
    assert "a holds" in held.words()


def test_what_stands_beside_may_be_missing(held):
    """It comes last, and the page says that it was not run; one more call adds it."""
    both = kind("one"), kind("two", counts=False, peer="zoo")
    claims, means = (claim("a", kinds=both),), {"a/one-0": 100.0}
    assert held(claims, means) == 1 and held.begun == ["a/one-0", "a/two-0"]
    assert "a holds, 1 needed: one 1 of 1; two 0 of 0" in held.words()
    page = (held.docs / "a.md").read_text()
    assert "| 0 | 100.0 (120 000; 77) | not run yet |" in page and "| mean | 100.0 |  |" in page
    assert "| two no run finished yet | 2" in (held.docs / "README.md").read_text()
    assert held(claims, {"a/two-0": 5.0}) == 0 and held.begun == ["a/two-0"]
    assert "| mean | 100.0 | 5.0 |" in (held.docs / "a.md").read_text()

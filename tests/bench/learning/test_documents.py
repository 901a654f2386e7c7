"""bench.learning.documents: pages from records alone, and README.md says what they say."""

import re
import shutil
from pathlib import Path

import pytest

from bench.learning import chance, records
from bench.learning.claim import AS_GOOD
from bench.learning.claims import CLAIMS
from bench.learning.command import hold
from bench.learning.documents import claimed, write_claim, write_index
from bench.learning.findings import find, summary
from bench.learning.job import jobs_of
from tests.bench.learning.tiny import *

ROOT = Path(__file__).parents[3]
BOTH = (kind("card", title="ours", at_least=AS_GOOD), kind("torch", title="theirs", counts=False))


@pytest.fixture
def page(tmp_path):
    """``page(claim, rows, **more)``: the page of a claim with records of ``{kind: returns}``."""

    def make(row, rows, **more):
        for (name, seed), job in jobs_of(row, tmp_path).items():
            if seed >= len(rows[name]):
                continue
            job.begin()
            result = dict(mean_return=rows[name][seed], steps=800, updates=7, seconds=1800.0)
            job.end(result | {"curve": [[400, 1.0], [800, 2.0]]} | more)
            records.keep(tmp_path, job, job.result | more)
        (found,) = find((row,), tmp_path)
        write_claim(found, tmp_path)
        write_index([found], tmp_path)
        return (tmp_path / "tiny.md").read_text()

    return make


def both(**changes):
    return claim(kinds=BOTH, seeds=3, needed=3, reference="torch", **changes)


@pytest.mark.parametrize(
    "ours, verdict, words",
    [
        ((201.0, 200.0, 199.0), "It holds.", "**Holds.**"),
        ((300.0, 200.0, 100.0), "**It is not decided.**", "**Not decided.**"),
        ((121.0, 120.0, 119.0), "**It does not hold.**", "**Does not hold.**"),
    ],
)
def test_a_page_says_what_is_decided(page, tmp_path, ours, verdict, words):
    """host 4: of an interval that is too wide no page says "It holds"."""
    values = dict(mean=20.0, deviation=10.0, episodes=100)
    chance.write(tmp_path, {"CartPole-v1": values})
    text = page(both(training=True), {"card": ours, "torch": (199.0, 200.0, 201.0)})
    assert f"in 3 of 3 seeds. {verdict}" in text and words in text
    assert "theirs 200, random actions 20;" in text
    assert "Random actions return 20 in the mean (deviation 10, 100 episodes)." in text
    assert "the last 100 episodes that the run's actors finished" in text
    assert "| 0 | 120.0" not in text and "| mean | " in text
    index = (tmp_path / "README.md").read_text()
    line = next(line for line in index.splitlines() if line.startswith("| [tiny]"))
    assert line.endswith("| holds |") == (verdict == "It holds.")
    assert "All runs together took 3.0 hours" in index


def test_a_loss_that_falls_is_the_threshold(page):
    """Also of a run in which no episode has ended."""
    row = claim(falls="loss", training=True, threshold=None)
    for last, holds in ((1.99, True), (2.0, False)):
        text = page(row, {"cpu": [None]}, falls=[2.0, last])
        assert f"no episode; loss 2 to {last:.3g}" in text
        assert "computes finite numbers and a loss that falls" in text
        assert ("It holds." in text) == holds


def test_a_run_that_is_not_finished_is_shown_so_far(page):
    """It solves nothing, however high its return."""
    row = claim(training=True, threshold=-18.0)
    text = page(row, {"cpu": [21.0]}, unfinished=True)
    assert "| 0 | 21.0 so far (800) |" in text and "**It is not decided.**" in text
    assert "A run with the words so far is not finished" in text


def test_a_page_names_runs_from_before_a_change(page, tmp_path):
    rows = {"cpu": [200.0]}
    text = page(claim(), rows)
    assert "before a change" not in text and "Made 2" in text and ", at commit " in text
    (found,) = find((claim(fields=SHORT | {"gamma": 0.5}),), tmp_path)
    write_claim(found, tmp_path)
    write_index([found], tmp_path)
    text = (tmp_path / "tiny.md").read_text()
    assert "**Made before a change** (cpu): `gamma` was 0.99, and is 0.5." in text
    assert ", before changes | holds |" in (tmp_path / "README.md").read_text()


def test_progress_that_was_not_kept(page, tmp_path):
    """The picture that there is stays, and the page says so."""
    text = page(claim(), {"cpu": [200.0]}, curve=None)
    assert "![" not in text and "progress" not in text
    (tmp_path / "tiny.png").write_bytes(b"kept")
    text = page(claim(), {"cpu": [200.0]}, curve=None)
    assert "The progress of these runs was not kept as numbers: the picture is the one" in text
    assert (tmp_path / "tiny.png").read_bytes() == b"kept"
    page(claim(seeds=2), {"cpu": [200.0, 201.0]})
    assert (tmp_path / "tiny.png").read_bytes().startswith(b"\x89PNG")
    job = jobs_of(claim(seeds=2), tmp_path)["cpu", 1]
    records.keep(tmp_path, job, job.result | {"curve": None})
    (found,) = find((claim(seeds=2),), tmp_path)
    write_claim(found, tmp_path)
    text = (tmp_path / "tiny.md").read_text()
    assert "of 1 of 2 runs was not kept as numbers: the picture is without them." in text


# -- what is committed


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Findings of all claims, and a copy of docs/learning that was judged anew."""
    docs = tmp_path_factory.mktemp("judged") / "learning"
    shutil.copytree(ROOT / "docs/learning", docs)
    code = hold([], runs=docs / "none", docs=docs, workers=1, judging=True, console=quiet(),
                readme=ROOT / "README.md")  # fmt: skip
    return find(CLAIMS, docs), docs, code


def test_a_fresh_clone_judges_that_what_is_claimed_holds(judged):
    """Bar of `make learning JUDGE=1`: it exits 0."""
    assert judged[2] == 0


def test_readme_says_which_claims_hold(judged):
    """README says how many claims hold, and how many do not."""
    assert claimed(ROOT / "README.md") == summary(judged[0], names=False)


def test_pages_are_as_the_records_say(judged):
    """`make learning JUDGE=1` writes them where this fails."""
    committed = sorted(path.name for path in (ROOT / "docs/learning").iterdir())
    assert sorted(path.name for path in judged[1].iterdir()) == committed
    for path in judged[1].glob("*.md"):
        assert path.read_text() == (ROOT / "docs/learning" / path.name).read_text(), path.name


def test_every_record_is_of_a_claim(judged):
    wanted = {f"{job.name}.json" for claim in CLAIMS for job in jobs_of(claim, "runs").values()}
    folder = ROOT / "docs/learning/runs"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}
    assert len(there) > 100 and there <= wanted


def test_readme_that_claims_something_else(judged, tmp_path):
    """The judge exits 1, and names what is to be said."""
    readme = tmp_path / "README.md"
    text = (ROOT / "README.md").read_text()
    readme.write_text(re.sub(r"\d+ hold ", "7 hold ", text, count=1))
    assert readme.read_text() != text
    code = hold([], runs=tmp_path, docs=judged[1], workers=1, judging=True, console=quiet(),
                readme=readme)  # fmt: skip
    assert code == 1

"""docs/learning/queue.md: runs that are owed, as commands that there are."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from bench.learning.claims import CLAIMS, select, wanted
from bench.learning.findings import find
from bench.learning.job import jobs_of
from bench.learning.records import differences
from bench.solve import SEEDS
from bench.solve.sides import chosen

DOCS = Path(__file__).parents[3] / "docs/learning"
#: What a command may say: make's variables of `make learning`.
_VARIABLES = {"JOBS", "FRESH", "STATE", "ONLY"}


#: The beginning of a row of the section on `python -m bench solve`.
_SOLVE = "| `.venv/bin/python -m bench solve "


def entries(text):
    """The list of ``(variables of make, minutes, parts)`` of the rows of the page ``text``."""
    found = []
    for line in text.splitlines():
        if not line.startswith("| `") or line.startswith(_SOLVE):
            continue
        command, minutes, parts, rule, settles = (cell.strip() for cell in line[2:-2].split(" | "))
        minutes = minutes.removesuffix("\\*")
        words = shlex.split(command.strip("`"))
        start = words.index("make")
        assert words[start + 1] == "learning", line
        assert words[:start] in ([], ["timeout", "--foreground", f"{minutes}m"]), line
        assert rule and settles, line
        variables = dict(word.split("=", 1) for word in words[start + 2 :])
        assert set(variables) <= _VARIABLES and variables["JOBS"] == "1", line
        found.append((variables, int(minutes), int(parts)))
    return found


@pytest.fixture(scope="module")
def queue():
    return entries((DOCS / "queue.md").read_text())


def owed(queue, claim, key):
    return any(wanted(variables["ONLY"].split(), claim, *key) for variables, *_ in queue)


def test_every_command_names_runs_and_takes_its_minutes(queue):
    """A claim, and kinds and seeds of it; what takes longer can be continued."""
    assert queue
    for variables, minutes, parts in queue:
        assert select(variables["ONLY"].split()), variables
        assert 0 < minutes <= 100 and parts >= 1 and variables["STATE"], variables


def test_every_seed_of_solve_is_there_or_owed():
    """By a command that chooses its side, and ends within the minutes of an entry."""
    owed = []
    for line in (DOCS / "queue.md").read_text().splitlines():
        if line.startswith(_SOLVE):
            command, minutes, seeds, settles = (cell.strip() for cell in line[2:-2].split(" | "))
            words = shlex.split(command.strip("`"))
            assert words[-1] == "--write" and settles and 0 < int(seeds) <= SEEDS, line
            assert words[words.index("--seeds") + 1] == seeds and 0 < int(minutes) <= 100, line
            owed += chosen([words[k + 1] for k, word in enumerate(words) if word == "--only"])
    for task, side in chosen([]):
        kept = DOCS.parent.glob(f"results/solve/{task.name}/{side}-[0-9].json")
        assert len(list(kept)) == SEEDS or (task, side) in owed, (task.name, side)


def test_every_old_run_is_owed(queue):
    """Runs that ``--judge`` finds made before a change, by commands that repeat them."""
    again = [entry for entry in queue if entry[0].get("FRESH")]
    for each in find(CLAIMS, DOCS):
        for key, record in each.records.items():
            old = record and differences(record, each.jobs[key])
            assert not old or owed(again, each.claim, key), (each.claim.name, key)


def test_every_claim_without_a_run_is_owed(queue):
    """All of its runs; but FIXAR's million steps, which take days."""
    for each in find(CLAIMS, DOCS):
        if not each.known and each.claim.name != "fixar-HalfCheetah-v5-1M":
            for key in jobs_of(each.claim, "runs"):
                assert owed(queue, each.claim, key), (each.claim.name, key)


def test_qat_and_fixed_point_of_a_seed_share_the_steps_before_the_switch():
    """Nothing but the precision tells them apart, so a seed is one agent up to there."""
    (claim,) = select(["fixar-HalfCheetah-v5-250K"])
    jobs = jobs_of(claim, "runs")
    fixed, qat = (jobs[name, 4].config for name in ("fixed32", "qat"))
    assert fixed != qat == replace(fixed, agent=replace(fixed.agent, precision="qat"))
    assert qat.in_run().agent.quantization_delay == 125_000


def test_claims_that_are_fresh_are_not_owed(queue):
    """An entry goes when its runs are there."""
    fresh = {
        each.claim.name
        for each in find(CLAIMS, DOCS)
        if not each.before and all(each.records.values())
    }
    assert fresh
    for variables, *_ in queue:
        assert not {claim.name for claim in select(variables["ONLY"].split())} <= fresh, variables


@pytest.mark.parametrize(
    "row",
    [
        "| `make learnin JOBS=1 STATE=d ONLY=a` | 5 | 1 | r | s |",
        "| `make learning JOBS=2 STATE=d ONLY=a` | 5 | 1 | r | s |",
        "| `make learning JOBS=1 STEPS=5 ONLY=a` | 5 | 1 | r | s |",
        "| `timeout --foreground 90m make learning JOBS=1 ONLY=a` | 95 | 1 | r | s |",
        "| `make learning JOBS=1 STATE=d ONLY=a` | 5 | 1 |  | s |",
    ],
)
def test_wrong_rows_are_found(row):
    with pytest.raises(AssertionError):
        entries(row)


def test_the_page_is_linked_and_short():
    assert re.search(r"\]\(queue\.md\)", (DOCS / "README.md").read_text())
    assert len((DOCS / "queue.md").read_text().splitlines()) <= 80

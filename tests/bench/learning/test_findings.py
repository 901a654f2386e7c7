"""bench.learning.findings: what the records say, and the sentence of which claims hold."""

import re
from types import SimpleNamespace

import pytest

from bench.learning import chance, records
from bench.learning.claim import AS_GOOD
from bench.learning.findings import find, summary
from bench.learning.job import jobs_of
from bench.learning.judge import FAILS, HOLDS, OPEN
from tests.bench.learning.tiny import *


def finding(name, verdict, age="fresh"):
    return SimpleNamespace(
        claim=SimpleNamespace(name=name),
        judgement=SimpleNamespace(verdict=verdict),
        known=[{}] * (age != "none"),
        before={"rounded": ["cpu"]} if age == "old" else {},
    )


OLD = "Old: made before the code changed."


@pytest.mark.parametrize(
    "verdicts, text",
    [
        ([(HOLDS,), (HOLDS,)], "2 claims of training: 2 hold (2 fresh)."),
        ([(FAILS, "old"), (HOLDS,)],
         "2 claims of training: 1 holds (1 fresh); 1 does not (1 old): a. " + OLD),
        ([(FAILS,), (FAILS,), (OPEN, "none")], "3 claims of training: 0 hold; 2 do not (2 fresh): "
                                               "a, b; 1 is not decided (1 not run): c."),
        ([(OPEN,), (OPEN, "old"), (OPEN, "none")],
         "3 claims of training: 0 hold; 3 are not decided (1 fresh, 1 old, 1 not run): a, b, c. "
         + OLD),
        ([(HOLDS, "old"), (HOLDS,), (HOLDS, "old")],
         "3 claims of training: 3 hold (1 fresh, 2 old). " + OLD),
    ],
)  # fmt: skip
def test_the_sentence(verdicts, text):
    every = [finding(name, *each) for name, each in zip("abc", verdicts, strict=False)]
    assert summary(every) == text
    assert summary(every, names=False) == re.sub(r": [abc, ]+(?=[;.])", "", text)


def keep(row, folder, values, **more):
    """Records of runs with these returns by ``(kind's name, seed)``."""
    jobs = jobs_of(row, folder)
    for key, value in values.items():
        jobs[key].begin()
        result = dict(mean_return=value, steps=800, updates=7, seconds=1.0, curve=[[800, value]])
        jobs[key].end(result | more)
        records.keep(folder, jobs[key], jobs[key].result)


def test_random_actions_are_those_of_the_environment(tmp_path):
    """Without them a share is not decided; another environment's are none."""
    kinds = (kind("own", at_least=AS_GOOD), kind("base", counts=False))
    row = claim(kinds=kinds, seeds=2, needed=2, reference="base")
    keep(row, tmp_path, {(name, seed): 200.0 for name in ("own", "base") for seed in (0, 1)})
    values = dict(mean=20.0, deviation=1.0, episodes=100)
    chance.write(tmp_path, {"Acrobot-v1": values})
    (found,) = find((row,), tmp_path)
    assert found.judgement.verdict == OPEN and found.chance is None and len(found.known) == 4
    chance.write(tmp_path, {"CartPole-v1": values})
    (found,) = find((row,), tmp_path)
    assert found.judgement.verdict == HOLDS and found.chance == values


def test_differences_name_each_kind_once(tmp_path):
    kinds = (kind("one", title="ours"), kind("two", title="theirs", counts=False))
    keep(claim(kinds=kinds, seeds=2), tmp_path, {("one", 0): 1.0, ("one", 1): 1.0, ("two", 0): 1.0})
    (found,) = find((claim(kinds=kinds, seeds=2, fields=SHORT | {"gamma": 0.5}),), tmp_path)
    assert found.before == {"`gamma` was 0.99, and is 0.5": ["ours", "theirs"]}
    assert len(found.known) == 3

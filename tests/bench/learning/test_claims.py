"""bench.learning.claims: every row can be run, words find it, and wrong rows say so."""

import re
import shlex
from pathlib import Path

import pytest

from bench.learning.claims import CLAIMS, select, wanted
from bench.learning.job import jobs_of
from host.runs.request import request
from host.settings import fields_of
from tests.bench.learning.tiny import *
from tests.host.command_lines import parsed

JOBS = {
    job.name: job for claim in CLAIMS for job in jobs_of(claim, "runs").values() if job.seed == 1
}


def test_names_differ():
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names) > 5
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names), "folders and pages"


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_every_run_is_one(job):
    """Its config is a whole one, and its peer has a plan; the command of its page is the run."""
    config = job.config
    assert (config.algo, config.env, config.seed) == (job.algo, job.env, 1)
    assert (job.plan is None) == (job.peer is None)
    if job.command is None:
        assert job.peer or "learner" in job.fields
        return
    if job.algo == "ppo" and "HalfCheetah" in job.env:
        pytest.importorskip("mujoco")  # the command makes the environment to see its actions
    words = shlex.split(job.command.removeprefix("rlfabric ")) + ["--seed", "1"]
    given = parsed(words).params
    asked = {name: given[name] for name in ("learner", "env", "steps", "seed", "threshold")}
    shown, kernel = request(
        job.algo,
        options={**asked, "until_solved": given["until_solved"] or None},
        settings=fields_of(given["settings"]),
        preset_name=given["preset_name"],
        board=given["board"],
    )
    assert shown == config and given["board"] == job.board
    assert kernel == {name: str(value) for name, value in job.kernel.items()}


def test_what_is_for_all_kinds_and_what_for_one():
    one = kind("one", fields={"gamma": 0.5})
    both = claim(kinds=(one, kind("two")), until_solved=True, fields={"gamma": 0.7, "steps": 900})
    configs = {key: job.config for key, job in jobs_of(both, "runs").items()}
    assert [configs[name, 0].agent.gamma for name in ("one", "two")] == [0.5, 0.7]
    for config in configs.values():
        assert (config.steps, config.until_solved, config.threshold) == (900, True, 100.0)
    assert claim(threshold=None).solved_from == 475 and claim().solved_from == 100


def test_a_kind_may_have_an_environment_of_its_own():
    """Its runs have it, and the claim's threshold judges them."""
    both = claim(kinds=(kind("one"), kind("two", env="Acrobot-v1", counts=False)), threshold=None)
    jobs = jobs_of(both, "runs")
    found = {name: (job.env, job.config.env) for (name, _), job in jobs.items()}
    assert found == {"one": ("CartPole-v1",) * 2, "two": ("Acrobot-v1",) * 2}
    assert both.solved_from == 475 and "--env Acrobot-v1" in jobs["two", 0].command


@pytest.mark.parametrize(
    "words, found",
    [
        ([], ["a", "b", "c"]),
        (["b"], ["b"]),
        (["dqn"], ["a", "b"]),
        (["Acrobot-v1", "a"], ["a", "b"]),
        (["ppo", "c"], ["c"]),
        (["c/cpu"], ["c"]),
        (["c/cpu-0", "a/cpu"], ["a", "c"]),
    ],
)
def test_words_select(words, found):
    claims = (claim("a"), claim("b", env="Acrobot-v1"), claim("c", algo="ppo"))
    assert [each.name for each in select(words, claims)] == found


@pytest.mark.parametrize("word", ["cart", "a/gpu", "a/cpu-1", "dqn/cpu"])
def test_a_word_that_names_nothing(word):
    known = "a, dqn, CartPole-v1, or CLAIM/KIND or CLAIM/KIND-SEED of one"
    with pytest.raises(ValueError, match=f"^ONLY must be one of {known}, not '{word}'$"):
        select(["a", word], (claim("a"),))


ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
NAMED = [
    (page.relative_to(ROOT).as_posix(), words.strip('"'))
    for page in [*PAGES, ROOT / "bench" / "papers.md"]
    for words in sorted(set(re.findall(r'ONLY=("[^"]*"|[^\s`"]+)', page.read_text())))
]


@pytest.mark.parametrize("page, words", NAMED)
def test_pages_name_claims_that_there_are(page, words):
    assert select(words.split())


def test_pages_name_claims():
    assert len(NAMED) > 20 and {"docs/papers.md", "docs/fixar.md"} <= {page for page, _ in NAMED}


@pytest.mark.parametrize(
    "words, found",
    [
        ([], ["one-0", "one-1", "two-0", "two-1"]),
        (["a"], ["one-0", "one-1", "two-0", "two-1"]),
        (["a/two"], ["two-0", "two-1"]),
        (["a/two-1", "b"], ["two-1"]),
        (["a/one", "a/two-0"], ["one-0", "one-1", "two-0"]),
    ],
)
def test_words_want_runs(words, found):
    row = claim("a", kinds=(kind("one"), kind("two")), seeds=2)
    assert [
        f"{name}-{seed}" for name, seed in jobs_of(row, "runs") if wanted(words, row, name, seed)
    ] == found


@pytest.mark.parametrize(
    "words, changes",
    [
        (r"needed must be an integer in 0\.\.1 \(seeds\), not 2", dict(needed=2)),
        (r"kinds must be different, and one of them count, not \['a', 'a'\]",
         dict(kinds=(kind("a"), kind("a", counts=False)))),
        (r"kinds must be different, and one of them count, not \['a'\]",
         dict(kinds=(kind("a", counts=False),))),
        ("episodes must be None with training, not 3", dict(episodes=3, training=True)),
        ("threshold must be given for ALE/Pong-v5, which a package registers, not None",
         dict(env="ALE/Pong-v5", threshold=None)),
        ("threshold must be given for PongNoFrameskip-v4, which a package registers, not None",
         dict(env="PongNoFrameskip-v4", threshold=None)),
        ("threshold must be given for mine:Mine-v0, which a package registers, not None",
         dict(env="mine:Mine-v0", threshold=None)),
    ],
)  # fmt: skip
def test_wrong_rows(words, changes):
    with pytest.raises(ValueError, match=f"^{words}$"):
        claim(**changes)


def test_a_peer_is_never_what_is_claimed():
    with pytest.raises(ValueError, match="^counts must be False with a peer, not True$"):
        kind(peer="zoo")

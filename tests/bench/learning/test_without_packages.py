"""Claims are judged from records, without a package of any environment."""

import sys

import gymnasium
import pytest

from bench.learning import records
from bench.learning.claims import CLAIMS
from bench.learning.command import hold
from bench.learning.findings import find
from bench.learning.job import jobs_of
from bench.learning.judge import HOLDS
from hw.errors import Failure
from tests.bench.learning.tiny import *

#: What environments of claims import, and what would make them; none of it is needed to judge.
PACKAGES = ("ale_py", "Box2D", "minatar", "mujoco", "pygame")
ELSEWHERE = "Elsewhere-v0"


@pytest.fixture
def bare(monkeypatch):
    """An installation of gymnasium alone, in which no environment can be made."""

    def refused(env, *_, **__):
        raise AssertionError(f"{env} was made")

    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    for name in list(gymnasium.registry):
        if "/" in name or "NoFrameskip" in name:
            monkeypatch.delitem(gymnasium.registry, name)
    monkeypatch.setattr(gymnasium, "make", refused)
    monkeypatch.setattr(gymnasium, "make_vec", refused)


def record(job, value, **more):
    """A finished run's result, without progress."""
    past = dict(commits=["1234567"], begun="2027-01-01 00:00", date="2027-01-01 01:00")
    counts = dict(mean_return=value, steps=800, updates=7, seconds=1.0, curve=None)
    return {"asked": job.asked, **past, **counts, **more}


def test_every_claim_is_judged_without_a_package(tmp_path, bare):
    """From a record of each of its runs; the page of each is written."""
    for claim in CLAIMS:
        for job in jobs_of(claim, "runs").values():
            more = {} if claim.falls is None else {"falls": (2.0, 1.0)}
            records.keep(tmp_path, job, record(job, 1e6, **more))
    hold([], runs=tmp_path / "runs", docs=tmp_path, workers=1, judging=True, console=quiet())
    for each in find(CLAIMS, tmp_path):
        counted = {kind.name for kind in each.claim.kinds if kind.counts}
        assert all(each.judgement.solved[name][0] for name in counted), each.claim.name
        assert (tmp_path / f"{each.claim.name}.md").exists()
        assert each.before == {}


@pytest.fixture
def elsewhere():
    """An id whose package is not installed."""
    gymnasium.register(ELSEWHERE, entry_point="package_that_is_not_here:Env")
    yield ELSEWHERE
    del gymnasium.registry[ELSEWHERE]


def test_an_environment_whose_package_does_not_import(tmp_path, elsewhere):
    """The claim says what its actions are, on which defaults of ppo depend."""
    fields = {"steps": 5_000}
    row = claim(algo="ppo", env=elsewhere, fields=fields, continuous=True)
    ((key, job),) = jobs_of(row, tmp_path).items()
    records.keep(tmp_path, job, record(job, 100.0))
    (found,) = find((row,), tmp_path)
    assert found.judgement.verdict == HOLDS and found.before == {}
    assert hold([], runs="none", docs=tmp_path, workers=1, judging=True, claims=(row,),
                console=quiet()) == 0  # fmt: skip
    assert "It holds." in (tmp_path / "tiny.md").read_text()
    other = claim(algo="ppo", env=elsewhere, fields=fields, continuous=False)
    (found,) = find((other,), tmp_path)
    assert any("normalize_observations" in text for text in found.before)
    silent = claim(algo="ppo", env=elsewhere, fields=fields)
    with pytest.raises(Failure, match="package_that_is_not_here"):
        find((silent,), tmp_path)[0].before  # noqa: B018, it makes the environment


@pytest.mark.parametrize("env, actions", [("CartPole-v1", False), ("Pendulum-v1", True)])
def test_what_a_claim_says_of_actions_is_checked_before_a_run(env, actions):
    for said in (None, actions):
        (job,) = jobs_of(claim(env=env, algo="ppo", fields={}, continuous=said), "runs").values()
        job.check()
    (job,) = jobs_of(claim(env=env, algo="ppo", fields={}, continuous=not actions), "runs").values()
    text = f"^continuous must be {actions} for {env}, as its actions are, not {not actions}$"
    with pytest.raises(ValueError, match=text):
        job.check()

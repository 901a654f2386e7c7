"""``~`` in a path, which a shell leaves in ``--out=~/runs``, and Python always."""

import json
from dataclasses import dataclass
from typing import Annotated

import pytest

import rlfabric
from host import checkpoint
from host.actors.placement import ActorOptions
from host.agents.policy_file import save_policy
from host.agents.registry import find
from host.compose import csv_rows, profile
from host.environments.spec import Spec
from host.kernels import describe, exploration_file, read_description
from host.rules import FINITE
from host.runs.request import request
from host.runs.run_folder import run_folder
from tests.host.short_training import small


@dataclass
class Row:
    number: Annotated[float, FINITE]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's home; the current folder is another one, and stays empty."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path / "home"
    assert not any((tmp_path / "here").iterdir()), "no folder that is called ~"


def test_checkpoints(home):
    checkpoint.save("~/a.npz", "training", {}, {"x": 1})
    assert (home / "a.npz").exists() and checkpoint.load("~/a.npz", "training") == ({}, {"x": 1})


def test_runs_and_their_policies(home):
    with run_folder("~/run") as folder:
        assert folder == home / "run"
        config = small(env="CartPole-v1")
        spec = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
        policy = find("dqn").policy(config.agent, spec, weights=0, exploration=0)
        save_policy("~/run/best.npz", policy, algo="dqn", env="CartPole-v1", score=None)
    for path in ("~/run", "~/run/best.npz"):
        assert rlfabric.load_policy(path).env == "CartPole-v1"


def test_what_is_built(home):
    assert describe("gae", "u50", "~/k", **{"gae.rows": 1}).is_relative_to(home / "k")
    kernel = "~/k/u50/gae/kernel.json"
    with rlfabric.open_card("model") as card:
        assert read_description(kernel).name == card.load(kernel).description.name == "gae"
    exploration_file.save("~/e", {"board": "u50", "design": "gae"}, {"x.txt": b"x"})
    assert (home / "e" / "u50" / "gae" / "x.txt").exists()


def test_what_is_read(home):
    (home / "c.json").write_text(json.dumps({"batch_size": 8}))
    assert request("dqn", options={}, settings={}, file="~/c.json")[0].agent.batch_size == 8
    (home / "r.csv").write_text("number\n3\n")
    assert [row.number for row in csv_rows.read_rows("~/r.csv", Row, lambda *_: None)] == [3.0]
    with pytest.raises(profile.NoProfile, match=f"must be in {home}, not absent"):
        profile.load("~/profile.json", {})
    assert ActorOptions(ship="~", address="h:1").ship == "~"

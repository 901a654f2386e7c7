"""`rlfabric show`: every field that --set reaches, and as --set takes it."""

import json

import pytest

from host.agents.registry import ALGORITHMS
from host.cli.field_rows import shown
from host.runs.preset import default_learner, preset
from host.runs.request import request
from host.settings import leaves
from host.terminal.tables import console


def rows_of(name, **options):
    return {row["field"]: row for rows in shown(name, **options).values() for row in rows}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_what_is_shown_can_be_set(algo):
    """Setting every field to its default is the default config; no field of it is missing."""
    rows = rows_of(algo)
    assert all(row["meaning"] for row in rows.values())
    values = {name: row["default"] for name, row in rows.items()}
    kernel = {name: values.pop(name) for name in list(values) if name.startswith("kernel.")}
    config, asked = request(algo, options={}, settings=values | kernel)
    default = preset(algo, default_learner(algo))
    assert config == default and asked.keys() == {n.removeprefix("kernel.") for n in kernel}
    expected = {path[-1][1] for _, _, path in leaves(default)}
    assert values.keys() == expected - {"algo"}


def test_a_row():
    rows = rows_of("dqn", learner="cpu")
    assert rows["gamma"] == {
        "field": "gamma",
        "default": "0.99",
        "rule": "in [0, 1]",
        "meaning": "Discount per environment step.",
    }
    assert (rows["hidden"]["default"], rows["double"]["default"]) == ("256,256", "true")
    assert rows["env"]["default"] == "CartPole-v1"
    assert rows["threshold"]["default"] == "none"
    assert rows["threshold"]["rule"] == "finite or none"
    assert rows["learning_rate_final"]["meaning"].startswith("Step size after learning_rate_")
    assert rows["learning_rate_steps"]["meaning"].endswith("None: the whole run.")
    for word in ("at most 64", "ratio", "beta"):  # host 9
        assert word in rows["updates_per_launch"]["meaning"]


def test_defaults_follow_learner_and_environment():
    assert rows_of("dqn")["hidden"]["default"] == "64,64"
    assert rows_of("ppo", env="Pendulum-v1")["gamma"]["default"] == "0.9"
    normalizes = {
        env: rows_of("ppo", env=env)["normalize_observations"]
        for env in ("CartPole-v1", "MountainCarContinuous-v0")
    }
    assert [row["default"] for row in normalizes.values()] == ["false", "true"]
    assert all("by mean and deviation of all" in row["meaning"] for row in normalizes.values())
    with pytest.raises(ValueError, match="^learner must be one of cpu, card, not 'gpu'$"):
        shown("dqn", learner="gpu")


def test_fields_of_the_kernel():
    """Those that the run does not decide, by names that mean one field."""
    names = {name for name in rows_of("dqn") if name.startswith("kernel.")}
    assert {"kernel.lanes", "kernel.fanout", "kernel.kind", "kernel.weight.integer"} <= names
    assert not {"kernel.capacity", "kernel.hidden", "kernel.observation", "kernel.batch"} & names
    assert "kernel.lanes" not in rows_of("dqn", learner="cpu")
    ppo = rows_of("ppo")
    assert {"kernel.lookahead", "kernel.engine.depth"} <= ppo.keys() and "kernel.rows" not in ppo
    assert rows_of("ppo", board="ulx3s")["kernel.data_width"]["default"] == "128"


def test_fields_of_a_design():
    rows = rows_of("replay", board="zcu106")
    assert rows["replay.fanout"]["meaning"].startswith("children of a node K")
    assert int(rows["replay.capacity"]["default"]) > 0
    with pytest.raises(
        ValueError, match="^ALGO must be one of dqn, ddpg, .*, replay, gae, fixar, not"
    ):
        shown("x")


def test_tables(run, monkeypatch):
    monkeypatch.setattr(console, "width", 120)
    code, out, _ = run("show", "ppo")
    assert code == 0 and "Agent ppo: --set FIELD=VALUE" in out and "Kernel gae for u200" in out
    assert "│ gae_lambda" in out and "Decay of advantages per step, besides gamma." in out
    assert out.count("┃ may be") == 2, "a kernel's rules are in what it says"


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_narrow_table_cuts_nothing(run, monkeypatch, algo, width):
    """Two names that begin alike, as checkpoint_interval_s does, stay two, each on one line."""
    monkeypatch.setattr(console, "width", width)
    code, out, _ = run("show", algo)
    cells = {line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")}
    assert code == 0 and "…" not in out and cells - {""} == rows_of(algo).keys()


def test_for_programs(run):
    code, out, _ = run("show", "ddpg", "--json", "--learner", "cpu")
    rows = json.loads(out)
    assert code == 0 and {row["field"] for row in rows} == rows_of("ddpg", learner="cpu").keys()

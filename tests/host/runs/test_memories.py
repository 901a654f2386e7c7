"""Runs whose replay memory is on the CPU, as the command line and a program start them."""

import json

import numpy as np
import pytest

import rlfabric
from host.learner.learning_replay import learner_fields
from host.learner.sent_replay import SentReplay
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from host.runs.request import request
from host.runs.run_kinds import family_of
from host.runs.run_log import read_progress
from tests.host.short_runs import *
from tests.host.strokes import NAME as STROKES

MEMORIES = pytest.mark.parametrize("memory, kind", [("tree", TreeMemory), ("ring", RingMemory)])


def rows(folder):
    """Those of progress.csv without what depends on the machine."""
    return [
        {name: value for name, value in row.items() if "seconds" not in name}
        for row in read_progress(folder)
    ]


@MEMORIES
def test_a_run_without_a_card(options, tmp_path, monkeypatch, run, memory, kind):
    """No kernel is made; summary, rows and checkpoint are those of any run, which is evaluated and
    resumed as any other."""
    monkeypatch.setattr("host.runs.start_run.open_card", lambda *_, **__: 1 / 0)
    options["settings"] = SMALL | {"memory": memory}
    assert start(**options) == 0 and not (tmp_path / "build").exists()
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert (summary["card"], summary["kernel"]) == ("none", None)
    assert summary["config"]["memory"] == memory and summary["device_cycles"] is None
    last = rows(tmp_path / "run")[-1]
    assert 100 < last["fill"] <= 200 and last["td_error"] > 0 and last["beta"] > 0.4
    assert start(**options | {"steps": 240, "resume": True}) == 0
    assert rows(tmp_path / "run")[-1]["steps"] == 240
    code, out, _ = run("evaluate", tmp_path / "run", "--episodes", "1")
    assert code == 0 and "mean return" in out
    with pytest.raises(ValueError, match="^kernel.fanout must not be set in a run without a card$"):
        settings = options["settings"] | {"kernel.fanout": "4"}
        start(**options | {"settings": settings, "out": tmp_path / "other"})
    other = {"tree": "ring", "ring": "tree"}[memory]
    with pytest.raises(ValueError, match=f"^memory must be '?{memory}'? as in the checkpoint"):
        start(**options | {"resume": True, "settings": SMALL | {"memory": other}})


@pytest.mark.parametrize("env, steps", [("CartPole-v1", 200), (STROKES, 100)])
def test_the_tree_trains_as_the_card(options, tmp_path, env, steps):
    """Learner cpu: the same rows, byte for byte, from vectors and from images."""
    options |= dict(env=env, steps=steps)
    for memory in ("card", "tree"):
        start(**options | {"out": tmp_path / memory, "settings": SMALL | {"memory": memory}})
    card, tree = (rows(tmp_path / memory) for memory in ("card", "tree"))
    assert card == tree and card[-1]["td_error"] > 0


@MEMORIES
def test_the_card_trains_on_what_it_is_sent(options, tmp_path, memory, kind):
    options |= dict(learner="card", settings=CARD | {"memory": memory})
    assert start(**options) == 0
    (built,) = kernels(tmp_path / "build/train/u50/dqn")
    kernel = json.loads((built / "kernel.json").read_text())
    assert kernel["config"]["replay"]["capacity"] == 16, "a batch"
    last = rows(tmp_path / "run")[-1]
    assert 100 < last["fill"] <= 200 and last["loss"] > 0 and last["clipped_weights"] == 0


@MEMORIES
def test_what_is_made(memory, kind):
    """With the run's options; the trainer's own memory is the least."""
    config, _ = request("dqn", options=dict(memory=memory, learner="cpu"), settings={})
    assert family_of(config).factory(config, None) is kind
    made = kind({"x": (np.float32, ())}, capacity=9, alpha=0.5, epsilon=0.25, seed=3)
    assert (made.capacity, made.alpha, made.epsilon) == (9, 0.5, 0.25)
    config, _ = request("dqn", options=dict(memory=memory, learner="card"), settings={})
    with rlfabric.open_card("model") as card:
        sizes = dict(observation=4, action=2, hidden=(8,), batch=16, capacity=16)
        kernel = rlfabric.load_kernel("dqn", card=card, **sizes)
        fields = learner_fields(kernel)
        options = dict(capacity=500, alpha=0.5, epsilon=0.25, seed=3)
        sent = family_of(config).factory(config, kernel)(fields, **options)
        assert type(sent) is SentReplay and type(sent.memory) is kind
        assert sent.memory.alpha == 0.5 and (sent.capacity, sent.trainer.capacity) == (500, 2)


def test_words(run, tmp_path):
    """The option, in the command line and in a program; an algorithm without a replay memory."""
    out = tmp_path / "run"
    small = [f"--set={name}={value}" for name, value in SMALL.items()]
    words = "train dqn --memory ring --learner cpu --steps 100".split()
    assert run(*words, "--out", out, *small)[0] == 0
    assert json.loads((out / "summary.json").read_text())["config"]["memory"] == "ring"
    code, _, err = run("train", "ppo", "--memory", "ring")
    assert code == 2 and "memory must be the name of a field, not unknown" in err
    code, _, err = run("train", "dqn", "--memory", "gpu")
    assert code == 2 and "memory must be one of card, tree, ring, not 'gpu'" in err
    fields = {name: int(value) for name, value in SMALL.items()}
    made = rlfabric.train(
        "dqn", learner="cpu", memory="tree", steps=100, out=tmp_path / "own", progress=False,
        config=fields,
    )  # fmt: skip
    assert made.summary["config"]["memory"] == "tree" and made.summary["card"] == "none"


@pytest.mark.parametrize("algorithm", ["ddpg", "td3", "sac"])
def test_the_other_algorithms(options, algorithm):
    options |= dict(algo=algorithm, env="Pendulum-v1", steps=100)
    assert start(**options | {"settings": SMALL | {"memory": "tree"}}) == 0

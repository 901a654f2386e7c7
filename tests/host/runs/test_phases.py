"""host.phases: every second of a run is in one phase, whichever the algorithm and the learner."""

import json
import time

import pytest
from rich.console import Console

from host.agents.registry import ALGORITHMS
from host.phases import PHASES, Phases
from host.runs import start_run as module
from host.runs.preset import preset
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.run_log import read_progress
from tests.host.corridor import NAME, WALKER
from tests.host.round_parts import configured
from tests.host.short_training import run, small


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_each_second_is_of_the_innermost_phase():
    clock = Clock()
    phases = Phases(clock)
    clock.now = 1
    with phases("packing"):
        clock.now = 3
        with phases("card"):
            clock.now = 7
            assert phases.seconds["card"] == 4
        clock.now = 15
        with pytest.raises(LookupError):
            with phases("packing"):
                clock.now = 31
                raise LookupError
        phases.move(2, "policy")
    clock.now = 63
    wanted = {"other": 33, "packing": 24, "card": 4, "policy": 2}
    assert phases.seconds == dict.fromkeys(PHASES, 0.0) | wanted
    phases.load({"card": 100, "other": 1})
    assert phases.seconds["card"] == 104 and sum(phases.seconds.values()) == 63 + 101
    clock.now = 64
    phases.restart()
    clock.now = 66
    assert phases.seconds == dict.fromkeys(PHASES, 0.0) | {"other": 2}


def dqn(learner):
    config = preset("dqn", "card").to_dict()
    run = dict(learner=learner, env_count=4, steps=1200, capacity=200, learning_starts=100)
    run |= dict(log_interval_steps=200, evaluation_interval_steps=400, evaluation_episodes=1)
    run |= dict(agent=config["agent"] | dict(hidden=(8, 6), batch_size=16))
    return preset("dqn", "card").from_dict({**config, **run})


def on_policy():
    run = dict(env=NAME, steps=1200, env_count=2, steps_per_launch=50, evaluation_episodes=2)
    run |= dict(evaluation_interval_steps=200, log_interval_steps=200)
    return OnPolicyConfig.from_dict(run | {"agent": dict(batch_size=4, result_width=32)})


def rounds():
    every = dict(evaluation_interval_steps=400, log_interval_steps=200)
    return configured(steps=800, **every)


CASES = {
    "dqn, cpu": (lambda: dqn("cpu"), set()),
    "dqn, card": (lambda: dqn("card"), set()),
    "a3c": (rounds, set()),
    "ppo": (on_policy, {"learning"}),  # a Walker counts, and no more
    "ppo, torch": (on_policy, set()),
}


@pytest.mark.parametrize(
    "case", [pytest.param(n, marks=pytest.mark.long) if "torch" in n else n for n in CASES]
)
def test_phases_add_up_to_the_wall_time(tmp_path, monkeypatch, case):
    if case == "ppo":
        monkeypatch.setitem(ALGORITHMS, "ppo", WALKER)
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    make, silent = CASES[case]
    began = time.perf_counter()
    result = module.run(make(), card="model", out=tmp_path / "run", console=Console(quiet=True))
    took = time.perf_counter() - began
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["phases"] == result.summary["phases"]
    assert sum(summary["phases"].values()) == pytest.approx(
        summary["seconds"], rel=0.02, abs=0.01
    )  # each is rounded to a millisecond
    assert summary["seconds"] < took
    assert summary["phases"].keys() == PHASES.keys()
    assert {name for name, value in summary["phases"].items() if not value} <= silent
    # What has no name is little: a phase that is forgotten somewhere ends up there.
    assert summary["phases"]["other"] < 0.25 * summary["seconds"] + 0.05
    rows = read_progress(tmp_path / "run")
    for row in rows:
        parts = {name: row[f"seconds_{name}"] for name in PHASES}
        assert sum(parts.values()) == pytest.approx(row["seconds"], rel=0.02, abs=0.01)
    assert all(rows[-1][f"seconds_{n}"] <= v + 0.001 for n, v in summary["phases"].items())


def test_a_resumed_run_goes_on_counting(tmp_path):
    first = run(small(steps=1200), tmp_path).summary
    second = run(small(), tmp_path, resume=True).summary
    assert all(second["phases"][name] >= first["phases"][name] * 0.5 for name in PHASES)
    assert second["phases"]["policy"] > first["phases"]["policy"]
    assert sum(second["phases"].values()) == pytest.approx(second["seconds"], rel=0.02, abs=0.01)

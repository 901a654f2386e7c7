"""``rlfabric compose --actors``: what it counts, writes and refuses."""

import json
import sys

import pytest

import host.compose.answer as composed
import rlfabric
from host.compose.actor_times import ActorTimes
from host.runs.request import request
from hw.errors import MissingTool, UsageError
from tests.host.composed_plans import DQN, compose, fast

ACTORS = ["--actors", "2"]
FOLDER = "runs/compose-dqn-CartPole-v1"


@pytest.fixture
def acts(measured, monkeypatch):
    """What one actor takes: 2 us a step, and of a launch of 32 steps half a message of 200 us."""
    asked = []

    def told(config, messages, rounds):
        asked.append((config.actors, messages, rounds))
        times = dict(actor_us=2.0, driver_us=20.0, message_us=200.0)
        return ActorTimes(actors=2, beside=2, steps=64, source="measured: a test", **times)

    monkeypatch.setattr(composed.actor_times, "measured", told)
    return asked


def test_plans_with_actors(acts, measured, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        composed.profile, "measured", lambda plans, **o: seen.extend(plans.values()) or fast(plans)
    )
    printed = compose(*DQN, *ACTORS, "--profile")
    assert acts == [(2, 200, 5)]
    assert len(seen) == 4 and {config.actors for config, _ in seen} == {0}
    plan = json.loads((tmp_path / FOLDER / "plan.json").read_text())
    assert plan["config"]["actors"] == 2 and plan["config"]["actor_order"] == "free"
    assert plan["actors"]["message_us"] == 200.0 and plan["actors"]["source"] == "measured: a test"
    # 32 steps of 2 us by two actors, half a message by one of two; a memory and a card of 50, 10.
    assert plan["predicted"]["parts"]["acting"] == 32 * 2 / 2 + 200 / 4
    assert plan["predicted"]["iteration_us"] == 82 + 50 + 10
    assert "2 actors: 2 us an environment step, and for a message of 64 steps 20 us here" in printed
    assert "200 us on its way (measured: a test)" in printed
    again = json.loads(compose(*DQN, *ACTORS, "--json"))
    assert again == plan and len(acts) == 1
    config, _ = request("dqn", options={}, settings={}, file=tmp_path / FOLDER / "plan.json")
    assert config.actors == 2


def test_a_message_on_another_network(acts, tmp_path):
    compose(*DQN, *ACTORS, "--profile")
    for given in ("0", "1000.5"):
        found = json.loads(compose(*DQN, *ACTORS, "--messages-us", given, "--json"))
        assert found["actors"]["message_us"] == float(given)
        assert found["actors"]["source"] == "measured: a test; message_us given"
        assert found["predicted"]["parts"]["acting"] == round(32 + float(given) / 4, 3)
    kept = json.loads((tmp_path / FOLDER / "profile.json").read_text())
    assert kept["actors"]["message_us"] == 200.0


def test_a_profile_is_of_so_many_actors(acts, tmp_path):
    compose(*DQN, "--profile")
    assert not acts
    plan = json.loads((tmp_path / FOLDER / "plan.json").read_text())
    assert plan["actors"] is None and plan["config"]["actors"] == 0
    said = compose(*DQN, *ACTORS, code=2)
    assert "must be of this task" in said and "config.actors 0, not 2" in said


def test_from_python_and_as_a_program(acts, tmp_path):
    told = dict(profile=True, launches=7, config={"env_count": 4})
    found = rlfabric.compose("dqn", "CartPole-v1", actors=2, messages_us=50.0, **told)
    assert acts == [(2, 5, 5)] and found.plan["actors"]["message_us"] == 50.0
    text = found.generate().read_text()
    assert "POOL = dict(count=2, env_count=ACTORS, steps=STEPS)" in text
    assert "learner on cpu0, 2 actors on cpu0" in text
    with pytest.raises(UsageError, match="actors must be given once"):
        rlfabric.compose("dqn", "CartPole-v1", actors=2, **told | {"config": {"actors": 2}})
    fixed = told | {"config": {"actors": 2, "actor_order": "fixed"}}
    found = rlfabric.compose("dqn", "CartPole-v1", **fixed)
    assert "steps=STEPS, fixed=True)" in found.generate(overwrite=True).read_text()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--actors", "257"], "actors must be an integer in 1..256, not 257"),
        (["--actors", "3"], "env_count must be a multiple of 3 (actors), not 8"),
        (["--actors", "2", "--messages-us", "-1"], "messages_us must be at least 0 and finite"),
        (["--actors", "2", "--messages-us", "nan"], "messages_us must be at least 0 and finite"),
        (["--messages-us", "1"], "messages_us must be with actors, not without (1.0)"),
        (
            ["--actors", "2", "--set", "act=card", "--set", "learner=card"],
            "learner must be left to compose",
        ),
    ],
)
def test_refusals(acts, words, said):
    assert said in compose("dqn", "--env", "CartPole-v1", *words, "--profile", code=2)
    assert not acts


def test_other_numbers_are_refused(acts):
    with pytest.raises(UsageError, match=r"actors must be an integer in 1\.\.256, not 0"):
        rlfabric.compose("dqn", "CartPole-v1", actors=0, profile=True)
    for option, name in (("--actors", "actors"), ("--messages-us", "messages_us")):
        said = compose("dqn", "--times", "times.csv", option, "2", code=2)
        assert said == f"{name} must be given without times, not with them"


def test_a_card_that_acts_is_refused(acts):
    """It is the default of ddpg on kernel fixar, which gives way to actors."""
    words = ["ddpg", "--env", "Pendulum-v1", "--actors", "2", "--profile"]
    refused = compose(*words, "--set", "act=card", code=2)
    assert refused == "act must be cpu with actors, not 'card'"
    config = json.loads(compose(*words, "--json"))["config"]
    assert config["actors"] == 2 and config["act"] == "cpu"


def test_without_ray(measured, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingTool, match=r"ray must be installed for actors .*\[actors\]"):
        rlfabric.compose("dqn", "CartPole-v1", actors=2, profile=True)
    assert not measured, "it is said before minutes of a profile"

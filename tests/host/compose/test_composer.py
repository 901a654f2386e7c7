"""``rlfabric.Composer``: Listing 1 of PEARL as it is printed, and what is wrong in one."""

import json

import pytest

import rlfabric
from hw.errors import UsageError
from rlfabric.pearl_composer import PearlComposer, Placed
from tests.host.machine_files import write_machine

#: PEARL, section III, Listing 1, without its line numbers.
LISTING = """
Composer.set_device_file("devices.csv")
Composer.set_connection_file("links.csv")
Composer.set_opt_metric("Throughput")
Composer.set_actors(num_actors, env="CartPole-v1")
Composer.set_train_function(learner=DQNTrainer)
Composer.set_replay(size, mode="prioritized",
                    fanout=F)
OPT_RM, OPT_LNR = Composer.run()
Composer.RuntimeGen(replay=OPT_RM, learner=OPT_LNR)
"""


@pytest.fixture
def composer(measured):
    """One with an environment and an algorithm, in an empty folder, where nothing is trained."""
    made = PearlComposer()
    made.set_actors(4, env="CartPole-v1")
    made.set_train_function("dqn")
    return made


def test_listing_1(measured, tmp_path):
    write_machine(tmp_path)
    scope = dict(num_actors=4, size=5000, F=8, DQNTrainer="dqn")
    exec("from rlfabric import Composer\n" + LISTING, scope)
    out = tmp_path / "runs/compose-dqn-CartPole-v1"
    plan = json.loads((out / "plan.json").read_text())
    assert plan["config"]["env_count"] == 4 and plan["config"]["capacity"] == 5000
    assert scope["OPT_RM"] == Placed("replay memory", plan["mapping"]["rm"], plan["hash"])
    assert scope["OPT_LNR"] == Placed("learner", plan["mapping"]["learner"], plan["hash"])
    assert f"plan {plan['hash']};" in (out / "train.py").read_text()
    assert [each["name"] for each in plan["machine"]["devices"]] == ["cpu0", "card0", "gpu0"]
    assert measured
    measured.clear()
    exec(LISTING, scope)
    assert not measured, "the profile of this task is there"


def test_it_asks_for_what_it_was_told(composer, monkeypatch):
    asked = []
    ask = lambda *w, **o: asked.append((w, o)) or 1 / 0  # noqa: E731
    monkeypatch.setattr("rlfabric.pearl_composer.compose", ask)
    told = dict(card="sim", launches=7, out="x", ratio=4)
    composer = composer(**told, config={"steps": 9}, kernel={"a": 1})
    composer.set_actors(2, "Acrobot-v1")
    composer.set_train_function("ddpg")
    composer.set_opt_metric("Power Efficiency")
    composer.set_replay(64, "uniform", fanout=32)
    with pytest.raises(ZeroDivisionError):
        composer.run()
    [(words, options)] = asked
    assert words == ("ddpg", "Acrobot-v1")
    assert options == told | dict(
        devices=None, links=None, metric="efficiency", uniform=True, profile=False,
        config={"steps": 9, "env_count": 2, "capacity": 64}, kernel={"a": 1, "fanout": 32},
    )  # fmt: skip


def test_what_is_missing_or_wrong_is_said(composer):
    with pytest.raises(UsageError, match="metric must be throughput or .*, not 'speed'"):
        composer.set_opt_metric("speed")
    with pytest.raises(UsageError, match="mode must be prioritized or uniform, not 'random'"):
        composer.set_replay(64, "random")
    with pytest.raises(UsageError, match="set_actors must be called before run"):
        PearlComposer().run()
    other = PearlComposer()
    other.set_actors(2, "CartPole-v1")
    with pytest.raises(UsageError, match="set_train_function must be called before run"):
        other.run()


def test_a_program_is_of_the_last_run(composer):
    nothing = Placed("replay memory", "cpu0", "0"), Placed("learner", "cpu0", "0")
    with pytest.raises(UsageError, match="must be what the last run has returned"):
        composer.RuntimeGen(*nothing)
    rm, learner = composer.run()
    with pytest.raises(UsageError, match="must be what the last run has returned"):
        composer.RuntimeGen(rm, nothing[1])
    with pytest.raises(UsageError, match="replay must be a replay memory and learner a learner"):
        composer.RuntimeGen(learner, rm)
    assert composer.RuntimeGen(rm, learner).name == "train.py"


def test_nothing_of_an_earlier_composition_stays(measured, tmp_path, monkeypatch):
    """Neither what ``set_replay`` was told before, nor, after ``RuntimeGen``, a machine, a metric,
    a memory or an environment."""
    write_machine(tmp_path)
    made = PearlComposer(config={"capacity": 9000}, kernel={"lanes": 2})
    scope = dict(Composer=made, num_actors=4, size=5000, F=8, DQNTrainer="dqn")
    exec(LISTING, scope)
    with pytest.raises(UsageError, match="set_actors must be called before run"):
        made.run()

    def asked():
        made.set_actors(2, env="CartPole-v1")
        made.set_train_function("dqn")
        made.run()
        return made._found.plan

    plan = asked()
    assert [each["name"] for each in plan["machine"]["devices"]] == ["cpu0", "card0"]
    assert plan["config"]["capacity"] == 9000 and plan["config"]["env_count"] == 2
    made.set_replay(256, "uniform", fanout=32)
    made.set_replay(512)
    told = []
    monkeypatch.setattr("rlfabric.pearl_composer.compose", lambda *w, **o: told.append(o) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.run()
    assert told[0]["config"] == {"capacity": 512, "env_count": 2} and not told[0]["uniform"]
    assert told[0]["kernel"] == {"lanes": 2}


def test_it_is_one_object():
    assert rlfabric.Composer is rlfabric.Composer and isinstance(rlfabric.Composer, PearlComposer)
    assert rlfabric.Composer() is not rlfabric.Composer

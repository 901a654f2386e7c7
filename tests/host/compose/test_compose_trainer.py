"""``rlfabric compose FILE.py:CLASS``: a user's trainer, on the card where it is proved."""

import json

import pytest

from host.compose.answer import TaskOptions, task_of
from host.compose.card_clocks import kernel_config
from tests.host.compose.trainer_files import FOLDER
from tests.host.composed_plans import compose


def copied(folder, name, *change):
    (folder / f"{name}.py").write_text((FOLDER / f"{name}.py").read_text().replace(*change or "  "))
    return f"{name}.py:Trainer", "--env", "CartPole-v1", "--batch", 16


def test_a_trainer_is_composed(measured, tmp_path):
    words = copied(tmp_path, "sequential")
    found = json.loads(compose(*words, "--profile", "--set", "trainer.width=16", "--json"))
    assert measured == [
        "rm cpu, learner cpu",
        "rm cpu, learner card, kernel dqn",
        "rm card, learner cpu, kernel replay",
        "rm card, learner card, kernel dqn",
    ]
    assert found["task"]["trainer"] == "sequential.py:Trainer"
    assert found["config"]["algo"] == "sequential.py:Trainer"
    assert found["config"]["agent"]["trainer"]["width"] == 16
    assert {each["device"] for each in found["refused"]} == {"cuda"} if found["refused"] else True
    assert str(tmp_path) not in json.dumps(found)


def test_a_refused_trainer_is_composed_without_a_learner_on_the_card(measured, tmp_path):
    words = copied(tmp_path, "sequential", " * (1 - dones)", "")
    found = json.loads(compose(*words, "--profile", "--json"))
    assert measured == ["rm cpu, learner cpu", "rm card, learner cpu, kernel replay"]
    reasons = [each["reason"] for each in found["refused"]]
    wanted = "update_policy must be DQN's step to train on the card, not one whose TD errors differ"
    assert reasons.count(next(x for x in reasons if x.startswith(wanted))) == 2


def test_what_is_the_trainers_is_not_set(measured, tmp_path):
    words = copied(tmp_path, "sequential")
    said = compose(*words, "--set", "target_tau=1", code=2)
    assert said == "target_tau must be left to the trainer, not be set"
    assert "not 'absent.py:A'" in compose("absent.py:A", code=2)


@pytest.mark.parametrize("name", ["kernel.learner.arithmetic.kind", "kernel.kind"])
def test_the_card_has_binary32_unless_the_user_sets_another(name, measured, tmp_path):
    algo, *_ = copied(tmp_path, "sequential")
    for settings, kind in (({}, "float32"), ({name: "fixed"}, "fixed")):
        task, plans = task_of(TaskOptions(algo, "CartPole-v1", settings=settings))
        [plan] = [each for each in plans if each.name == "rm card, learner card, kernel dqn"]
        assert kernel_config(task, plan, None).learner.arithmetic.kind == kind


def test_a_profile_is_of_the_file_as_it_was(measured, tmp_path):
    words = copied(tmp_path, "sequential")
    compose(*words, "--profile")
    compose(*words)
    with open(tmp_path / "sequential.py", "a") as file:
        file.write("# slower\n")
    assert "profile.json must be of this task, not of another one (trainer " in compose(
        *words, code=2
    )

"""``rlfabric compose`` with profiles: what is refused, and what is missing."""

import pytest

import host.compose.answer as composed
from hw.errors import MissingTool
from tests.host.composed_plans import DQN, compose


def test_without_torch_the_card_learns_alone(measured, monkeypatch):
    def missing(name):
        raise MissingTool("torch must be installed to train on the CPU, not missing")

    monkeypatch.setattr(composed, "check_device", missing)
    compose(*DQN, "--profile")
    assert measured == ["rm cpu, learner card, kernel dqn", "rm card, learner card, kernel dqn"]


def test_a_machine_without_torch_and_without_a_learner_on_the_card(measured, monkeypatch):
    def missing(name):
        raise MissingTool("torch must be installed to train on the CPU, not missing")

    monkeypatch.setattr(composed, "check_device", missing)
    text = compose("sac", "--env", "Pendulum-v1", "--profile", code=2)
    assert text == "a profile must have a plan that runs here, not none"


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "profile.json must be in runs/compose-dqn-CartPole-v1, not absent; measure one"),
        (["--inserts", 4], "inserts must be given with times, not without them"),
        (["--transfers", "added"], "transfers must be given with times, not without them"),
        (["--set", "learner=cpu"], "learner must be left to compose, not be set"),
        (["--set", "memory=ring"], "memory must be left to compose, not be set"),
        (["--set", "first_priority=td_error"], "first_priority must be largest to be composed"),
        (["--set", "collect=card"], "collect must be cpu to be composed"),
        (["--profile", "--launches", 4], "launches must be an integer in 5..1048576, not 4"),
        (["--ratio", 12], "ratio must divide the 32 steps of a launch"),
        (["--machine", "mine"], "machine must be one of this, "),
        (["--board", "ulx3s"], "board must be one of u200, u50, zcu106, not 'ulx3s'"),
        (["--devices", "d.csv"], "links must be given with devices, not absent"),
    ],
)
def test_what_is_wrong_is_said(measured, words, text):
    assert text in compose(*DQN, *words, code=2)


def test_options_of_a_profile_go_without_times(measured, tmp_path):
    for words, name in ((["--ratio", 8], "ratio"), (["--uniform"], "uniform"), (["--run"], "run"),
                        (["--profile"], "profile"), (["--set", "a=1"], "settings")):  # fmt: skip
        text = compose("dqn", "--times", "times.csv", *words, code=2)
        assert text == f"{name} must be given without times, not with them"


def test_no_ratio_without_a_replay_memory(measured):
    for words in (["--ratio", 8], ["--uniform"]):
        text = compose("ppo", *words, code=2)
        assert text == f"{words[0][2:]} must be without ppo, which has no replay memory"


def test_another_task_needs_another_profile(measured):
    compose(*DQN, "--profile")
    text = compose(*DQN, "--batch", 64, code=2)
    assert "profile.json must be of this task" in text and "batch_size 32, not 64" in text
    assert text.endswith("; measure one: the same command with --profile")


def test_the_metric(measured):
    compose(*DQN, "--profile")
    assert "metric must be one of throughput, efficiency" in compose(*DQN, "--metric", "x", code=2)


def test_another_plan_in_a_folder_of_the_users(measured):
    compose(*DQN, "--profile", "--launches", 7, "--out", "mine")
    compose(*DQN, "--out", "mine")
    text = compose(*DQN, "--out", "mine", "--board", "u200", code=2)
    assert text.startswith("out must have no other plan, not mine/plan.json")
    compose(*DQN, "--out", "mine", "--board", "u200", "--overwrite")
    compose(*DQN, "--profile")
    compose(*DQN, "--board", "u200")  # a folder of rlfabric's own

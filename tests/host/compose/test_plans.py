"""Plans: which runs a task has, and why others are none."""

import pytest

from host.compose.plans import plan_of, plans_of
from host.compose.task import Task
from host.runs.preset import preset

DQN = Task(preset("dqn", "card", env="CartPole-v1"), False, {})


def of(task, rm, learner):
    plan = plan_of(task, rm, learner)
    assert not plan.refused, plan.refused
    return plan.design, plan.config


@pytest.mark.parametrize(
    "rm, learner, uniform, design, memory, where, device",
    [
        ("cpu", "cpu", False, "none", "tree", "cpu", "cpu"),
        ("cpu", "cpu", True, "none", "ring", "cpu", "cpu"),
        ("card", "cpu", False, "replay", "card", "cpu", "cpu"),
        ("card", "card", False, "dqn", "card", "card", "cpu"),
        ("cpu", "card", False, "dqn", "tree", "card", "cpu"),
        ("cpu", "card", True, "dqn", "ring", "card", "cpu"),
        ("card", "cuda", False, "replay", "card", "cpu", "cuda"),
        ("cpu", "cuda", False, "none", "tree", "cpu", "cuda"),
    ],
)
def test_plans_1_to_8(rm, learner, uniform, design, memory, where, device):
    found, config = of(Task(DQN.config, uniform, {}), rm, learner)
    assert found == design
    assert (config.memory, config.learner, config.device) == (memory, where, device)
    assert config.agent == DQN.config.agent and config.env == "CartPole-v1"
    assert config.alpha == (0.0 if uniform else DQN.config.alpha)


def test_no_replay_memory_on_a_gpu():
    for learner in ("cpu", "card", "cuda"):
        plan = plan_of(DQN, "cuda", learner)
        assert plan.config is None
        assert plan.refused == "a replay memory must be on a cpu or a card, not cuda"


def test_all_pairs_have_a_plan_and_names_differ():
    plans = plans_of(DQN)
    kinds = ("cpu", "card", "cuda")
    assert [(each.rm, each.learner) for each in plans] == [(a, b) for a in kinds for b in kinds]
    runs = [each.name for each in plans if not each.refused]
    assert len(set(runs)) == len(runs) == 6
    assert runs[0] == "rm cpu, learner cpu" and "rm card, learner card, kernel dqn" in runs


def test_acting_on_the_card_stays_with_the_learner_there():
    config = preset("dqn", "card", env="CartPole-v1")
    task = Task(type(config)(**{**vars(config), "act": "card"}), False, {})
    assert of(task, "card", "card")[1].act == "card"
    assert of(task, "card", "cpu")[1].act == "cpu"


def test_an_algorithm_that_no_card_trains():
    task = Task(preset("sac", "cpu", env="Pendulum-v1"), False, {})
    assert of(task, "card", "cpu")[0] == "replay"
    refused = plan_of(task, "card", "card").refused
    assert refused.startswith("learner must be cpu for sac, not 'card'")


def test_rounds_have_no_replay_memory():
    task = Task(preset("a3c", "card", env="CartPole-v1"), False, {})
    plans = plans_of(task)
    assert [(each.rm, each.learner, each.design) for each in plans] == [
        (None, "cpu", "none"),
        (None, "card", "a3c"),
        (None, "cuda", "none"),
    ]
    assert plans[1].name == "learner card, kernel a3c"


def test_rollouts_have_advantages_on_the_card():
    task = Task(preset("ppo", "cpu", env="CartPole-v1"), False, {})
    plans = {each.learner: each for each in plans_of(task)}
    assert plans["cpu"].design == plans["cuda"].design == "gae"
    assert plans["cuda"].config.device == "cuda"
    assert plans["card"].refused.startswith("the gradient steps of ppo must be on a cpu or cuda")


def test_images_are_learned_off_the_card():
    task = Task(preset("dqn", "cpu", env="MinAtar/Breakout-v1"), False, {})
    plans = {(each.rm, each.learner): each for each in plans_of(task)}
    for rm in ("cpu", "card"):
        assert plans[rm, "cpu"].config and plans[rm, "cuda"].config
        assert plans[rm, "card"].refused.startswith(
            "env must have observations that are not images"
        )

"""host.compose.task: the card's run of a trainer, and its plans."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from later import later

from host.compose.answer import Answer
from host.compose.plan_file import proof_of, say_proof
from host.compose.plans import plan_of, plans_of
from host.compose.task import Task, mapped
from host.runs.preset import preset
from hw.errors import UsageError
from rlfabric.plan import Composed
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE, changed, trainer


def task_of(algorithm, spec):
    env = "CartPole-v1" if spec.discrete else "Pendulum-v1"
    config = preset(algorithm.name, "cpu", env=env)
    config = replace(config, agent=replace(config.agent, batch_size=16))
    return Task(config, False, {}, mapped(config, spec))


@pytest.mark.parametrize(
    "name, algo, design, act, alpha, kernel",
    [
        ("sequential", "dqn", "dqn", "cpu", 0.6, {"learner.arithmetic.kind": "float32"}),
        ("polyak", "dqn", "dqn", "cpu", 0.0, {"learner.arithmetic.kind": "float32"}),
        later("lagged", "ddpg", "ddpg", "cpu", 0.6, {"learner.arithmetic.kind": "float32"}),
        ("usual", "ddpg", "fixar", "card", 0.6, {}),
        later("delayed", "td3", "td3", "cpu", 0.6, {"learner.arithmetic.kind": "float32"}),
    ],
)
def test_plans_of_a_trainer(name, algo, design, act, alpha, kernel):
    """torch's plans run the trainer, the card's the algorithm that was proved, on its kernel."""
    task = task_of(trainer(name), DISCRETE if algo == "dqn" else CONTINUOUS)
    assert task.trainer.kernel == kernel and not task.trainer.refused
    said = rf"kernel {design} trains in place .* on \d\d+ updates, .* to \d+ values; not seen: .*"
    assert re.fullmatch(said, task.trainer.proof)
    for rm in ("cpu", "card"):
        plan = plan_of(task, rm, "card")
        assert (plan.design, plan.config.algo, plan.config.act) == (design, algo, act), plan
        assert plan.config.alpha == alpha and plan.config.agent.batch_size == 16
        assert plan.config.memory == ("card" if rm == "card" else "tree")
        for learner in ("cpu", "cuda"):
            plan = plan_of(task, rm, learner)
            assert plan.config.algo == task.trainer.name and plan.config.alpha == 0.6
            assert plan.config.agent == task.config.agent and plan.config.device == learner


def test_a_refused_trainer_keeps_the_plans_of_torch(tmp_path):
    task = task_of(changed(tmp_path, "sequential", ("self.gamma * fol", "0.9 * fol")), DISCRETE)
    said = {each.refused for each in plans_of(task) if each.learner == "card" and each.rm != "cuda"}
    assert said == {task.trainer.refused} and task.trainer.config is None
    assert task.trainer.refused.startswith("update_policy must be DQN's step to train on the card")
    runs = [each.name for each in plans_of(task) if not each.refused]
    assert len(runs) == 4 and runs[0] == "rm cpu, learner cpu"


def test_what_no_kernel_has_is_the_reason():
    """A batch that is too large for the kernel of the trainer's order."""
    algorithm = trainer("usual")
    config = preset(algorithm.name, "cpu", env="Pendulum-v1")
    config = replace(config, agent=replace(config.agent, batch_size=1100), learning_starts=4096)
    said = mapped(config, CONTINUOUS).refused
    assert "; kernel fixar: batch_size must be an integer in 1..512 with precision fixed32" in said


@pytest.mark.parametrize("learner", ["card", "cpu"])
def test_a_run_by_a_plan_says_what_was_proved(learner, tmp_path, capsys):
    """If the card trains in place of the trainer, and not if the trainer itself does."""
    path = tmp_path / "plan.json"
    path.write_text(
        json.dumps({"config": {"learner": learner}, "task": {"proof": "proved: little"}})
    )
    say_proof(path, preset("dqn", learner, env="CartPole-v1"))
    said = "rlfabric: proved: little\n" if learner == "card" else ""
    assert capsys.readouterr().err == said
    path.write_text(json.dumps({"config": {"learner": learner}, "task": {}}))
    say_proof(path, preset("dqn", learner, env="CartPole-v1"))
    assert not capsys.readouterr().err


@pytest.mark.parametrize("text", [3, "two\nlines", "\x1b[2J", None])
def test_a_proof_in_a_file_is_a_line(text):
    with pytest.raises(UsageError, match="^task.proof must be a line of text, not "):
        proof_of({"config": {"learner": "card"}, "task": {"proof": text}})


def test_a_run_of_a_composition_says_it_too(monkeypatch, capsys):
    """From the command and from Python."""
    asked = []
    monkeypatch.setattr("host.runs.start_run.start", lambda config, **_: asked.append(config))
    document = {"config": {"learner": "card"}, "task": {"proof": "proved: little"}}
    plan = SimpleNamespace(config="config")
    told = dict(out=None, kernel={}, board="u50", draw=None, show=None)
    answer = Answer(document=document, choice=SimpleNamespace(plan=plan), **told)
    answer.train("model")
    monkeypatch.setattr("rlfabric.plan.run", lambda config, **_: asked.append(config))
    with pytest.raises(AttributeError):  # of the result, which is None
        Composed(None, document, answer).train()
    assert asked == ["config"] * 2
    assert capsys.readouterr().err == "rlfabric: proved: little\n" * 2

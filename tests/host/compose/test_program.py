"""Programs of plans: as short as is said, and to the byte what ``rlfabric train`` does."""

import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from learner.modelled import equal

from host import checkpoint
from host.actors.placement import ActorOptions
from host.agents.registry import find_named
from host.compose.plans import plan_of
from host.compose.program import LINES, program
from host.compose.task import Task
from host.kernels import describe
from host.proof.kernel_proof import limits
from host.replay.memory_learner import MemoryLearner
from host.runs.request import request
from host.runs.run_config import spec_of
from host.runs.start_run import run
from rlfabric import training
from tests.boards.vendor import not_public
from tests.host.compose.trainer_files import FOLDER

SMALL = dict(evaluation_interval_steps="160", evaluation_episodes="2", steps="480")
REPLAY = SMALL | dict(
    hidden="8", batch_size="8", learning_starts="64", capacity="256", env_count="4"
)
DQN = REPLAY | dict(env_count="4", steps_per_launch="4")
PENDULUM = REPLAY | dict(steps="240", evaluation_interval_steps="120", evaluation_steps="20")
ROUNDS = SMALL | dict(env_count="8", hidden="8", evaluation_interval_steps="4")
ROUNDS |= dict(steps="320", evaluation_episodes="1")
FIXAR = PENDULUM | dict(design="fixar", activation="relu", lagged_critic="false", noise="gaussian")
TRAINER = f"{os.path.relpath(FOLDER)}/sequential.py:Trainer"
#: Every field of an agent that changes nothing where it is a little different.
MANY = dict(
    gamma="0.98", learning_rate="0.001", learning_rate_final="0.0005", learning_rate_steps="1000",
    optimizer_epsilon="1e-7", n_step="2", reward_scale="0.5", reward_clip="8", beta1="0.8",
    beta2="0.99", huber_delta="0.5", target_interval="3", target_tau="0.5", beta_start="0.3",
    beta_end="0.9", beta_steps="300",
)  # fmt: skip
CASES = {
    "4": ("dqn", "card", "card", DQN | dict(steps_per_launch="1", steps="896")),  # 208 updates
    "4, three in flight": ("dqn", "card", "card", DQN | dict(launches_in_flight="3")),
    "4, weights now and then": ("dqn", "card", "card", DQN | dict(weights_interval="3")),
    "4, the card acts": ("dqn", "card", "card", DQN | dict(act="card")),
    "5": ("dqn", "cpu", "card", DQN | dict(updates_per_launch="2")),
    "3": ("dqn", "card", "cpu", DQN | dict(updates_per_launch="2")),
    "1": ("dqn", "cpu", "cpu", DQN | dict(launches_in_flight="2")),
    "ddpg": ("ddpg", "card", "card", PENDULUM),
    "sac": ("sac", "card", "cpu", PENDULUM),
    "fixar": ("ddpg", "card", "card", FIXAR | dict(precision="qat", quantization_delay="160")),
    "fixar, sent": ("ddpg", "cpu", "card", FIXAR | MANY | dict(
        precision="qat", quantization_delay="160", launches_in_flight="2", until_solved="true",
        threshold="-2000",
    )),
    "a trainer": (TRAINER, "cpu", "cpu", DQN | {"trainer.width": "6", "n_step": "1"}),
    "11": ("ppo", None, "cpu", SMALL | dict(steps_per_launch="32", env_count="2", batch_size="16")),
    "9": ("a3c", None, "card", ROUNDS | dict(group="3")),
    "10": ("a3c", None, "cpu", ROUNDS),
}  # fmt: skip
#: The same with actors; what is taken in turn is so in the program with ``--inline``, too.
WITH_ACTORS = {
    f"{name}, {count} actors": (*CASES[name][:3], CASES[name][3] | dict(actors=count) | more)
    for name, count, more in (
        ("4", "4", {"launches_per_message": "3"}), ("1", "2", {}),
        ("11", "2", {"normalize_observations": "true"}), ("10", "2", {}),
    )
}  # fmt: skip


def planned(algo, rm, learner, settings, uniform=False):
    """``(Plan, its document)``, what a program needs of it."""
    design = {"design": settings["design"]} if "design" in settings else {}
    left = {"design", *find_named(algo).left}
    rest = {name: value for name, value in settings.items() if name not in left}
    config, _ = request(algo, options={"learner": learner, **design}, settings=rest)
    plan = plan_of(Task(config, uniform, {}), rm, learner)
    assert not plan.refused, plan.refused
    mapping = dict(rm=rm and f"{rm}0", learner=f"{learner}0", act="cpu0", setting=1)
    told = json.loads(plan.config.to_json())
    return plan, dict(hash="0123456789ab", config=told, mapping=mapping)


#: A proof's sentence of the usual length.
PROOF = limits(SimpleNamespace(count=1234, places=300), "dqn")


def text_of(plan, document, folder):
    path = None if plan.design == "none" else f"kernels/u200/{plan.design}/kernel.json"
    return program(plan, document, path, folder)


def test_they_are_short_and_clean(tmp_path):
    longest = {}
    for name, (algo, rm, learner, settings) in CASES.items():
        more = {"actor_order": "fixed", "actors": "2"} | ({"act": "cpu"} if rm else {})
        more |= {"weights_interval": "3"} if rm and learner == "card" else {}
        longest[name] = algo, rm, learner, settings | more
    longest["9"][3].pop("group")  # of 3 agents: 4 and 4 are 4 groups
    cases = [*CASES.values(), *WITH_ACTORS.values(), *longest.values()]
    told = [planned(*case) for case in cases]
    for plan, document in told[:6]:  # as if the card trained in place of a trainer
        told.append((plan, document | {"task": {"proof": PROOF}}))
    for number, each in enumerate(told):
        text = text_of(*each, tmp_path)
        assert text.count("\n") <= LINES == 80, text
        assert text == text_of(*each, tmp_path) and not list(not_public("train.py", text))
        (tmp_path / f"p{number}.py").write_text(text)
    for words in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *words, "--config", "pyproject.toml", tmp_path]
        done = subprocess.run(ruff, capture_output=True, text=True)
        assert not done.returncode, done.stdout


@pytest.mark.parametrize("case", [*CASES, *WITH_ACTORS])
def test_a_program_is_its_run(case, tmp_path, monkeypatch):
    """After the same steps: weights, memory, moments and the best policy."""
    plan, document = planned(*(CASES | WITH_ACTORS)[case])
    config, inline = plan.config, {}
    told = dict(card="model", out=tmp_path / "run", overwrite=True)
    if config.actors:
        inline["inline"] = True
        run(replace(config, actor_order="fixed"), actors=ActorOptions(**inline), **told)
    else:
        run(config, **told)
    _, state = checkpoint.load(tmp_path / "run/checkpoint.npz", "training")
    if plan.design != "none":
        values = config.kernel_values(spec_of(config))
        describe(plan.design, "u200", tmp_path / "kernels", **values)
    (tmp_path / "plan.json").write_text(json.dumps(document))
    (tmp_path / "train.py").write_text(text_of(plan, document, tmp_path))
    kept = watched(monkeypatch)
    own = runpy.run_path(str(tmp_path / "train.py"))
    card = () if plan.design == "none" else ("model",)
    policy = own["train"](*card, config.steps, config.seed, tmp_path / "best.npz", **inline)
    equal(policy.snapshot, state["session"]["policy"]["parameters"])
    checkpoint.save(tmp_path / "kept.npz", "kept", {}, kept)  # as a run's, whose keys are texts
    equal(checkpoint.load(tmp_path / "kept.npz", "kept")[1], state["session"]["learner"])
    one, two = (
        checkpoint.load(folder / "best.npz", "policy") for folder in (tmp_path, tmp_path / "run")
    )
    equal(one, two)


def watched(monkeypatch):
    """The state of the program's learner, as when it is closed."""
    kept = {}

    def watch(kind):
        close = kind.close

        def closed(learner):
            if kind is MemoryLearner:
                learner._card.call(int)  # after the launches under way
            kept.update(learner.state_dict())
            close(learner)

        monkeypatch.setattr(kind, "close", closed)

    for kind in (MemoryLearner, training.AdvantageLearner, training.RoundLearner):
        watch(kind)
    return kept

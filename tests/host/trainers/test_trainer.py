"""host.trainers.trainer: a user's trainer runs, is saved, and its mistakes are lines."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from host import checkpoint
from host.agents.registry import ALGORITHMS, find_named
from host.algorithms.config import Clock
from host.trainers.module_state import modules_of, optimizers_of
from hw.errors import MissingTool, UsageError
from tests.host.agent_parts import make_batch
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE, FOLDER, changed, trainer

NAMES = {"sequential": DISCRETE, "weighted": DISCRETE, "polyak": DISCRETE, "usual": CONTINUOUS}


def made(algorithm, spec, seed=1, **config):
    policy = algorithm.policy(algorithm.config(**config), spec, weights=seed, exploration=2)
    return policy, algorithm.updater(policy, seed=3)


def learn(updater, spec, steps, first=0):
    return [
        updater.update(make_batch(spec, seed=first + k), Clock(updates=k))[0] for k in range(steps)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_state_goes_on_from_a_file(name, tmp_path):
    """Three steps, a checkpoint, three more: equal bytes, with its counters, moments and draws."""
    spec = NAMES[name]
    policy, updater = made(trainer(name), spec)
    before = {key: value.copy() for key, value in policy.parameters.items()}
    learn(updater, spec, 3)
    assert any((before[key] != value).any() for key, value in policy.parameters.items())
    state = {"policy": policy.state_dict(), "updater": updater.state_dict()}
    checkpoint.save(tmp_path / "c.npz", "training", {}, state)
    wanted = learn(updater, spec, 3, first=3)
    _, state = checkpoint.load(tmp_path / "c.npz", "training")
    other, resumed = made(trainer(name), spec, seed=9)
    other.load_state_dict(state["policy"])
    resumed.load_state_dict(state["updater"])
    np.testing.assert_array_equal(learn(resumed, spec, 3, first=3), wanted)
    for key, value in policy.parameters.items():
        np.testing.assert_array_equal(other.parameters[key], value)
    obs = make_batch(spec)["obs"]
    for steps in (0, 1000):
        drawn = (each.act(obs, steps=steps) for each in (other, policy))
        np.testing.assert_array_equal(*drawn)


def test_what_it_draws_is_the_runs(tmp_path):
    """Random numbers of torch in a step go on from one to the next, also from a file, and other
    draws do not change them."""
    change = "return (wanted - q).detach()", "return (wanted - q).detach() + torch.rand(len(q))"
    algorithm = changed(tmp_path, "sequential", change)
    batch, found = make_batch(DISCRETE), []
    for again in (False, True):
        policy, updater = made(algorithm, DISCRETE)
        for k in range(3):
            torch.manual_seed(k + 10 * again)
            found.append(updater.update(batch, Clock())[0])
            if again and k == 1:
                state = policy.state_dict(), updater.state_dict()
                policy, updater = made(algorithm, DISCRETE, seed=7)
                policy.load_state_dict(state[0])
                updater.load_state_dict(state[1])
    np.testing.assert_array_equal(found[:3], found[3:])
    plain = made(trainer("sequential"), DISCRETE)[1]
    drawn = [errors - plain.update(batch, Clock())[0] for errors in found[:3]]
    assert all(0 <= each.min() and each.max() <= 1 for each in drawn)
    assert abs(drawn[0] - drawn[1]).max() > 0.1


def test_correlated_noise_begins_anew_with_episodes():
    obs = make_batch(CONTINUOUS, rows=6)["obs"]
    options = dict(noise="ornstein_uhlenbeck", noise_theta=0.001, noise_start=0.2, noise_end=0.2)
    policy, _ = made(trainer("usual"), CONTINUOUS, **options)
    greedy = policy.act(obs, greedy=True)
    for _ in range(40):
        policy.act(obs)
    policy.ended(np.arange(6) < 3)
    noise = abs(policy.act(obs) - greedy)
    assert noise[:3].max() < 0.04 < noise[3:].max()
    policy.load_state_dict(policy.state_dict())
    assert abs(policy.act(obs) - greedy).max() < 0.04


def test_first_weights_are_the_seeds():
    one, same, other = (made(trainer("usual"), CONTINUOUS, seed)[0] for seed in (4, 4, 5))
    assert {*one.parameters} == {"actor", "critic", "actor_target", "critic_target"}
    for name, vector in one.parameters.items():
        np.testing.assert_array_equal(vector, same.parameters[name])
        assert vector.dtype == np.float32 and (vector != other.parameters[name]).any()


def test_options_are_the_classes_own():
    algorithm = trainer("sequential")
    config = algorithm.config.from_dict({"trainer": {"width": 12, "gamma": 0.5}})
    assert config.trainer.rate == 1e-3 and config.from_json(config.to_json()) == config
    made_of = algorithm.policy(config, DISCRETE).trainer
    assert (made_of.q[0].out_features, made_of.gamma) == (12, 0.5)
    assert {*optimizers_of(made_of)} == {"optimizer"} and {*modules_of(made_of)} == {"q", "target"}


def test_what_it_is_given(tmp_path):
    """Experiences in the contract's types and shapes; done where the discount is 0."""
    seen = "self.seen = states, actions, rewards, next_states, dones\n        with torch.no_grad():"
    algorithm = changed(tmp_path, "sequential", ("with torch.no_grad():", seen))
    policy, updater = made(algorithm, DISCRETE)
    batch = make_batch(DISCRETE)
    learned = updater.update(batch, Clock())[0]
    kinds = [torch.float32, torch.int64, torch.float32, torch.float32, torch.float32]
    assert [each.dtype for each in policy.trainer.seen] == kinds
    given = dict(
        zip(("obs", "action", "reward", "next_obs", "done"), policy.trainer.seen, strict=True)
    )
    np.testing.assert_array_equal(given.pop("done"), batch["discount"] == 0)
    for name, tensor in given.items():
        np.testing.assert_array_equal(tensor, batch[name])
    assert learned.dtype == np.float32 and learned.shape == (32,)


def test_exploration_is_the_runs():
    obs = make_batch(DISCRETE, rows=400)["obs"]
    policy, _ = made(trainer("sequential"), DISCRETE, epsilon_end=0.25, epsilon_steps=100)
    greedy = policy.act(obs, greedy=True)
    assert greedy.dtype == np.int64 and policy.exploration_at(100) == 0.25
    np.testing.assert_array_equal(greedy, policy.trainer.get_action(torch.from_numpy(obs)))
    assert 0.1 < (policy.act(obs, steps=100) != greedy).mean() < 0.25
    obs = make_batch(CONTINUOUS, rows=400)["obs"]
    policy, _ = made(trainer("usual"), CONTINUOUS, noise_end=0.25, noise_steps=100)
    noise = policy.act(obs, steps=100) - policy.act(obs, greedy=True)
    assert policy.exploration_at(100) == 0.25 and 0.2 < noise.std() < 0.3
    assert abs(policy.act(obs)).max() == 1


def test_without_td_errors_all_have_one_priority():
    _, updater = made(trainer("polyak"), DISCRETE)
    assert (learn(updater, DISCRETE, 1)[0] == 1).all()


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "return (wanted - q).detach()",
            "return q.sum()",
            "update_policy must return a tensor of 32 T",
        ),
        (
            "return (wanted - q).detach()",
            "return 3",
            "update_policy must return .* or None, not 3$",
        ),
        (
            "return (wanted - q).detach()",
            "return wanted - q.detach() * float('nan')",
            "td_errors must be finite, not nan .*; a step size may be too high",
        ),
        ("argmax(-1)", "argmax(-1) - 1", r"get_action must give integers in 0..2, not -1"),
        ("argmax(-1)", "argmax(-1) + 0.5", r"get_action must give integers in 0..2, not \d.5"),
        (
            "argmax(-1)",
            "flatten()",
            r"get_action must give \[32\] numbers for 32 observations, not ",
        ),
    ],
)
def test_results_that_are_not_the_contracts(old, new, message, tmp_path):
    policy, updater = made(changed(tmp_path, "sequential", (old, new)), DISCRETE)
    with pytest.raises(UsageError, match=f"^{message}"):
        policy.act(make_batch(DISCRETE)["obs"], greedy=True)
        learn(updater, DISCRETE, 1)


def test_actions_beyond_their_ends(tmp_path):
    change = ("return self.actor(obs)", "return 9 + self.actor(obs)")
    policy, _ = made(changed(tmp_path, "usual", change), CONTINUOUS)
    with pytest.raises(UsageError, match=r"^get_action must give numbers in \[-1, 1\], not "):
        policy.act(make_batch(CONTINUOUS)["obs"], greedy=True)


def test_done_is_of_one_step(tmp_path):
    for name in ("sequential", "usual"):
        with pytest.raises(
            UsageError, match="^n_step must be 1 for a trainer that takes done, not 3"
        ):
            trainer(name).config(n_step=3)
    _, updater = made(trainer("polyak"), DISCRETE, n_step=3)
    learn(updater, DISCRETE, 1)
    change = 'batch["discount"]', '(1 - batch["dones"])'
    _, updater = made(changed(tmp_path, "polyak", change), DISCRETE, n_step=3)
    with pytest.raises(UsageError, match="^n_step must be 1 for a trainer that takes done, not 3"):
        learn(updater, DISCRETE, 1)
    with pytest.raises(UsageError, match="^gamma must be above 0 for a trainer, not 0$"):
        trainer("polyak").config(gamma=0)


def test_an_experience_by_a_name_that_it_lacks(tmp_path):
    change = 'batch["reward"]', 'batch["returns"]'
    _, updater = made(changed(tmp_path, "polyak", change), DISCRETE)
    with pytest.raises(UsageError, match=r"^update_policy must take .*\(obs, .*\), not 'returns'$"):
        learn(updater, DISCRETE, 1)


def test_a_tensor_in_no_module_keeps_it_on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr("host.algorithms.autodiff.check_device", lambda name: None)
    change = "self.target = copy", "self.one = torch.ones(1)\n        self.target = copy"
    algorithm = changed(tmp_path, "sequential", change)
    policy = algorithm.policy(algorithm.config(), DISCRETE)
    with pytest.raises(UsageError, match="^device must be cpu for .* tensor one, .* not 'meta'$"):
        algorithm.updater(policy, device="meta")
    policy = trainer("sequential").policy(trainer("sequential").config(), DISCRETE)
    trainer("sequential").updater(policy, device="meta")
    assert policy.device == "meta" and policy.trainer.q[0].weight.is_meta


def test_without_torch(monkeypatch):
    from host.algorithms import autodiff
    from host.trainers import trainer as module

    monkeypatch.setattr(module, "torch", autodiff._Torch())
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingTool, match="^torch must be installed to train on the CPU"):
        find_named(f"{FOLDER}/other/../sequential.py:Trainer")


def test_every_command_knows_it(tmp_path, monkeypatch, run):
    """Training, what a request must leave, evaluation of its file, and a run that goes on."""
    monkeypatch.chdir(tmp_path)
    for name in ("usual.py", "lagged.py"):
        Path(name).write_text((FOLDER / name).read_text())
    words = (
        "--env",
        "Pendulum-v1",
        "--out",
        "run",
        "--set",
        "memory=tree",
        "--set",
        "trainer.tau=0.1",
    )
    short = "--set", "learning_starts=64", "--set", "evaluation_episodes=1"
    code, said, err = run("train", "lagged.py:Trainer", *words, *short, "--steps", 160)
    assert code == 0 and "mean return" in said, err
    assert run("train", "lagged.py:Trainer", *words, *short, "--steps", 240, "--resume")[0] == 0
    code, _, err = run("train", "lagged.py:Trainer", "--set", "agent.learning_rate=1")
    assert (
        code == 2
        and err == "rlfabric: agent.learning_rate must be left to the trainer, not be set\n"
    )
    ALGORITHMS.pop("lagged.py:Trainer")
    code, _, err = run("evaluate", "run", "--episodes", 1)
    assert code == 2 and err.startswith("rlfabric: --import must name lagged.py: run/")
    assert run("evaluate", "run", "--episodes", 1, "--import", "lagged.py")[0] == 0
    assert "learner must be cpu for" in run("train", "lagged.py:Trainer", "--learner", "card")[2]


@pytest.mark.parametrize("method", ["__init__", "get_action", "update_policy"])
def test_what_a_trainer_raises_is_a_line(method):
    """With the method, the error and the place in its file."""
    algorithm = trainer("sequential")
    kind = algorithm.config.CONTRACT.kind

    def wrong(*arguments, **options):
        return np.zeros(3) @ np.zeros(4)

    with pytest.MonkeyPatch.context() as patch:
        policy, updater = made(algorithm, DISCRETE) if method != "__init__" else (None, None)
        patch.setattr(kind, method, wrong)
        with pytest.raises(UsageError, match=f"^{method} of Trainer must return, not raise Value"):
            if method == "__init__":
                made(algorithm, DISCRETE)
            elif method == "get_action":
                policy.act(np.zeros((2, *DISCRETE.shape), np.float32), greedy=True)
            else:
                learn(updater, DISCRETE, 1)


def test_the_line_of_the_class_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / "sequential.py").read_text().replace("self.q(states)", "self.q(states[:, :1])")
    (tmp_path / "short.py").write_text(text)
    number = 1 + next(k for k, x in enumerate(text.splitlines()) if "states[:, :1]" in x)
    _, updater = made(find_named("short.py:Trainer"), DISCRETE)
    with pytest.raises(UsageError, match=rf"not raise RuntimeError: mat1 .*, line {number}$"):
        learn(updater, DISCRETE, 1)

"""Runs of a3c: configs, kernels, resumptions, interrupts, and that it learns."""

from functools import partial

import numpy as np
import pytest
from fa3c.modelled import opened
from rich.console import Console

from host.a3c.card_network import ActorCritic, Broken
from host.agents.policy_file import load_policy
from host.algorithms.dqn import DQNConfig
from host.environments.spec import Spec
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.round_runs import RoundsConfig
from host.runs.run_log import read_progress
from host.runs.session import Session
from tests.host.round_parts import *
from tests.host.short_training import sigint

LEARNERS = pytest.mark.parametrize("learner", ["card", "cpu"])

# -- configs


BAD = [
    (dict(populations=0), "populations must be an integer in 1..8, not 0"),
    (dict(populations=9), "populations must be an integer in 1..8, not 9"),
    (dict(group=0), "group must be .*, not 0"),
    (dict(group=9), "group must be .*, not 9"),
    (dict(env_count=0), "env_count must be .*, not 0"),
    (dict(env_count=9), r"env_count must be a multiple of 2 \(populations\), not 9"),
    (dict(env_count=172), "env_count must be an integer in 2..170 with 2 populations, not 172"),
    (dict(env_count=129, populations=1), "env_count must be .* 1..128 with 1 populations, not 129"),
    (dict(env_count=8, group=5), r"group must be .* 1..4 \(agents of a population\), not 5"),
    (dict(env_count=128, group=2), "group must make at most 63 groups .*, not 64"),
    (dict(env_count=64, group=1), "group must make at most 63 groups .*, not 64"),
    (dict(device="cuda", learner="card"), "device must be cpu with learner card, not 'cuda'"),
    (dict(algo="ppo"), "algo must be one of a3c, not 'ppo'"),
    (dict(learner="gpu"), "learner must be .*, not 'gpu'"),
    (dict(agent=DQNConfig()), "agent must be a A3CConfig for a3c, not DQNConfig"),
]


@pytest.mark.parametrize("values, message", BAD)
def test_config_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        RoundsConfig(**values)


def test_what_is_as_large_as_can_be():
    largest = RoundsConfig(env_count=128, populations=1, group=8)
    assert (largest.population, largest.groups, largest.group_size) == (128, 16, 8)
    config = RoundsConfig(env_count=62, group=1)
    assert config.groups == 31
    assert RoundsConfig.from_json(config.to_json()) == config
    with pytest.raises(ValueError, match="^steps_per_launch must be a field of RoundsConfig"):
        RoundsConfig.from_dict({"steps_per_launch": 2})


@pytest.mark.parametrize(
    "population, size", [(1, 1), (2, 2), (3, 2), (8, 2), (12, 3), (16, 4), (32, 8), (64, 8)]
)
def test_groups(population, size):
    """A quarter of a population, if that is 2 to 8."""
    config = RoundsConfig(env_count=population, populations=1)
    assert config.group_size == size and config.groups == -(-population // size)


def test_continuous_actions():
    with pytest.raises(ValueError, match="^env must have a Discrete action space for a3c, not Box"):
        build(configured(env="Pendulum-v1", learner="cpu"), lambda: None)


OTHERS = [
    (dict(agents=11), "agents must be at most 11 as in the kernel, not 12"),
    (dict(hidden=(8,)), r"hidden must be \(8,\) as in the kernel, not \(16,\)"),
    (dict(steps=4), "batch_size must be 4 as in the kernel, not 3"),
    (dict(snapshots=4), "snapshots must be at most 4 as in the kernel, not 5"),
    (dict(tasks=31), "tasks must be at most 31 as in the kernel, not 32"),
    (dict(channels=5), "channels must be 5 as in the kernel, not 4"),
    (dict(outputs=4), "outputs must be 4 as in the kernel, not 3"),
    (dict(batch=1), "batch must be at most 1 as in the kernel, not 2"),
]


@pytest.mark.parametrize("changes, message", OTHERS)
def test_a_kernel_of_another_run(changes, message):
    """The first thing that differs; and the kernel is free again."""
    with opened(kernel_of(configured(), **changes)) as kernel:
        with pytest.raises(ValueError, match=f"^{message}$"):
            build(configured(), partial(ActorCritic, kernel))
        ActorCritic(kernel).close()


def test_a_kernel_that_was_used():
    """Larger than the run needs, with rollouts under way of a run before: as a fresh one."""
    config, found = configured(), []
    with session_of(config) as session:
        for _ in range(50):
            session.iterate()
        wanted = state_of(session)
    with opened(kernel_of(config, agents=40, batch=3, snapshots=9, tasks=40)) as kernel:
        for _ in range(2):
            session = build(config, partial(ActorCritic, kernel))
            for _ in range(50):
                session.iterate()
            found.append(state_of(session))
            middle = session.state_dict()
            for _ in range(7):
                session.iterate()
            session.load_state_dict(middle)
            assert_same(state_of(session), found[-1])
            for _ in range(3):
                session.iterate()
            session.close()  # waits for the round under way, or the kernel would be given up
    assert_same(found[0], wanted)
    assert_same(found[1], wanted)


# -- resumptions


def state_of(session):
    state = session.state_dict()
    flat = {"policy": state["policy"]["parameters"]["actor_critic"]}
    flat |= {name: np.asarray(value) for name, value in state["learner"].items()}
    numbers = state["launches"], state["steps"], state["updates"], state["policy"]["rng"]
    assert state["flying"] == [] and state["pending"] is None
    return flat, numbers


def assert_same(one, other):
    assert one[1] == other[1] and one[0].keys() == other[0].keys()
    for name, array in one[0].items():
        np.testing.assert_array_equal(array, other[0][name], err_msg=name)


@LEARNERS
def test_a_resumed_session(learner):
    """Loaded, it has what was saved, to the last bit; and goes on as another that loaded it."""
    config, found = configured(learner=learner), []
    with session_of(config) as session:
        for _ in range(60):
            session.iterate()
        saved, before = session.state_dict(), state_of(session)
        assert before[1][2] > 20
        for _ in range(10):
            session.iterate()
        assert (state_of(session)[0]["policy"] != before[0]["policy"]).any(), "a state is a copy"
    for _ in range(2):
        with session_of(config) as again:
            again.load_state_dict(saved)
            assert_same(state_of(again), before)
            episodes = [again.iterate().episodes for _ in range(60)]
            found.append((state_of(again), episodes))
    assert_same(found[0][0], found[1][0])
    assert found[0][1] == found[1][1] and any(found[0][1])
    assert (found[0][0][0]["policy"] != before[0]["policy"]).any(), "it goes on learning"


def go(config, out, **options):
    """A run, and rows of its progress.csv but for times."""
    options |= dict(out=out, console=Console(quiet=True))
    if config.learner == "cpu":
        result = train(config, lambda: None, card="none", **options)
    else:
        with opened(kernel_of(config)) as kernel:
            result = train(config, partial(ActorCritic, kernel), **options)
    rows = read_progress(out)
    return result, [{k: v for k, v in row.items() if "seconds" not in k} for row in rows]


@LEARNERS
def test_a_run_that_is_cut_and_resumed(tmp_path, learner):
    """Twice from one checkpoint: the same rows, the same policy."""
    short = configured(learner=learner, steps=400, log_interval_steps=200)
    longer, found = RoundsConfig.from_dict(short.to_dict() | {"steps": 800}), []
    for name in ("one", "two"):
        go(short, tmp_path / name)
        result, rows = go(longer, tmp_path / name, resume=True)
        policy, _ = load_policy(tmp_path / name / "best.npz")
        found.append((rows, policy.parameters["actor_critic"], result.summary["updates"]))
    assert found[0][0] == found[1][0] and found[0][2] == found[1][2] > 50
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert [row["steps"] // 200 for row in found[0][0]] == [1, 2, 2, 3, 4]


def strike(monkeypatch, number, what):
    """``what(session)`` at iteration ``number`` of a run."""
    iterate, count = Session.iterate, iter(range(1 << 30))

    def struck(session):
        if next(count) == number:
            what(session)
        return iterate(session)

    monkeypatch.setattr(Session, "iterate", struck)


@LEARNERS
def test_an_interrupt_leaves_a_checkpoint(tmp_path, monkeypatch, learner):
    config = configured(learner=learner, steps=800)
    with monkeypatch.context() as patched:
        strike(patched, 50, lambda session: sigint())
        result, _ = go(config, tmp_path)
    assert result.exit_code == 130 and result.summary["interrupted"]
    assert result.summary["launches"] == 51 and (tmp_path / "checkpoint.npz").exists()
    result, rows = go(config, tmp_path, resume=True)
    assert result.exit_code == 0 and result.summary["steps"] >= 800
    assert result.summary["launches"] > 150 and rows[-1]["steps"] >= 800


def test_a_kernel_that_breaks_ends_the_run(tmp_path, monkeypatch):
    """With the checkpoint before it, which goes on."""
    config = configured(steps=800, checkpoint_interval_steps=100)
    with monkeypatch.context() as patched:
        strike(patched, 90, lambda s: break_down(s.learner.executor, patched))
        with pytest.raises(Broken, match="take up the last checkpoint") as caught:
            go(config, tmp_path)
    said = str(caught.value)
    assert "the policy as it was is in" in said and "--resume goes on from step" in said
    result, _ = go(config, tmp_path, resume=True)
    assert result.exit_code == 0 and result.summary["steps"] >= 800


def test_a_training_that_overflows_ends_the_run(tmp_path):
    """hw_arrays 5: with the checkpoint and the best policy before it."""
    changes = dict(steps=800, checkpoint_interval_steps=100, evaluation_interval_steps=200)
    config, kept = configured(**changes), {}

    def spoil(session):
        for name in ("checkpoint.npz", "best.npz"):
            kept[name] = (tmp_path / name).read_bytes()
        learner, errors = session.learner, session.learner._errors

        def large(agent, rollout):
            found, measured = errors(agent, rollout)
            return np.full_like(found, 1e30), measured

        learner._errors = large

    with pytest.MonkeyPatch.context() as patched:
        strike(patched, 90, spoil)
        with pytest.raises(
            FloatingPointError, match=r"g must be finite, .* since launch \d+: training"
        ):
            go(config, tmp_path)
    assert kept == {name: (tmp_path / name).read_bytes() for name in kept}
    result, _ = go(config, tmp_path, resume=True)
    assert result.exit_code == 0 and result.summary["steps"] >= 800


def test_the_policy_gets_what_was_learned_elsewhere():
    """Torch's device "cpu:0" copies as a GPU does."""
    found = []
    for device in ("cpu", "cpu:0"):
        with session_of(configured(learner="cpu", device=device)) as session:
            for _ in range(40):
                session.iterate()
            first = state_of(session)
            with session_of(configured(learner="cpu", device=device)) as again:
                again.load_state_dict(session.state_dict())
                assert_same(state_of(again), first)
                for _ in range(20):
                    again.iterate()
                found.append((first, state_of(again)))
    for one, other in zip(*found, strict=True):
        assert_same(one, other)


# -- learning


@pytest.mark.parametrize("learner", ["card", pytest.param("cpu", marks=pytest.mark.long)])
def test_it_learns(learner):
    """CartPole: the last 100 episodes of training."""
    agent = dict(hidden=(32,), batch_size=5, learning_rate=3e-3, optimizer_epsilon=0.01)
    run = dict(env_count=16, group=4, steps=60_000, seed=1, learner=learner)
    config, returns = configured(**run, agent=agent | dict(reward_clip=None)), []
    with session_of(config) as session:
        while session.clock.steps < config.steps and np.mean(returns[-100:] or [0]) < 100:
            returns += [gained for gained, _ in session.iterate().episodes]
    assert np.mean(returns[-100:]) >= 100 > 40 > np.mean(returns[:100])


def test_the_kernel_of_a_run_has_the_shape_of_its_images():
    """Of images that are not square."""
    wide = Spec(shape=(8, 6, 3), dtype="uint8", discrete=True, action_count=4, exponent=-8)
    config = configured()
    values = config.kernel_values(wide)
    assert (values["height"], values["width"], values["channels"]) == (8, 6, 3)
    assert values["outputs"] == 5 and values["input_exponent"] == -8

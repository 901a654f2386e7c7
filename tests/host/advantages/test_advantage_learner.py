"""host.advantages.advantage_learner: one rollout a launch, to the estimator, to the updater; ends
and resumes."""

import json
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from fake_estimator import FakeEstimator
from rich.console import Console

from host.agents.policy_file import load_policy
from host.agents.registry import ALGORITHMS
from host.algorithms.config import Clock
from host.checkpoint import CheckpointError
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.run_log import read_progress
from tests.host.corridor import NAME, WALKER


@pytest.fixture(autouse=True)
def walker(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "ppo", WALKER)


def small(**changes):
    run = dict(
        env=NAME, steps=240, env_count=2, steps_per_launch=6, evaluation_interval_steps=48,
        evaluation_episodes=3, log_interval_steps=24, checkpoint_interval_steps=60,
    )  # fmt: skip
    agent = dict(gamma=0.5, gae_lambda=0.25, batch_size=4) | changes.pop("agent", {})
    return OnPolicyConfig.from_dict({**run, **changes, "agent": agent})


class Estimator(FakeEstimator):
    """Counts clocks, keeps what it was asked, and may strike in its launch ``at``."""

    def __init__(self, at=None, strike=None):
        super().__init__(dynamic=True)
        self.asked, self.at, self.strike, self.device_cycles = [], at, strike, 0

    def estimate(self, *arrays, **options):
        self.asked.append((arrays, options))
        if len(self.asked) == self.at:
            self.strike()
        self.device_cycles += 100
        return super().estimate(*arrays, **options)


def run(config, out, estimator=None, **options):
    estimator = estimator or Estimator()
    console = Console(file=open(os.devnull, "w"), width=200)
    return train(config, lambda: estimator, out=out, console=console, **options)


def test_a_launch_is_a_rollout():
    estimator = Estimator()
    session = build(small(), lambda: estimator)
    reference, collect, rollouts = FakeEstimator(dynamic=True), session.collector.collect, []

    def collected(policy, clock):
        rollout, episodes = collect(policy, clock)
        rollouts.append(rollout)
        return rollout, episodes

    session.collector.collect = collected
    first = session.iterate()
    for _ in range(3):
        session.iterate()
    assert session.launches == len(estimator.asked) == 4
    assert session.clock == Clock(steps=4 * 12, updates=4)
    learned = session.learner.updater.learned
    for rollout, (arrays, options), batch in zip(rollouts, estimator.asked, learned, strict=True):
        names = ("reward", "value", "terminated", "truncated", "bootstrap")
        for name, array in zip(names, arrays, strict=True):
            assert getattr(rollout, name) is array and array.shape == (6, 2)
        assert options == {"gamma": 0.5, "gae_lambda": 0.25}
        wanted = reference.estimate(*arrays, **options)
        np.testing.assert_array_equal(batch["advantage"], wanted.advantages)
        np.testing.assert_array_equal(batch["return"], wanted.returns)
        for name in ("obs", "action", "log_probability", "value"):
            assert batch[name] is getattr(rollout, name)
        assert len(batch) == 6
    rewards = estimator.asked[0][0][0]
    assert first.measured["loss"] == 2 and first.measured["explained_variance"] is None
    assert first.measured["reward_mean"] == pytest.approx(rewards.mean())
    assert first.measured["clipped"] == 0 and set(first.measured) <= set(session.columns)
    assert [length for _, length in first.episodes] == [3, 3]
    assert session.device_cycles == 400
    session.close()
    assert estimator.closed


def test_the_time_of_the_card_is_the_cards():
    """Of each launch its own, which lies in the phase that packs."""
    estimator = Estimator()
    flight = estimator.launcher.kernel.flight = SimpleNamespace(seconds=5.0)
    session = build(small(), lambda: estimator)
    moved, session.learner.phases.move = [], lambda seconds, to: moved.append((seconds, to))
    estimate = estimator.estimate

    def launched(*arrays, **options):
        flight.seconds += 2.0
        return estimate(*arrays, **options)

    estimator.estimate = launched
    for _ in range(3):
        session.iterate()
    session.close()
    assert moved == [(2.0, "card")] * 3


def test_leaves_everything(tmp_path):
    estimator = Estimator()
    result = run(small(), tmp_path, estimator, card="sim")
    assert result.exit_code == 0 and estimator.closed
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary == result.summary
    expected = dict(env=NAME, algo="ppo", learner="cpu", card="sim", steps=240, launches=20)
    assert expected.items() <= summary.items()
    assert summary["updates"] == 20 and summary["device_cycles"] == 2000
    assert summary["config"]["agent"]["gamma"] == 0.5
    assert summary["mean_return"] in (4.5, 6, 7.5), "greedy actions of 0.5, three to five steps"
    rows = read_progress(tmp_path)
    assert [row["launches"] for row in rows] == [*range(2, 21, 2)]
    assert [r["launches"] for r in rows if r["evaluation_return"] is not None] == [*range(4, 21, 4)]
    last = rows[-1]
    assert last["loss"] == 2 * 19.5 and last["explained_variance"] is None, "means since the last"
    assert last["learning_rate"] == 1e-3 and last["reward_deviation"] > 0
    assert last["device_cycles"] == 2000 and last["episodes"] > 40
    assert last["length_mean"] == pytest.approx(4, abs=0.1), "three to five steps, in turn"
    assert "fill" not in last and "td_error" not in last, "columns of another algorithm"
    assert result.plot.exists() and list((tmp_path / "tensorboard").glob("events*"))
    policy, info = load_policy(tmp_path / "best.npz")
    assert info["env"] == NAME and info["algo"] == "ppo" and not policy.spec.discrete
    assert policy.parameters["walker"][0] != 0


def test_interrupt_and_resume(tmp_path):
    """Weights, random stream and sums of the estimator go on; environments start anew."""

    def keep(estimator):
        return estimator.count, estimator.sum, estimator.squares

    broken = Estimator(8, lambda: os.kill(os.getpid(), signal.SIGINT))
    result = run(small(), tmp_path / "run", broken)
    assert result.exit_code == 130 and result.summary["launches"] == 8
    saved = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    resumed, again = Estimator(), Estimator()
    result = run(small(), tmp_path / "run", resumed, resume=True)
    assert result.exit_code == 0 and result.summary["steps"] == 240
    assert result.summary["device_cycles"] == 2000 and len(resumed.asked) == 12
    assert resumed.count == 20 * 12 > broken.count == 8 * 12, "all rewards so far"
    launches = [row["launches"] for row in read_progress(tmp_path / "run")]
    assert launches == [*range(2, 21, 2)]
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "checkpoint.npz").write_bytes(saved)
    run(small(), tmp_path / "again", again, resume=True)
    assert keep(again) == keep(resumed), "a resumed run is a function of its checkpoint"
    with pytest.raises(CheckpointError, match="agent.gamma must be 0.5 as in the check.* not 0."):
        run(small(agent=dict(gamma=0.75)), tmp_path / "run", resume=True)


def test_seeds(tmp_path):
    """Equal seeds, equal runs."""
    sums = []
    for seed, name in ((3, "a"), (3, "b"), (4, "c")):
        estimator = Estimator()
        run(small(seed=seed), tmp_path / name, estimator)
        sums.append(estimator.sum)
    assert sums[0] == sums[1] != sums[2]


def test_card_failure_is_not_hidden(tmp_path):
    def fail():
        raise RuntimeError("m_axi_results write channel stands still")

    estimator = Estimator(9, fail)
    with pytest.raises(RuntimeError, match="stands still") as caught:
        run(small(), tmp_path, estimator)
    assert estimator.closed
    assert caught.value.__notes__ == [
        f"the policy as it was is in {tmp_path / 'last.npz'}",
        f"--resume goes on from step 60, in {tmp_path / 'checkpoint.npz'}",
    ]
    assert load_policy(tmp_path / "last.npz")[0].parameters["walker"][0] != 0
    assert run(small(), tmp_path, resume=True).summary["steps"] == 240  # from launch 5

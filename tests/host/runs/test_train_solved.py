"""host.runs.loop's end: what counts as solved, what is confirmed, which policy is kept."""

import os

import numpy as np
import pytest
from fake_replay import FakeReplay
from rich.console import Console

from host.agents.policy_file import load_policy
from host.checkpoint import CheckpointError
from host.runs.loop import train
from host.runs.replay_runs import OffPolicyConfig
from host.runs.session import Session

CONFIG = dict(
    steps=2000,
    env_count=4,
    capacity=1000,
    learning_starts=100,
    evaluation_interval_steps=400,
    evaluation_episodes=4,
    agent=dict(hidden=[16], batch_size=16),
)


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """``scripted(scores, **config)`` trains with these evaluation scores; returns the summary and
    the evaluations asked for: (attempt, launches, whether of another policy than the learning)."""

    def run(scores, resume=False, **changes):
        scores, asked = list(scores), []

        def evaluate(self, attempt=0, policy=None, stop=(), progress=None):
            asked.append((attempt, self.launches, policy is not None))
            return np.full(4, scores.pop(0))

        monkeypatch.setattr(Session, "evaluate", evaluate)
        config = OffPolicyConfig.from_dict({**CONFIG, **changes})
        console = Console(file=open(os.devnull, "w"))
        result = train(config, FakeReplay, out=tmp_path, resume=resume, console=console)
        assert not scores, "every scripted score is asked for"
        return result.summary, asked

    run.out = tmp_path
    return run


def test_stops_when_confirmed(scripted):
    summary, asked = scripted([100, 475, 480], until_solved=True)
    assert summary["solved"] and summary["mean_return"] == 480 and summary["launches"] == 200
    assert asked == [(0, 100, False), (0, 200, False), (1, 200, False)]
    assert load_policy(scripted.out / "best.npz")[1]["score"] == 475


def test_a_threshold_of_ones_own(scripted):
    summary, asked = scripted([99, 100, 100], until_solved=True, threshold=100.0)
    assert summary["solved"] and summary["reward_threshold"] == 100 and len(asked) == 3
    assert summary["launches"] == 200


def test_a_threshold_of_zero_is_one(scripted):
    assert scripted([0, 0], until_solved=True, threshold=0.0)[0]["reward_threshold"] == 0


def test_goes_on_when_not_confirmed(scripted):
    summary, asked = scripted([500, 474.9, 474, 476, 475], until_solved=True)
    assert summary["solved"] and summary["mean_return"] == 475 and summary["launches"] == 300
    attempts = [(0, 100), (1, 100), (0, 200), (0, 300), (2, 300)]
    assert [a[:2] for a in asked] == attempts, "each confirmation has its own episodes"


def test_confirmed_policy_is_kept_over_a_higher_score(scripted):
    scripted([500, 400, 476, 499], until_solved=True)
    assert load_policy(scripted.out / "best.npz")[1]["score"] == 476


def test_without_until_solved_the_best_is_judged_last(scripted):
    summary, asked = scripted([100, 500, 500, 90, 80, 481])
    assert summary["solved"] and summary["mean_return"] == 481 and summary["launches"] == 500
    assert asked[-1] == (1, 500, True), "the best policy, on episodes that chose nothing"
    assert load_policy(scripted.out / "best.npz")[1]["score"] == 500


def test_unsolved_is_said(scripted):
    summary, _ = scripted([100, 500, 474, 90, 80, 70, 474], until_solved=True)
    assert not summary["solved"] and summary["mean_return"] == 474


def test_without_any_evaluation_the_last_policy_is_judged(scripted):
    summary, asked = scripted([9, 10], steps=40)
    assert summary["mean_return"] == 10 and [a[2] for a in asked] == [False, True]


def test_solved_stays_solved_on_resume(scripted):
    scripted([475, 480], until_solved=True)
    summary, asked = scripted([], until_solved=True, resume=True)
    assert summary["solved"] and summary["mean_return"] == 480 and not asked


def test_better_policy_survives_a_crash(scripted):
    """Kept since the checkpoint: the resumed run knows that its own evaluations are worse."""
    scripted([50, 51], steps=400)
    checkpoint, policy = scripted.out / "checkpoint.npz", scripted.out / "best.npz"
    older = checkpoint.read_bytes()
    scripted([100, 90], steps=800, resume=True)
    kept = load_policy(policy)[0].parameters["q"]
    checkpoint.write_bytes(older)
    scripted([99, 90], steps=800, resume=True)
    best, info = load_policy(policy)
    assert info["score"] == 100
    np.testing.assert_array_equal(best.parameters["q"], kept)


def test_policy_file_is_checked(tmp_path):
    with pytest.raises(CheckpointError, match="none there"):
        load_policy(tmp_path / "best.npz")


def test_diverged_training_ends_with_its_reason(tmp_path):
    class Poisoned(FakeReplay):
        def sample(self, *arguments):
            batch = super().sample(*arguments)
            batch["reward"][3] = np.nan
            return batch

    config = OffPolicyConfig.from_dict(CONFIG)
    console = Console(file=open(os.devnull, "w"))
    with pytest.raises(ValueError, match=r"^td_errors must be finite, not nan \(row 3 of batch 0"):
        train(config, Poisoned, out=tmp_path, console=console)

"""host.runs.loop: runs end well, however they end; a resumed run gets the same next batch."""

import io
import json
import os
import signal

import numpy as np
import pytest
from fake_replay import FakeReplay
from rich.console import Console

from host.agents.policy_file import load_policy
from host.checkpoint import CheckpointError
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.run_log import read_progress
from tests.host.short_training import Recorder, run, sigint, small


def test_leaves_everything(tmp_path):
    recorder = Recorder()
    result = run(small(), tmp_path, recorder, card="sim")
    assert result.exit_code == 0 and recorder.buffer.closed
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary == result.summary
    expected = dict(env="CartPole-v1", algo="dqn", card="sim", seed=0, steps=2000, solved=False)
    assert expected.items() <= summary.items()
    assert summary["launches"] == 500 and summary["device_cycles"] == 50_000
    assert summary["updates"] == len(recorder.digests) == 475
    assert 8 < summary["mean_return"] < 475 and summary["seconds"] > 0
    rows = read_progress(tmp_path)
    assert [row["launches"] for row in rows] == [*range(50, 501, 50)]
    assert [r["launches"] for r in rows if r["evaluation_return"] is not None] == [200, 400]
    assert rows[-1]["loss"] > 0 and rows[-1]["fill"] == 1000
    assert result.plot.exists() and list((tmp_path / "tensorboard").glob("events*"))
    policy, info = load_policy(tmp_path / "best.npz")
    assert info["env"] == "CartPole-v1" and policy.predict(np.zeros((1, 4))).shape == (1, 2)


def test_intervals_that_no_launch_ends_on(tmp_path):
    """Launches of 4 steps: an interval ends with the launch that passes a multiple of it."""
    run(small(steps=300, log_interval_steps=50, evaluation_interval_steps=130), tmp_path)
    rows = read_progress(tmp_path)
    assert [row["steps"] for row in rows] == [52, 100, 132, 152, 200, 252, 260, 300]
    evaluated = [row["steps"] for row in rows if row["evaluation_return"] is not None]
    assert evaluated == [132, 260], "from the first update on"
    run(small(steps=20, log_interval_steps=1), tmp_path / "every")
    *every, final = [row["steps"] for row in read_progress(tmp_path / "every")]
    assert every == [4, 8, 12, 16, 20] and final == 20


def test_same_seed_same_run(tmp_path):
    one, two, other = Recorder(), Recorder(), Recorder()
    summaries = [
        run(small(seed=seed, steps=1000), tmp_path / name, recorder).summary
        for seed, name, recorder in ((3, "a", one), (3, "b", two), (4, "c", other))
    ]
    assert one.digests == two.digests and one.digests[0] != other.digests[0]
    assert summaries[0]["mean_return"] == summaries[1]["mean_return"]


def one_launch_an_iteration(fields, **options):
    buffer = FakeReplay(fields, **options)
    for name in ("add", "update_priorities", "sample"):
        setattr(buffer, name, lambda *a, **k: pytest.fail("only step() may be called"))
    buffer.step = lambda e, u, s: None if s is None else pytest.fail("sampled too early")
    return buffer


def test_only_step_is_called(tmp_path):
    run(small(steps=100, capacity=4000, learning_starts=4000), tmp_path, one_launch_an_iteration)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_m_interrupt_and_resume(tmp_path, number):
    whole, resumed, again = Recorder(), Recorder(), Recorder()
    broken = Recorder(300, lambda: os.kill(os.getpid(), number))
    run(small(), tmp_path / "whole", whole)
    before = signal.getsignal(number)
    result = run(small(), tmp_path / "run", broken)
    assert signal.getsignal(number) is before
    assert result.exit_code == 130 and result.summary["interrupted"]
    assert result.summary["launches"] == 300 and not result.summary["solved"]
    saved = (tmp_path / "run" / "checkpoint.npz").read_bytes()

    result = run(small(), tmp_path / "run", resumed, resume=True)
    assert result.exit_code == 0
    assert result.summary["launches"] == 500 and result.summary["device_cycles"] == 50_000
    assert broken.digests == whole.digests[: len(broken.digests)]
    assert resumed.digests[0] == whole.digests[len(broken.digests)], "the same next batch"
    launches = [row["launches"] for row in read_progress(tmp_path / "run")]
    assert launches == [*range(50, 501, 50)]

    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "checkpoint.npz").write_bytes(saved)
    run(small(), tmp_path / "again", again, resume=True)
    assert again.digests == resumed.digests, "a resumed run is a function of its checkpoint"


def test_nothing_is_lost_on_resume():
    """Windows that a broken-off episode left open enter the buffer as truncated."""
    config = small(agent=dict(n_step=5))
    broken, resumed = build(config, FakeReplay), build(config, FakeReplay)
    for _ in range(50):
        broken.iterate()
    resumed.load_state_dict(broken.state_dict())
    for _ in range(2):  # what an iteration collects is inserted by the next
        resumed.iterate()
    assert resumed.learner.buffer.inserted == 4 * 50 > broken.learner.buffer.inserted
    for session in (broken, resumed):
        session.close()


def test_terminated_experiences_have_no_discount():
    """A fallen pole ends the windows of its last n steps; all others bootstrap."""
    session = build(small(agent=dict(n_step=3, gamma=0.5, reward_scale=2.0)), FakeReplay)
    ended = sum(len(session.iterate().episodes) for _ in range(200))
    session.iterate()
    buffer = session.learner.buffer
    stored, fill = buffer.arrays, len(buffer)
    discount, reward = stored["discount"][:fill], stored["reward"][:fill]
    assert ended > 10 and int((discount == 0).sum()) == 3 * ended
    assert set(np.unique(discount)) == {0, 0.125}
    assert (reward[discount > 0] == 2 * 1.75).all()
    assert set(np.unique(reward)) == {2 * 1.0, 2 * 1.5, 2 * 1.75}
    session.close()


def test_resume_says_how(tmp_path):
    path = tmp_path / "console"
    with path.open("w") as file:
        console = Console(file=file, width=60)
        train(small(), Recorder(200, sigint), out=tmp_path / "o", console=console)
    text = path.read_text()
    assert "Interrupted at step 800" in text and "--resume" in text and "checkpoint.npz" in text


def test_resume_refuses_another_config(tmp_path):
    run(small(steps=800), tmp_path)
    with pytest.raises(CheckpointError, match="seed must be 0 as in the checkpoint, not 1"):
        run(small(seed=1), tmp_path, resume=True)
    with pytest.raises(CheckpointError, match=r"agent.hidden must be \[16\] as in .*, not \[8\]"):
        run(small(agent=dict(hidden=[8])), tmp_path, resume=True)
    free = small(steps=1200, log_interval_steps=100, threshold=9.0)
    assert run(free, tmp_path, resume=True).summary["steps"] == 1200


def test_resume_refuses_damage(tmp_path):
    with pytest.raises(CheckpointError, match="none there"):
        run(small(), tmp_path, resume=True)
    run(small(steps=800), tmp_path)
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="^checkpoint must be a whole file"):
        run(small(), tmp_path, resume=True)


def test_resume_of_a_run_that_has_ended(tmp_path):
    """It has nothing to train, and says so; each row is there once."""
    run(small(steps=1000), tmp_path)
    rows = read_progress(tmp_path)
    for steps in (1000, 400):
        said = io.StringIO()
        again = run(small(steps=steps), tmp_path, said=said, resume=True)
        assert again.exit_code == 0 and again.summary["steps"] == 1000
        words = (
            f"The checkpoint is of step 1000, and steps is {steps}: nothing is trained. Give more "
        )
        assert said.getvalue().startswith(words)
        assert read_progress(tmp_path) == rows
    said = io.StringIO()
    run(small(steps=1001), tmp_path, said=said, resume=True)
    assert "nothing is trained" not in said.getvalue()
    assert [row["steps"] for row in read_progress(tmp_path)] == [200, 400, 600, 800, 1000, 1004]


def test_new_run_keeps_the_old_checkpoint(tmp_path):
    run(small(steps=800), tmp_path)
    old = [(tmp_path / name).read_bytes() for name in ("checkpoint.npz", "best.npz")]
    run(small(steps=800, seed=9), tmp_path)
    names = ("checkpoint.previous.npz", "best.previous.npz")
    assert [(tmp_path / name).read_bytes() for name in names] == old


def test_batch_larger_than_fill(tmp_path):
    buffer = FakeReplay({"action": (np.int32, ())}, capacity=9, alpha=1, epsilon=1, seed=0)
    buffer.add(action=np.zeros(3))
    with pytest.raises(ValueError, match=r"^batch_size must be at most the fill \(3\), not 4$"):
        buffer.step(None, None, (4, 1.0))
    with pytest.raises(ValueError, match=r"^learning_starts must be an integer in 16\.\.1000 \(b"):
        small(learning_starts=15)


def test_unwritable_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="^out must be a directory that can be written, not "):
        run(small(), tmp_path / "file")

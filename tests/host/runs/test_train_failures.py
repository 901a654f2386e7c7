"""What goes wrong in a run loses nothing: disks, environments, cards, signals, kills."""

import io
import threading
import time

import gymnasium
import numpy as np
import pytest

from host.agents.policy_file import load_policy
from host.checkpoint import CheckpointError
from host.runs.records import Records
from host.runs.run_log import read_progress
from host.runs.session import Session
from tests.host.short_training import Recorder, run, sigint, small


def without_times(path):
    """Rows of progress.csv, but for seconds."""
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in read_progress(path)]


def test_d_a_full_disk_warns_and_the_run_goes_on(tmp_path, disk):
    """From launch 160 to 320: rows, an evaluation's policy and a checkpoint meet it."""
    said, whole = io.StringIO(), Recorder()
    expected = run(small(), tmp_path / "whole", whole)
    recorder = Recorder(strikes={160: lambda: disk(True), 320: lambda: disk(False)})
    result = run(small(), tmp_path / "run", recorder, said)
    assert result.exit_code == 0 and recorder.digests == whole.digests
    assert result.summary["mean_return"] == expected.summary["mean_return"]
    assert without_times(tmp_path / "run") == without_times(tmp_path / "whole")
    best = [load_policy(tmp_path / name / "best.npz") for name in ("run", "whole")]
    np.testing.assert_array_equal(*(policy.parameters["q"] for policy, _ in best))
    for name in ("progress.csv", "best.npz", "checkpoint.npz"):
        assert said.getvalue().count(f"{name} could not be written (File too large)") == 1
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {path.name for path in (tmp_path / "whole").iterdir()}, "no litter"


def test_d_a_disk_that_stays_full(tmp_path, disk):
    """The run ends all the same, says what is not there, and resumes from before."""
    said, recorder = io.StringIO(), Recorder(strikes={160: lambda: disk(True)})
    result = run(small(), tmp_path, recorder, said)
    names = "best.npz, checkpoint.npz, progress.csv, returns.png, summary.json"
    end = f"Not written in the end: {names}. The checkpoint is of step 600.\n"
    assert said.getvalue().endswith(end) and not result.plot.exists()
    assert result.exit_code == 1 and result.summary["steps"] == 2000
    disk(False)
    assert not (tmp_path / "summary.json").exists()
    assert run(small(), tmp_path, resume=True).exit_code == 0
    assert [row["launches"] for row in read_progress(tmp_path)] == [*range(50, 501, 50)]


def test_d_a_disk_that_is_full_from_the_first_checkpoint_on(tmp_path, disk):
    said = io.StringIO()
    run(small(), tmp_path, Recorder(strikes={10: lambda: disk(True)}), said)
    assert said.getvalue().endswith("summary.json. There is no checkpoint.\n")


def test_d_a_disk_that_is_full_at_the_very_end(tmp_path, monkeypatch):
    """Only the summary cannot be written: the run says so, and its exit code is a failure's."""
    said = io.StringIO()
    write = Records.summary

    def full(self, values):
        (tmp_path / "summary.json").mkdir()  # a file cannot take its place
        write(self, values)

    monkeypatch.setattr(Records, "summary", full)
    assert run(small(), tmp_path, said=said).exit_code == 1
    assert "Not written in the end: summary.json." in said.getvalue()


def test_e_a_failure_in_an_evaluation_loses_nothing(tmp_path, monkeypatch):
    whole, broken, resumed = Recorder(), Recorder(), Recorder()
    run(small(), tmp_path / "whole", whole)

    def fail(self, *arguments, **options):
        raise LookupError("the environment's own")

    monkeypatch.setattr(Session, "evaluate", fail)
    out = tmp_path / "run"
    with pytest.raises(LookupError) as caught:
        run(small(), out, broken)
    assert caught.value.__notes__ == [
        f"the policy as it was is in {out / 'last.npz'}",
        f"--resume goes on from step 800, in {out / 'checkpoint.npz'}",
    ]
    load_policy(out / "last.npz")
    monkeypatch.undo()
    run(small(), out, resumed, resume=True)
    assert resumed.digests[0] == whole.digests[len(broken.digests)], "the same next batch"


def test_e_a_failure_on_a_full_disk_is_not_hidden(tmp_path, disk):
    def fail():
        disk(True)
        raise RuntimeError("m_axi_storage read channel stands still")

    with pytest.raises(RuntimeError, match="stands still") as caught:
        run(small(), tmp_path, Recorder(20, fail))
    (note,) = caught.value.__notes__
    assert note.startswith(f"the policy as it was could not be written to {tmp_path / 'last.npz'}")


def test_card_failure_is_not_hidden(tmp_path):
    """The error comes through, the policy as it was is saved, and the checkpoint goes on."""

    def fail():
        raise RuntimeError("m_axi_storage read channel stands still")

    recorder = Recorder(400, fail)
    with pytest.raises(RuntimeError, match="stands still") as caught:
        run(small(), tmp_path, recorder)
    assert recorder.buffer.closed
    assert caught.value.__notes__ == [
        f"the policy as it was is in {tmp_path / 'last.npz'}",
        f"--resume goes on from step 1200, in {tmp_path / 'checkpoint.npz'}",
    ]
    policy, _ = load_policy(tmp_path / "last.npz")
    assert policy.act(np.zeros((1, 4), np.float32), greedy=True).shape == (1,)
    resumed = run(small(), tmp_path, resume=True)  # from launch 300's periodic checkpoint
    assert resumed.summary["steps"] == 2000


def test_g_a_checkpoint_after_some_seconds(tmp_path):
    """As often as asked, and as does not take long; the run is the same, and so are its clocks."""
    found, whole = [], Recorder()

    def look():
        found.append((tmp_path / "run" / "checkpoint.npz").exists())

    rare = dict(checkpoint_interval_steps=1 << 30)
    run(small(**rare), tmp_path / "whole", whole)
    recorder = Recorder(400, look, saving=7)
    result = run(small(checkpoint_interval_s=1e-3, **rare), tmp_path / "run", recorder)
    assert found == [True] and recorder.digests == whole.digests
    assert result.summary["device_cycles"] == 50_000
    for seconds in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="^checkpoint_interval_s must be positive and finite"):
            small(checkpoint_interval_s=seconds)


def test_second_signal_stops_at_once(tmp_path):
    def twice():
        sigint()
        time.sleep(0.3)  # signals that wait together count as one
        sigint()

    recorder = Recorder(200, twice)
    with pytest.raises(KeyboardInterrupt) as caught:
        run(small(), tmp_path, recorder)
    assert recorder.launches < 203 and recorder.buffer.closed
    assert caught.value.__notes__ == [
        f"the policy as it was is in {tmp_path / 'last.npz'}",
        f"--resume goes on from step 600, in {tmp_path / 'checkpoint.npz'}",
    ]


@pytest.mark.parametrize("obedient", [True, False])
def test_n_second_signal_does_not_wait_for_the_launch(tmp_path, obedient):
    """One that can be given up, and one that is deep in somebody's library."""
    ends = threading.Event()

    def stand_still():
        for delay in (0.2, 0.6):
            threading.Timer(delay, sigint).start()
        flight, deadline = recorder.buffer.flight, time.monotonic() + 20
        while not ends.wait(0.05) and time.monotonic() < deadline:
            if obedient:
                flight.check()

    recorder = Recorder(200, stand_still)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(small(), tmp_path, recorder)
        took = time.monotonic() - began
    finally:
        ends.set()
    threads = [t for t in threading.enumerate() if t.name == "card" and t.is_alive()]
    assert took < 10 and recorder.launches == 200 and recorder.buffer.closed
    assert not (obedient and threads)


class Endless(gymnasium.Env):
    """Never ends; a signal comes in step ``strike`` of all its instances together."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    strike, steps = None, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        Endless.steps += 1
        if Endless.steps == Endless.strike:
            sigint()
        return np.zeros(2, np.float32), 1.0, False, False, {}


gymnasium.register("rlfabric-tests/Endless-v0", entry_point=Endless)


def endless(**changes):
    run = dict(env="rlfabric-tests/Endless-v0", steps=400, evaluation_interval_steps=8000)
    return small(**run, **changes)


def test_v_endless_episodes_of_an_evaluation_end(tmp_path):
    words = "^4 episodes of an evaluation must end within 50 steps"
    with pytest.warns(RuntimeWarning, match=words):
        summary = run(endless(evaluation_steps=50), tmp_path).summary
    assert summary["mean_return"] == 50


@pytest.mark.filterwarnings("ignore:4 episodes")
@pytest.mark.parametrize("strike, limit", [(1000, 20_000), (1000, 100)])
def test_v_first_signal_ends_an_evaluation(tmp_path, monkeypatch, strike, limit):
    """Of the last policy, behind 400 steps of training; or behind those and 400 of its evaluation,
    the one of the best policy."""
    monkeypatch.setattr(Endless, "steps", 0)
    monkeypatch.setattr(Endless, "strike", strike)
    said = io.StringIO()
    result = run(endless(evaluation_steps=limit), tmp_path, Recorder(), said)
    assert Endless.steps == strike + (-strike % 4)  # not a step more of the four environments
    assert result.exit_code == 130 and result.summary["interrupted"]
    assert result.summary["mean_return"] is None and result.summary["steps"] == 400
    assert "final evaluation: step 400 of at least 400 (100 %)" in said.getvalue()
    assert "final evaluation: step 0" not in said.getvalue()
    assert "Interrupted at step 400" in said.getvalue()
    again = run(endless(evaluation_steps=50), tmp_path, resume=True)
    assert again.exit_code == 0 and again.summary["mean_return"] == 50


def test_x_a_checkpoint_that_lacks_what_this_version_saves(tmp_path, monkeypatch):
    state = Session.state_dict
    monkeypatch.setattr("host.checkpoint.version", lambda name: "0.0.1")
    monkeypatch.setattr(Session, "state_dict", lambda self: state(self) | {"collector": {}})
    run(small(steps=400), tmp_path)
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match="^checkpoint must hold the state that .*which rlfabric 0.0.1 w"
    ):
        run(small(steps=800), tmp_path, resume=True)


def test_x_a_checkpoint_from_before_schedules_had_a_length(tmp_path, monkeypatch):
    """The resumed run's is its own."""
    state, lengths = Session.state_dict, []

    def older(self):
        lengths.append(self.clock.total)
        return {name: value for name, value in state(self).items() if name != "total"}

    monkeypatch.setattr(Session, "state_dict", older)
    for steps, resume in ((40, False), (80, True)):
        assert run(small(steps=steps), tmp_path, resume=resume).exit_code == 0
    assert lengths == [40, 80]


def test_a_new_run_starts_with_nothing_of_the_last_one(tmp_path):
    """A summary, say, that a run which is killed would leave behind as if it were its own."""
    run(small(steps=400), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(small(), tmp_path, Recorder(10, lambda: (_ for _ in ()).throw(KeyboardInterrupt)))
    assert not (tmp_path / "summary.json").exists() and not (tmp_path / "best.npz").exists()

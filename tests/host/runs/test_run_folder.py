"""host.runs.run_folder: a run's folder is its own; nothing is replaced unasked."""

import threading

import pytest

from host.checkpoint import CheckpointError
from host.runs.preset import preset
from host.runs.run_folder import clear, default_folder, policy_of, run_folder


def leave_a_run(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ("checkpoint.npz", "best.npz", "summary.json", "progress.csv"):
        (folder / name).write_text(f"{name} of an earlier run")


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_default_name_says_what_runs():
    dqn = preset("dqn", "card", None, "ALE/Pong-v5")
    assert str(default_folder(dqn, "xrt:1")) == "runs/dqn-ALE-Pong-v5-card-xrt-1-0"
    ppo = preset("ppo", "cpu", "heppo5")
    name = str(default_folder(ppo, "uart:/dev/ttyUSB0", "heppo5"))
    assert name == "runs/ppo-CartPole-v1-heppo5-cpu-uart-dev-ttyUSB0-0"
    plain = default_folder(preset("dqn", "cpu"), "model")
    assert str(plain) == "runs/dqn-CartPole-v1-cpu-model-0"


def test_b_two_runs_in_one_folder(tmp_path):
    """The second is told who has it, and changes nothing, whatever it asks for."""
    out = tmp_path / "run"
    with run_folder(out) as folder:
        leave_a_run(out)
        for options in ({}, {"overwrite": True}, {"resume": True}):
            words = f"^out must be a folder in which no run is under way, not {out}: process [0-9]+"
            with pytest.raises(ValueError, match=words + " since"):
                with run_folder(out, **options):
                    pytest.fail("the folder is the other run's")
        assert folder == out
        assert names(out) == {
            ".lock", "best.npz", "checkpoint.npz", "progress.csv", "summary.json"
        }  # fmt: skip


def test_c_an_earlier_run_is_not_replaced_unasked(tmp_path, capsys):
    for name in ("checkpoint.npz", "best.npz", "last.npz", "progress.csv", "summary.json"):
        out = tmp_path / name
        leave_a_run(out, name)
        with pytest.raises(ValueError, match=f"^out must be a folder without a run, not {out}: "):
            with run_folder(out):
                pytest.fail("there is a run")
        assert (out / name).exists()
        with run_folder(out, overwrite=True):
            pass
        assert f"the run in {out} is overwritten" in capsys.readouterr().err
    with run_folder(tmp_path / "new", overwrite=True) as folder:
        (folder / "file").touch()
    with run_folder(tmp_path / "new"):  # has files, but no run
        pass
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="^overwrite must be without resume"):
        with run_folder(tmp_path, overwrite=True, resume=True):
            pass


def test_c_default_folders_are_numbered(tmp_path):
    out, taken = tmp_path / "runs" / "dqn-0", []
    for _ in range(3):
        with run_folder(out, numbered=True) as folder:
            leave_a_run(folder, "progress.csv")
            taken.append(folder.name)
    assert taken == ["dqn-0", "dqn-0-2", "dqn-0-3"]
    # Others' names, and gaps, are nobody's next.
    for name in ("dqn-0-9", "dqn-0-1", "dqn-0-02", "dqn-0-3-7", "dqn-0-099", "dqn-01"):
        (out.parent / name).mkdir()
    with run_folder(out, numbered=True) as folder:
        assert folder.name == "dqn-0-10"
        with run_folder(out, numbered=True) as second:  # while the first is under way
            assert second.name == "dqn-0-11"


def test_c_names_of_runs_are_no_patterns(tmp_path):
    """A dot is a dot; and numbers have no end."""
    for name in ("a.b", "axb-200", "a.b-123"):
        (tmp_path / name).mkdir()
    with run_folder(tmp_path / "a.b", numbered=True) as folder:
        assert folder.name == "a.b-124"


def test_c_runs_started_together_get_numbers_of_their_own(tmp_path):
    taken, start, end = [], threading.Barrier(8), threading.Barrier(8)

    def one():
        start.wait(timeout=30)
        with run_folder(tmp_path / "run", numbered=True) as folder:
            taken.append(folder.name)
            end.wait(timeout=30)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(taken) == sorted(["run", *(f"run-{n}" for n in range(2, 9))])


def test_c_a_number_that_was_taken_meanwhile(tmp_path, monkeypatch):
    """By runs that began after this one had looked."""
    for name in ("run", "run-2"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("host.runs.run_folder._numbers", lambda out: {})
    with run_folder(tmp_path / "run", numbered=True) as folder:
        assert folder.name == "run-3"


def test_c_resume_goes_on_in_the_latest_with_a_checkpoint(tmp_path):
    out = tmp_path / "run"
    for name in ("run", "run-2", "run-10", "run-x"):
        leave_a_run(tmp_path / name, "checkpoint.npz")
    leave_a_run(tmp_path / "run-11", "progress.csv")
    with run_folder(out, numbered=True, resume=True) as folder:
        assert folder.name == "run-10"
    with run_folder(out, resume=True) as folder:
        assert folder.name == "run"


def test_f_litter_of_a_killed_run_is_removed(tmp_path):
    leave_a_run(tmp_path, ".checkpoint.npz.0a1b2c3d.partial", "notes.partial", ".hidden")
    with run_folder(tmp_path):
        assert names(tmp_path) == {".lock", "notes.partial", ".hidden"}


@pytest.mark.parametrize("numbered", [False, True])
def test_p_nothing_is_created_where_there_is_nothing_to_resume(tmp_path, numbered):
    with pytest.raises(CheckpointError, match=r"run/checkpoint.npz' \(none there\)$"):
        with run_folder(tmp_path / "run", numbered=numbered, resume=True):
            pytest.fail("there is nothing")
    assert names(tmp_path) == set()


def test_p_a_folder_that_stays_empty_is_removed(tmp_path):
    for numbered in (False, True):
        with pytest.raises(LookupError):
            with run_folder(tmp_path / "run", numbered=numbered):
                raise LookupError("no such environment")
        assert names(tmp_path) == set()
    (tmp_path / "mine").mkdir()
    with run_folder(tmp_path / "mine"):
        pass
    assert names(tmp_path) == {"mine"}


def test_p_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for numbered in (False, True):
        with pytest.raises(ValueError, match="^out must be a directory that can be written, not "):
            with run_folder(tmp_path / "file" / "run", numbered=numbered):
                pytest.fail("there is no folder")


def test_clear_keeps_the_policy_and_the_checkpoint(tmp_path):
    leave_a_run(tmp_path)
    leave_a_run(tmp_path, "last.npz", "returns.png", "notes")
    clear(tmp_path)
    kept = {"best.previous.npz", "checkpoint.previous.npz", "progress.csv", "notes"}
    assert names(tmp_path) == kept
    assert (tmp_path / "best.previous.npz").read_text() == "best.npz of an earlier run"


def test_a_policy_in_the_home(tmp_path, monkeypatch):
    """``~`` is the home in paths of policies, of a folder and of a file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run").mkdir()
    assert policy_of("~/run") == tmp_path / "run" / "best.npz"
    assert policy_of("~/run.npz") == tmp_path / "run.npz"

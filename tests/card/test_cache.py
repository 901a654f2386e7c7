"""sim.cache and sim.lock: one maker at a time, who is named; whole folders alone; no litter."""

import os
import subprocess
import sys
import threading

import pytest

from hw.errors import UsageError
from sim import cache
from sim.cache import DIGESTS, Unwritable, is_whole, kept
from sim.lock import Held, locked

HOLDER = """
import sys, time
from sim.lock import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder():
    """``holder(path)`` starts a process that holds the lock; ends with the test."""
    started = []

    def start(path):
        command = [sys.executable, "-c", HOLDER, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def writes(text):
    def make(work):
        (work / "out" / "sub").mkdir()
        (work / "out" / "sub" / "file").write_text(text)

    return make


def refuse(work):
    raise AssertionError("made again")


def test_k_a_lock_names_its_holder_and_ends_with_it(tmp_path, holder):
    path = tmp_path / "lock"
    process = holder(path)
    with pytest.raises(Held, match=rf"process {process.pid} since 2.* \(-c {path}\)$"):
        with locked(path):
            pytest.fail("the lock is held")
    process.kill()
    process.wait()
    with locked(path, limit_s=5):
        pass
    with locked(path):
        pass


def test_i_who_waits_says_for_whom_and_gives_up(tmp_path, holder, capsys):
    folder = tmp_path / "kernel"
    process = holder(tmp_path / ".kernel.lock")
    words = f"{folder} must be made within 0.3 s, not still by process {process.pid} since "
    with pytest.raises(RuntimeError) as caught:
        kept(folder, refuse, limit_s=0.3)
    assert str(caught.value).startswith(words)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert f"for {folder}, which is being made by process {process.pid} since" in lines[0]

    threading.Timer(0.3, process.kill).start()
    assert kept(folder, writes("whole"), limit_s=30) == folder and is_whole(folder)


def test_whole_folders_are_kept_without_the_lock(tmp_path, holder):
    folder = kept(tmp_path / "kernel", writes("whole"))
    holder(tmp_path / ".kernel.lock")
    assert kept(folder, refuse) == folder


@pytest.mark.parametrize("damage", ["cut", "other", "gone", "no digests", "half digests"])
def test_j_a_damaged_folder_is_made_again(tmp_path, damage, capsys):
    folder = kept(tmp_path / "kernel", writes("whole"))
    file, digests = folder / "sub" / "file", folder / DIGESTS
    match damage:
        case "cut":
            file.write_text("whol")
        case "other":
            file.write_text("whoke")
        case "gone":
            file.unlink()
        case "no digests":
            digests.unlink()
        case "half digests":
            digests.write_text(digests.read_text()[:9])
    assert not is_whole(folder)
    kept(folder, writes("again"))
    assert file.read_text() == "again" and is_whole(folder)
    assert f"{folder} is made again, for it is damaged" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"kernel", ".kernel.lock"}


@pytest.mark.parametrize("name", ["", "sub", "sub/file", DIGESTS])
def test_what_others_may_write_is_made_again(tmp_path, name, capsys):
    """host 25: digests tell nothing where whoever writes the code can write them too."""
    before = os.umask(0o002)  # as on systems where each user has a group
    try:
        folder = kept(tmp_path / "kernel", writes("whole"))
    finally:
        os.umask(before)
    assert kept(folder, refuse) == folder
    (folder / name).chmod(0o775)
    kept(folder, writes("again"))
    assert (folder / "sub" / "file").read_text() == "again"
    assert "kernel is made again, for others may write it" in capsys.readouterr().err


def test_what_is_of_another_user_is_refused(tmp_path, monkeypatch):
    folder = kept(tmp_path / "kernel", writes("whole"))
    own = os.stat(folder).st_uid
    monkeypatch.setattr(cache, "_USERS", (own + 1, own + 2))
    with pytest.raises(UsageError, match="kernel must be of this user or root, not of another"):
        kept(folder, refuse)
    assert (folder / "sub" / "file").read_text() == "whole"


def test_h_litter_of_a_killed_build_is_removed(tmp_path):
    for name in (".kernel.abc.partial", ".kernel.def.partial", ".other.abc.partial"):
        (tmp_path / name / "out").mkdir(parents=True)
        (tmp_path / name / "out" / "half").touch()
    kept(tmp_path / "kernel", writes("whole"))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"kernel", ".kernel.lock", ".other.abc.partial"}


def test_q_a_build_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unwritable, match="must be a folder that can be written.*Not a dir"):
        kept(tmp_path / "file" / "verilated" / "kernel", refuse)
    with pytest.raises(Unwritable, match="file must be a folder that can be written"):
        kept(tmp_path / "file" / "kernel", refuse)

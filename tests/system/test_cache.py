"""system.cache and system.lock: one maker at a time, who is named; whole folders alone; no
litter."""

import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import threading

import pytest

from hw.errors import Failure
from system import cache
from system.cache import DIGESTS, Unwritable, contents, is_whole, kept
from system.lock import Held, locked

HOLDER = """
import sys, time
from system.lock import locked
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


@pytest.mark.parametrize("words", [[], [""]])
def test_a_holder_without_a_command_line(tmp_path, monkeypatch, words):
    """As in a program that embeds Python."""
    monkeypatch.setattr("sys.argv", words)
    with locked(tmp_path / "lock"):
        assert (tmp_path / "lock").read_text().endswith(" ()\n")


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


def swapped(folder):
    other = kept(folder.with_name("other"), writes("other"))
    (folder / "sub" / "file").unlink()
    for name in ("sub/file", DIGESTS):
        (other / name).replace(folder / name)
    shutil.rmtree(other)


def resealed(folder, name="sub/file"):
    """Whoever knows the format but not the key."""
    (folder / name).write_text("evil")
    digests = {name: hashlib.sha256(b"evil").hexdigest()}
    text = json.dumps(digests, sort_keys=True).encode()
    seal = hmac.digest(bytes(32), b"kernel\0" + text, "sha256").hex()
    (folder / DIGESTS).write_text(json.dumps({"files": digests, "seal": seal}))


FOREIGN = {
    "another file": lambda folder: (folder / "evil.o").write_text("evil"),
    "a link": lambda folder: (folder / "evil.o").symlink_to(folder / "sub" / "file"),
    "a linked folder": lambda folder: (folder / "evil").symlink_to(folder / "sub"),
    "a pipe": lambda folder: os.mkfifo(folder / "evil.o"),
    "the seal of another folder": swapped,
    "a seal with another key": resealed,
    "no seal": lambda folder: (folder / DIGESTS).write_text('{"sub/file": ""}'),
    "an empty seal": lambda folder: (folder / DIGESTS).write_text('{"files": {}, "seal": ""}'),
    "a list": lambda folder: (folder / DIGESTS).write_text("[]"),
    "no files": lambda folder: (folder / DIGESTS).write_text('{"files": 1, "seal": ""}'),
}  # fmt: skip


@pytest.mark.parametrize("change", FOREIGN)
def test_what_this_user_has_not_made_is_made_again(tmp_path, change, capsys):
    """host S1: files of an archive belong to the user who unpacks it."""
    folder = kept(tmp_path / "kernel", writes("whole"))
    FOREIGN[change](folder)
    assert not is_whole(folder)
    kept(folder, writes("again"))
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"sub/file", DIGESTS} and (folder / "sub" / "file").read_text() == "again"
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "made again, for it is damaged or not of this user" in said


def test_another_key_is_another_user(tmp_path, monkeypatch):
    folder = kept(tmp_path / "kernel", writes("whole"))
    monkeypatch.setattr(cache, "_key", lambda: (b"other" * 8, True))
    kept(folder, writes("again"))
    assert (folder / "sub" / "file").read_text() == "again"
    monkeypatch.undo()
    assert not is_whole(folder)


def test_permissions_do_not_matter(tmp_path):
    """public F13: a drive of Windows shows 0777, whatever chmod does; all was made at each run."""
    folder = kept(tmp_path / "kernel", writes("whole"))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    assert kept(folder, refuse) == folder


def test_what_is_run_is_what_was_checked(tmp_path):
    folder = kept(tmp_path / "kernel", lambda work: (work / "out" / "file").write_text("whole"))
    assert contents(folder / "file") == b"whole"
    (folder / "file").write_text("whoke")
    with pytest.raises(Failure, match="file must be as it was built, not changed meanwhile"):
        contents(folder / "file")
    (folder / "new").write_text("whole")
    with pytest.raises(Failure, match="new must be as it was built"):
        contents(folder / "new")


@pytest.mark.parametrize("change", ["another key", "no seal", "another folder", "a list", "none"])
def test_what_was_exchanged_with_its_digests_is_not_run(tmp_path, change):
    """After ``kept`` has checked the folder, as by another user who can write in it."""
    of = dict.fromkeys(("kernel", "other"), lambda work: (work / "out" / "file").write_text("a"))
    folder, other = (kept(tmp_path / name, make) for name, make in of.items())
    digests = folder / DIGESTS
    if change == "another folder":
        shutil.copy(other / DIGESTS, digests)
    elif change == "none":
        digests.unlink()
    else:
        resealed(folder, "file")
        found = json.loads(digests.read_text())
        wrong = {"no seal": {"files": found["files"]}, "a list": [found]}
        digests.write_text(json.dumps(wrong.get(change, found)))
    with pytest.raises(Failure, match="file must be as it was built, not changed meanwhile"):
        contents(folder / "file")


def test_without_a_place_for_the_key_nothing_is_kept(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RLFABRIC_KEY", str(tmp_path / "file" / "key"))
    foreign = tmp_path / "kernel"
    writes_to = foreign / "sub" / "file"
    writes_to.parent.mkdir(parents=True)
    writes_to.write_text("foreign")
    cache._key.cache_clear()
    try:
        folder = kept(foreign, writes("own"))
        assert (folder / "sub" / "file").read_text() == "own" and writes_to.read_text() == "foreign"
        assert folder.stat().st_uid == os.getuid() and not folder.is_relative_to(tmp_path)
        assert kept(foreign, refuse) == folder and not cache.lasting()
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and said.endswith("RLFABRIC_KEY names another\n")
    finally:
        cache._key.cache_clear()


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

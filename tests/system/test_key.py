"""system.key: made once, this user's alone, or not used."""

import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from hw.errors import UsageError
from system.key import KEY, key_place, user_key

MAKERS = """
import sys
from system.key import user_key
sys.stdin.read()
print(user_key().hex())
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "data" / "rlfabric" / "key"
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return path


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_it_is_made_once_and_read_by_nobody_else(place, mask):
    before = os.umask(mask)
    try:
        key = user_key()
    finally:
        os.umask(before)
    assert len(key) == 32 and user_key() == key == place.read_bytes()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert [path.name for path in place.parent.iterdir()] == ["key"]


def test_processes_that_start_together_have_one_key(place):
    words = [sys.executable, "-c", MAKERS]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started = [subprocess.Popen(words, **pipes) for _ in range(3)]
    keys = {process.communicate(timeout=60)[0].strip() for process in started}
    assert keys == {place.read_bytes().hex()}


def test_who_is_second_takes_the_first_one_s(place, monkeypatch):
    """Another process makes it between the look and the making."""
    first = bytes(range(32))
    link = os.link

    def late(new, path):
        place.write_bytes(first)
        place.chmod(0o600)
        link(new, path)

    monkeypatch.setattr(os, "link", late)
    assert user_key() == first
    assert [path.name for path in place.parent.iterdir()] == ["key"]


def test_a_drive_without_hard_links(place, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    assert user_key() == place.read_bytes() == user_key()


WRONG = {
    "read by others": lambda path: path.chmod(0o644),
    "written by the group": lambda path: path.chmod(0o620),
    "short": lambda path: path.write_bytes(bytes(31)),
    "long": lambda path: path.write_bytes(bytes(33)),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path, 0o600)),
    "a folder": lambda path: (path.unlink(), path.mkdir(0o700)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_is_not_this_user_s_alone_is_refused(place, wrong):
    user_key()
    WRONG[wrong](place)
    with pytest.raises(UsageError, match="key must be a file .*RLFABRIC_KEY"):
        user_key()


def test_a_link_is_refused(place):
    user_key()
    place.rename(place.with_name("other"))
    place.symlink_to(place.with_name("other"))
    with pytest.raises(UsageError, match="key must be a file that can be made and read.*levels of"):
        user_key()


def test_another_user_s_is_refused(place, monkeypatch):
    user_key()
    status, other = os.fstat, os.geteuid() + 1
    key = place.stat().st_ino

    def of_another(handle):
        found = list(status(handle))
        found[4] = other if found[1] == key else found[4]
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", of_another)
    with pytest.raises(UsageError, match=f"of user {other} with mode -rw-------: remove it"):
        user_key()


@pytest.mark.parametrize(("owner", "mode"), [(0, 0o777), (4321, 0o770)])
def test_a_drive_without_permissions(place, monkeypatch, owner, mode):
    """All of its files have one owner and one mode. A line once, and one key for all processes; but
    not a key that could be private, and is not."""
    status = os.fstat

    def of_drive(handle):
        found = list(status(handle))
        found[0], found[4] = stat.S_IFMT(found[0]) | mode, owner
        return os.stat_result(found)

    with monkeypatch.context() as drive, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        drive.setattr(os, "fstat", of_drive)
        key = user_key()
        assert user_key() == key == place.read_bytes()
        assert len(said) == 1 and "as private as the drive is" in str(said[0].message)
        assert [path.name for path in place.parent.iterdir()] == ["key"]
    assert user_key() == key
    place.chmod(mode)
    with pytest.raises(UsageError, match="remove it, or name another by RLFABRIC_KEY"):
        user_key()


@pytest.mark.parametrize("data", [None, "", "relative"])
def test_the_place_is_in_the_home(tmp_path, monkeypatch, data):
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if data is not None:
        monkeypatch.setenv("XDG_DATA_HOME", data)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_place() == tmp_path / ".local" / "share" / "rlfabric" / "key"
    monkeypatch.setenv(KEY, "other")
    assert key_place() == Path.cwd() / "other"
    monkeypatch.setenv(KEY, "~/key")
    assert key_place() == Path.home() / "key", "not a folder called ~"


@pytest.mark.parametrize("home", ["", "/nonexistent/home", "relative"])
def test_without_a_home_there_is_no_place(monkeypatch, home):
    for name in (KEY, "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", home)
    with pytest.raises(UsageError, match=f"^HOME must be a folder, .*; {KEY} names another"):
        user_key()

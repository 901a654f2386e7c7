"""system.disk and system.memory: temporary folders, homes, full disks, memory, other locales."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hw.errors import Failure, UsageError
from system import memory
from system.disk import clear_dead, naming, temporary_folder, user_path
from system.lock import locked

ROOT = Path(__file__).parents[2]


def test_folders_of_dead_processes_go(tmp_path):
    """Killed ones; not those of living ones, nor what is not ours."""
    program = "import os, sys; from pathlib import Path; from system.disk import *\n"
    program += "with temporary_folder(Path(sys.argv[1])) as made:\n    print(made, flush=True)\n"
    killed = f"{program}    os.kill(os.getpid(), 9)\n"
    done = subprocess.run([sys.executable, "-c", killed, str(tmp_path)], capture_output=True,
                          text=True, cwd=ROOT, timeout=60)  # fmt: skip
    dead = Path(done.stdout.strip())
    assert dead.is_dir() and dead.stat().st_mode & 0o77 == 0
    (other := tmp_path / "rlfabric-other").mkdir()
    (tmp_path / "rlfabric-link").symlink_to(dead)
    with temporary_folder(tmp_path) as own:
        assert not dead.exists()
        clear_dead(tmp_path)
        assert own.is_dir() and other.is_dir()
    assert not own.exists() and {path.name for path in tmp_path.iterdir()} == {
        "rlfabric-other", "rlfabric-link"
    }  # fmt: skip


def test_folders_of_other_users_stay(tmp_path, monkeypatch):
    """Root could remove them."""
    (other := tmp_path / "rlfabric-other").mkdir()
    (other / ".lock").touch()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    clear_dead(tmp_path)
    assert other.is_dir()
    monkeypatch.setattr(os, "geteuid", lambda: own)
    clear_dead(tmp_path)
    assert not other.exists()


def test_the_folder_of_a_process_ends_with_it(tmp_path):
    """One for all calls; removed when the process ends by itself."""
    program = "from system.disk import process_folder as folder\n"
    program += "print(folder().is_dir(), folder() is folder(), folder())"
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert done.stdout.startswith(f"True True {tmp_path}/"), done.stderr
    assert not any(tmp_path.iterdir())


def test_a_full_disk_names_its_file():
    with pytest.raises(OSError, match=r"No space left on device: 'runs/rows.csv'"):
        with naming("runs/rows.csv"), open("/dev/full", "wb", buffering=0) as full:
            full.write(b"row")


def test_errors_with_a_file_keep_it(tmp_path):
    """The file that is missing is the one to say; an error without a number has no file."""
    with pytest.raises(FileNotFoundError) as missing, naming("other"):
        (tmp_path / "missing").read_bytes()
    assert missing.value.filename == str(tmp_path / "missing")
    with pytest.raises(OSError, match="^text$") as plain, naming("other"):
        raise OSError("text")
    assert plain.value.filename is None


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ({}, 5 << 30),
        ({"a/b": (3 << 30, 1 << 30)}, 2 << 30),
        ({"a": (1 << 30, 0), "a/b": "max"}, 1 << 30),
    ],
)  # fmt: skip
def test_the_memory_that_is_left(tmp_path, monkeypatch, limits, wanted):
    """That of the machine, or of the tightest group."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {5 << 20} kB\n")
    (tmp_path / "cgroup").write_text("0::/a/b\n")
    for group, told in limits.items():
        limit, taken = (told, 0) if told == "max" else told
        (tmp_path / group / "memory.max").write_text(f"{limit}\n")
        (tmp_path / group / "memory.current").write_text(f"{taken}\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_PROC", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    assert memory.available() == wanted
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "none")
    assert memory.available() is None


def test_a_memory_that_does_not_fit(monkeypatch):
    """A line; it is made, for it may never be full. A line, and no traceback, if it is refused."""
    monkeypatch.setattr(memory, "available", lambda: 999)
    with pytest.warns(RuntimeWarning, match=r"^x must fit the memory .* not take 0.0 GB when it"):
        assert not memory.zeros((10, 100), np.uint8, "x").any()
    memory.zeros((9, 100), np.uint8, "x")

    def refused(*_):
        raise MemoryError

    monkeypatch.setattr(memory.np, "zeros", refused)
    array = memory.zeros((9, 10), np.int64, "x")
    array[8, 9] = 1
    assert array.shape == (9, 10) and array.sum() == 1
    monkeypatch.setattr(memory, "available", lambda: None)
    with pytest.raises(Failure, match=r"^x must fit the memory of this machine, not take 11529215"):
        memory.zeros((1 << 60,), np.uint8, "x")


def test_homes(monkeypatch):
    monkeypatch.setenv("HOME", "/some/where")
    assert user_path("~/runs") == Path("/some/where/runs") and user_path("a/~b") == Path("a/~b")
    with pytest.raises(UsageError, match="^~nobody-here/x must be in a home that is known"):
        user_path("~nobody-here/x")


def test_text_files_have_an_encoding():
    """The locale's may be ASCII. PLW1514 of ruff finds only what is a Path for sure."""
    found = []
    for folder in ("hw", "host", "sim", "boards", "system", "rlfabric", "bench"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = getattr(getattr(node, "func", None), "attr", "")
                if name in ("read_text", "write_text"):
                    if not any(word.arg == "encoding" for word in node.keywords):
                        found.append(f"{path.relative_to(ROOT)} line {node.lineno}")
    assert not found


def test_an_error_frees_the_lock(tmp_path):
    """Also while somebody has its traceback."""
    with pytest.raises(KeyError) as held, locked(tmp_path / "lock"):
        raise KeyError
    with locked(tmp_path / "lock"):
        assert held.value.__traceback__


def test_another_locale(tmp_path):
    """ASCII, and an argument that it has no letters for: the lock has the command's words."""
    program = "from system.lock import locked\nwith locked('l'): print(open('l', 'rb').read())"
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": str(ROOT)}
    word = "опыт".encode()
    done = subprocess.run([sys.executable.encode(), b"-c", program.encode(), word], cwd=tmp_path,
                          env=os.environ | env, capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode == 0 and b"process " in done.stdout, done.stderr

"""Nobody but this user, on this machine, reaches what a run with actors starts."""

import importlib
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.actors.processes import started
from host.actors import ray_session

LISTENING = "0A"
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Answers:
    def here(self):
        return True


def _address(text):
    """The address in /proc/net/tcp or tcp6: words of four bytes, the last byte first."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    packed = b"".join(words)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def _sockets(pid):
    """Inodes of a process' sockets; none of one that is gone, or not ours."""
    found = set()
    try:
        for each in Path(f"/proc/{pid}/fd").iterdir():
            name = os.readlink(each)
            if name.startswith("socket:["):
                found.add(name[8:-1])
    except OSError:
        pass
    return found


def _processes(folder):
    """This process and all that it has started, whose names Ray changes; and those that have lost
    their parent, by Ray's session folder in their command or environment."""
    yield from started(os.getpid())
    for each in Path("/proc").iterdir():
        try:
            text = (each / "cmdline").read_bytes() + (each / "environ").read_bytes()
        except OSError:
            continue
        if each.name.isdecimal() and folder.encode() in text:
            yield int(each.name)


def listened(folder):
    """Addresses on which the processes of Ray's session ``folder`` listen."""
    inodes = set().union(*map(_sockets, _processes(folder)))
    found = []
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net") / table
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            words = line.split()
            if words[3] == LISTENING and words[9] in inodes:
                found.append(_address(words[1].partition(":")[0]))
    return found


@pytest.fixture
def folder(transport):
    """The folder of Ray's session."""
    texts = " ".join(started(transport.pid).values())
    [found] = set(re.findall(r"/[^ \0=]*/rlfabric-\w+", texts))
    return Path(found)


def test_every_socket_is_on_loopback(transport, folder):
    """With two actors, which listen too: before they answer, not all sockets are there."""
    workers = [transport.make(Answers) for _ in range(2)]
    tickets = [transport.call(worker, "here") for worker in workers]
    for ticket in tickets:
        assert transport.ready([ticket], 60) == [0] and transport.answer(ticket)
    found = listened(str(folder))
    assert len(found) >= 6 and set(found) <= LOOPBACK, found
    for worker in workers:
        transport.kill(worker)


def test_nobody_else_enters_its_folder(folder):
    assert folder.stat().st_mode & 0o77 == 0


def test_the_token_is_in_no_file(transport, folder):
    """Nor in the environment of the run's own process, which Ray's have."""
    raylet = next(pid for pid, text in started(transport.pid).items() if "raylet/raylet" in text)
    variables = dict(
        each.partition(b"=")[::2]
        for each in Path(f"/proc/{raylet}/environ").read_bytes().split(b"\0")
    )
    token = variables[b"RAY_AUTH_TOKEN"].decode()
    assert len(token) == 64 and variables[b"RAY_AUTH_MODE"] == b"token"
    assert "RAY_AUTH_TOKEN" not in os.environ
    for path in (*folder.rglob("*"), *Path.home().glob(".ray/**/*")):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


#: Without the check of what Ray's variable has done.
_UNREFUSED = """
import importlib, types

found = importlib.import_module
importlib.import_module = lambda name: (
    types.SimpleNamespace(ENABLE_RAY_CLUSTER=False) if name.endswith("constants") else found(name)
)
"""
_PROGRAM = """
import os
from pathlib import Path
from host.actors import ray_session
from tests.host.actors.test_loopback import LOOPBACK, listened

{before}
def kept():  # in the user's home, and where Ray is by itself
    places = Path.home().rglob("*"), Path("/tmp", "ray").glob("*")
    return [sorted(each) for each in places]


home = kept()
with ray_session.ray_session(ray_session.RayPlan(1, store=80 << 20)) as ray:
    print(set(listened(ray._private.worker._global_node.get_session_dir_path())) <= LOOPBACK)
print(kept() == home)
"""


@pytest.mark.long
@pytest.mark.parametrize(("taken", "words"), [(False, ["True", "True"]), (True, ["False"])])
def test_what_keeps_it_there(tmp_path, taken, words):
    """Without Ray's variable it listens for everybody, and the test above sees it; nothing is
    written into the user's home."""
    before = "del ray_session._LOCAL['RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER']" if taken else ""
    before += _UNREFUSED if taken else ""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(before=before)],
        env=clean | {"HOME": str(tmp_path), "PYTHONPATH": ".:tests"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[: len(words)] == words, done.stderr


def test_workers_search_no_folder_that_this_process_does_not(monkeypatch, tmp_path):
    """Ray adds the current folder to what it is told, for its workers to search first."""
    importlib.import_module("ray.job_config")  # it is found here no more
    (own := tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to(own)
    monkeypatch.setattr(sys, "path", [str(own)])
    told = {}
    fake = SimpleNamespace(init=lambda **options: told.update(options), shutdown=lambda: None)
    monkeypatch.setattr(ray_session, "needed", lambda *_: fake)
    monkeypatch.setattr(ray_session.signal, "signal", lambda *_: None)
    with ray_session._initialized():
        job = told["job_config"]
        job._py_driver_sys_path.extend([str(tmp_path), str(tmp_path / "link"), str(own)])
    assert job._py_driver_sys_path == [str(tmp_path / "link"), str(own)]


@pytest.mark.long
def test_actors_run_no_file_of_the_current_folder(tmp_path):
    """But the module that the user names, which may be there."""
    for name in ("host", "numpy", "torch", "gymnasium"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'a').close()\n")
    kind = "gymnasium.envs.classic_control:CartPoleEnv"
    (tmp_path / "mine.py").write_text(f"import gymnasium as g\ng.register('Mine-v0', {kind!r})\n")
    words = "-m rlfabric train dqn --env mine:Mine-v0 --learner cpu --memory tree --steps 100"
    command = [sys.executable, *words.split(), "--actors", "1", "--out", "run"]
    path = {"PYTHONPATH": str(Path(ray_session.__file__).parents[2])}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and not (tmp_path / "ran").exists(), done.stderr

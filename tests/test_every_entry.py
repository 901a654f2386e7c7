"""Minutes: every public entry on a person's machine, from a thread and where something is odd.

Each works, or ends with one line (``tests/every_entry.py``).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from every_entry import COMMANDS
from typer.main import get_command

from host.cli.app import app
from system.tools import BUILD_DIRECTORY

ROOT = Path(__file__).parents[1]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
#: A sitecustomize.py: the folder DRIVE is a drive without permissions, whose files have one mode,
#: whatever is asked for.
SITE = """
import os
opened, made, changed, drive = os.open, os.mkdir, os.chmod, os.environ["DRIVE"]

def on_drive(path):
    return isinstance(path, (str, os.PathLike)) and os.path.abspath(path).startswith(drive)

def open(path, flags, mode=0o777, **words):
    handle = opened(path, flags, mode, **words)
    if flags & os.O_CREAT and on_drive(path):
        changed(path, 0o777)
    return handle

def mkdir(path, *words, **more):
    made(path, *words, **more)
    if on_drive(path):
        changed(path, 0o777)

os.open, os.mkdir, os.fchmod = open, mkdir, lambda *_: None
os.chmod = lambda path, *words, **more: on_drive(path) or changed(path, *words, **more)
"""
#: Whether two processes have one key.
KEYS = "from system.cache import lasting, seal; print(lasting(), seal('a', b'').hex())"


@pytest.fixture
def folder():
    """One that every user can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o777)
        yield Path(made)


def every_entry(folder, *words, paths=(), **more):
    """Calls them in ``folder``, and returns the environment in which they were."""
    options = {name: more.pop(name) for name in ("user", "group", "umask") if name in more}
    env = os.environ | {"RLFABRIC_BUILD": str(BUILD_DIRECTORY)} | more
    env["PYTHONPATH"] = os.pathsep.join(map(str, [*paths, ROOT, ROOT / "tests"]))
    if "user" in options:
        options["extra_groups"] = []
    done = subprocess.run([sys.executable, ROOT / "tests" / "every_entry.py", *words], cwd=folder,
                          env=env, capture_output=True, timeout=1500, **options)  # fmt: skip
    said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    return env


def test_every_command_is_called():
    assert {words[0] for words in COMMANDS.values()} == {*get_command(app).commands}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_from_a_thread(folder):
    every_entry(folder, "thread")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_in_ascii_behind_a_dead_proxy_where_everybody_may_write(folder):
    text = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    every_entry(folder, umask=0, **text, **dict.fromkeys(PROXIES, "http://127.0.0.1:9"))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_without_a_home_and_with_an_install_that_is_read_only(folder):
    """As a user who has no entry among the users, if root runs this."""
    other = dict(user=54321, group=54321) if os.geteuid() == 0 else {}
    gone = dict(HOME="/nonexistent", RLFABRIC_BUILD=str(folder / "build"))
    every_entry(folder, **other, **gone)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_in_a_home_without_permissions(folder):
    """All processes have one key, so that nothing is compiled anew at each start."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    drive = dict(DRIVE=str(folder), HOME=str(folder), RLFABRIC_BUILD=str(folder / "build"))
    env = every_entry(folder, paths=[site], **drive)
    assert (folder / ".local/share/rlfabric/key").stat().st_mode & 0o777 == 0o777
    told = dict(env=env, capture_output=True, text=True, timeout=60)
    keys = {subprocess.run([sys.executable, "-c", KEYS], **told).stdout for _ in range(2)}
    assert len(keys) == 1 and keys.pop().startswith("True ")

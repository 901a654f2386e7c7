"""Minutes: every public entry on a person's machine, from a thread and where something is odd.

Each works, or ends with one line (``tests/every_entry.py``).
"""

import os
import subprocess
import sys
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
#: Runs a command with the folder of the checkout, and the Python in it, mounted without writing.
READ_ONLY = ["unshare", "--map-root-user", "--mount", "sh", "-ec", """
    mount --bind "$0" "$0"
    mount -o remount,ro,bind "$0"
    touch "$0/new" 2>&- && exit 9
    "$@"
""", str(ROOT)]  # fmt: skip
#: Whether two processes have one key.
KEYS = "from system.cache import lasting, seal; print(lasting(), seal('a', b'').hex())"


def every_entry(folder, *words, before=(), paths=(), umask=-1, **more):
    """Calls them in ``folder``, with the words ``before`` their command, and returns the
    environment in which they were."""
    env = os.environ | {"RLFABRIC_BUILD": str(BUILD_DIRECTORY)} | more
    env["PYTHONPATH"] = os.pathsep.join(map(str, [*paths, ROOT, ROOT / "tests"]))
    command = [*before, sys.executable, ROOT / "tests" / "every_entry.py", *words]
    done = subprocess.run(command, cwd=folder, env=env, umask=umask, capture_output=True,
                          timeout=1500)  # fmt: skip
    said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    return env


def test_every_command_is_called():
    assert {words[0] for words in COMMANDS.values()} == {*get_command(app).commands}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_from_a_thread(tmp_path):
    every_entry(tmp_path, "thread")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_in_ascii_behind_a_dead_proxy_where_everybody_may_write(tmp_path):
    text = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    every_entry(tmp_path, umask=0, **text, **dict.fromkeys(PROXIES, "http://127.0.0.1:9"))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_without_a_home_and_with_an_install_that_is_read_only(tmp_path):
    if subprocess.run([*READ_ONLY, "true"], capture_output=True).returncode:
        pytest.skip("unshare must be there, and mount what it likes (util-linux)")
    gone = dict(HOME="/nonexistent", RLFABRIC_BUILD=str(tmp_path / "build"))
    every_entry(tmp_path, before=READ_ONLY, **gone)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_in_a_home_without_permissions(tmp_path):
    """All processes have one key, so that nothing is compiled anew at each start."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    drive = dict(DRIVE=str(tmp_path), HOME=str(tmp_path), RLFABRIC_BUILD=str(tmp_path / "build"))
    env = every_entry(tmp_path, paths=[site], **drive)
    assert (tmp_path / ".local/share/rlfabric/key").stat().st_mode & 0o777 == 0o777
    told = dict(env=env, capture_output=True, text=True, timeout=60)
    keys = {subprocess.run([sys.executable, "-c", KEYS], **told).stdout for _ in range(2)}
    assert len(keys) == 1 and keys.pop().startswith("True ")

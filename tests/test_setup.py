"""scripts/setup.sh: what it says before it installs, and which build of torch it installs, with pip
itself and an index of this test."""

import os
import shutil
import subprocess
import sys
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "setup.sh"

#: The Python of .venv: its pip installs torch into a folder of the test, and nothing else.
PYTHON = """#!/bin/sh
case "$*" in
    *" --editable "*) echo "$*" >> {folder}/editable ;;
    "-m pip install "*) shift 3; exec {python} -m pip install --target {folder}/installed "$@" ;;
    "-m pip --version") ;;
    "-m find_libpython") echo found ;;
    *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""


def wheel(folder, version):
    """Write a torch without a file in it; its name."""
    name, info = f"torch-{version}-py3-none-any.whl", f"torch-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        header = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        archive.writestr(f"{info}/METADATA", header + "Requires-Dist: not-asked-for\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return name


@pytest.fixture
def index(tmp_path):
    """A package index: the files of ``/torch/``, 503 where there are none; ``asked``: its paths."""
    folder = tmp_path / "index"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = unquote(self.path)
            server.asked.append(asked)
            path = folder / Path(asked).name
            page = "".join(f'<a href="{file.name}">{file.name}</a>' for file in folder.glob("*"))
            self.send_response(200 if page else 503)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(path.read_bytes() if path.is_file() else page.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked, server.folder = [], folder
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def setup(tmp_path, index):
    """``setup(extras, system, **environment)``: ``(installed, asked, what it said)``."""
    for name in ("scripts", "programs", ".venv", ".venv/bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "scripts" / "setup.sh").write_text(SCRIPT.read_text())
    (tmp_path / "constraints.txt").write_text("torch==9.1\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(folder=tmp_path, python=sys.executable))
    python.chmod(0o755)

    def run(extras, system="Linux", **environment):
        uname = tmp_path / "programs" / "uname"
        uname.write_text(f"#!/bin/sh\necho {system}\n")
        uname.chmod(0o755)
        ours = {n: value for n, value in os.environ.items() if not n.upper().startswith("PIP_")}
        ours |= {"PIP_CONFIG_FILE": os.devnull, "NO_PROXY": "*", "TORCH_INDEX": index.url}
        ours |= {"PIP_INDEX_URL": f"{index.url}/all"}
        ours |= {"PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}", "PYTHON": sys.executable}
        result = subprocess.run(
            ["sh", tmp_path / "scripts" / "setup.sh", extras],
            env=ours | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 0, result.stderr
        (line,) = (tmp_path / "editable").read_text().splitlines()
        assert line.endswith(f"--constraint constraints.txt --editable .[{extras}]")
        installed = sorted(path.name for path in (tmp_path / "installed").glob("*.dist-info"))
        return installed, index.asked, result.stderr

    return run


CPU = ["torch-9.1+cpu.dist-info"]


def test_torch_alone_is_from_the_index_of_cpu_builds(index, setup):
    """The version of constraints.txt; what it needs comes with everything else."""
    wheel(index.folder, "9.2+cpu")
    name = wheel(index.folder, "9.1+cpu")
    assert setup("dev,torch") == (CPU, ["/torch/", f"/torch/{name}"], "")


def test_the_cpu_build_comes_before_a_build_of_the_same_version(index, setup):
    wheel(index.folder, "9.1")
    wheel(index.folder, "9.1+cpu")
    assert setup("dev,torch")[0] == CPU


def test_an_index_out_of_reach_is_asked_once(index, setup):
    installed, asked, said = setup("dev,torch,peers")
    assert (installed, asked) == ([], ["/torch/"])
    assert f"setup: no CPU build of torch at {index.url}, going on with pip's own index" in said


def test_a_folder_that_pip_looks_through_does_as_well(index, setup, tmp_path):
    wheel(tmp_path / "wheels", "9.1+cpu")
    installed, asked, said = setup("dev,torch", PIP_FIND_LINKS=str(tmp_path / "wheels"))
    assert (installed, asked) == (CPU, ["/torch/"]) and "no CPU build" not in said


@pytest.mark.parametrize("extras, system", [("dev", "Linux"), ("dev,torch", "Darwin")])
def test_who_needs_no_cpu_index_asks_none(index, setup, extras, system):
    wheel(index.folder, "9.1+cpu")
    assert setup(extras, system) == ([], [], "")


#: programs of a machine that lacks two packages; those of its packages say what they are told
MACHINE = {
    "apt-get": '#!/bin/sh\necho "apt-get $*" >&3\n',
    "sudo": '#!/bin/sh\nshift\nexec "$@"\n',
    "id": "#!/bin/sh\necho {user}\n",
    "perl": "#!/bin/sh\n",
    "tclsh": "#!/bin/sh\n",
    "uname": "#!/bin/sh\necho Linux\n",
}
SYSTEM = ("sh", "dirname", "env", "true")


@pytest.mark.parametrize(
    "user, root, sudo", [(0, "", "0"), (1000, "sudo -n ", "1"), (1000, None, "")]
)
def test_all_is_said_before_anything_is_installed(tmp_path, user, root, sudo):
    """host 26: packages of the whole machine were installed unasked where sudo asks no password."""
    for name in ("scripts", "programs", ".venv", ".venv/bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "scripts" / "setup.sh").write_text(SCRIPT.read_text())
    python = '#!/bin/sh\necho "python $*" >&3\ncase $* in *find_libpython*) echo found;; esac\n'
    programs = {name: text.format(user=user) for name, text in MACHINE.items()}
    for path, text in {
        ".venv/bin/python": python,
        **{f"programs/{n}": programs[n] for n in programs},
    }.items():
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    for name in SYSTEM:
        (tmp_path / "programs" / name).symlink_to(shutil.which(name))
    result = subprocess.run(
        ["sh", "-c", "exec 3>&1; sh scripts/setup.sh dev"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "programs"), "PYTHON": sys.executable, "SUDO": sudo},
        capture_output=True,
        text=True,
        timeout=60,
    )
    if root is None:
        said = "setup: these must be installed: sudo apt-get install iverilog g++ (SUDO=1 does it"
        assert result.returncode == 3 and result.stderr.startswith(said)
        assert "apt-get" not in result.stdout
        return
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    begun = next(i for i, line in enumerate(lines) if not line.startswith("setup: "))
    said = "\n".join(lines[:begun])
    assert f"setup: will install for the whole machine: {root}apt-get install iverilog g++" in said
    assert "setup: will install into .venv, with Python 3." in said and "rlfabric[dev]" in said
    done = [line for line in lines[begun:] if line.startswith("apt-get ")]
    assert done[0] == "apt-get -qq update" and done[1].endswith(
        "--no-install-recommends iverilog g++"
    )
    assert any(line.endswith("--editable .[dev]") for line in lines[begun:])

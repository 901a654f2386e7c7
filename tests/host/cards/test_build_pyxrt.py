"""scripts/build_pyxrt.sh with a stand-in for XRT, compiler and pip: what it compiles, and where."""

import hashlib
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: a Python whose platlib is a folder of the test, and whose pip installs nothing
PYTHON = """#!/bin/sh
case "$*" in
    *"pip install"*) echo "$@" > {pip}; cat "${{12}}" >> {pip} ;;
    *platlib*) echo {site} ;;
    *) exec {python} "$@" ;;
esac
"""
#: a compiler that keeps its arguments, and says which headers the source includes
COMPILER = """#!/bin/sh
case "$*" in *" -M "*) cat {headers}; exit ;; esac
printf '%s\\n' "$@" > {log}
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""

#: what a compiler prints where all but pybind11 is there
HEADERS = """\
pyxrt.o: pyxrt.cpp /usr/include/uuid/uuid.h \\
 /usr/include/boost/any.hpp pybind11/pybind11.h
"""


@pytest.fixture
def build(tmp_path):
    """``build(*arguments)`` runs the script; its files are below ``tmp_path``."""
    (tmp_path / "site").mkdir()
    for folder, name in (("include/xrt", "xrt_device.h"), ("lib", "libxrt_coreutil.so")):
        (tmp_path / "xrt" / folder).mkdir(parents=True)
        (tmp_path / "xrt" / folder / name).write_text("")
    (tmp_path / "pyxrt.cpp").write_text("")
    (tmp_path / "headers").write_text(HEADERS)
    values = dict(
        headers=tmp_path / "headers",
        site=tmp_path / "site",
        python=sys.executable,
        log=tmp_path / "log",
        pip=tmp_path / "pip",
    )
    for name, text in (("python", PYTHON), ("c++", COMPILER)):
        (tmp_path / name).write_text(text.format(**values))
        (tmp_path / name).chmod(0o755)

    def run(*arguments, script=ROOT / "scripts" / "build_pyxrt.sh"):
        variables = dict(XILINX_XRT=tmp_path / "xrt", CXX=tmp_path / "c++")
        variables |= dict(PYTHON=tmp_path / "python", PATH=f"{tmp_path}:/usr/bin:/bin")
        return subprocess.run(
            ["sh", script, *arguments],
            env={name: str(value) for name, value in variables.items()},
            capture_output=True,
            text=True,
        )

    return run


def test_builds_for_this_python(build, tmp_path):
    result = build(tmp_path / "pyxrt.cpp")
    file = tmp_path / "site" / f"pyxrt{sysconfig.get_config_var('EXT_SUFFIX')}"
    assert (result.returncode, result.stdout) == (0, f"build_pyxrt: {file}\n"), result.stderr
    assert file.read_text() == "built\n"
    given = (tmp_path / "log").read_text().split()
    assert f"-I{sysconfig.get_path('include')}" in given and f"-I{tmp_path}/xrt/include" in given
    assert given.index("-lxrt_coreutil") > given.index(str(tmp_path / "pyxrt.cpp"))
    assert f"-L{tmp_path}/xrt/lib" in given and "-std=c++17" in given


#: a download that always brings the same file
CURL = '#!/bin/sh\necho fetched > "$3"\necho "$4" > {log}\n'


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_downloaded_is_known(build, tmp_path, whole):
    """host 27: a file by the name of a branch, whatever is in it, was compiled and run."""
    text = (ROOT / "scripts" / "build_pyxrt.sh").read_text()
    commit, digest = re.search("^2022.2 ([0-9a-f]{40}) ([0-9a-f]{64})$", text, re.M).groups()
    (tmp_path / "scripts").mkdir()
    script, own = tmp_path / "scripts" / "build.sh", hashlib.sha256(b"fetched\n").hexdigest()
    script.write_text(text.replace(digest, own) if whole else text)
    (tmp_path / "curl").write_text(CURL.format(log=tmp_path / "url"))
    (tmp_path / "curl").chmod(0o755)
    result = build("2022.2", script=script)
    assert f"/Xilinx/XRT/{commit}/src/python/" in (tmp_path / "url").read_text()
    if whole:
        assert result.returncode == 0, result.stderr
        asked = (tmp_path / "pip").read_text()
        assert "--require-hashes" in asked and re.search(
            r"^pybind11==[\d.]+ --hash=sha256:", asked, re.M
        )
    else:
        assert result.returncode == 3 and not list((tmp_path / "site").iterdir())
        assert f"must have the SHA-256 {digest}, not {own}" in result.stderr


def test_an_unknown_release_is_refused(build):
    result = build("2022.3")
    assert result.returncode == 3
    assert "RELEASE must be one of 2021.2 2022.1 2022.2 " in result.stderr


@pytest.mark.parametrize(
    "missing, words",
    [
        ("xrt/include/xrt/xrt_device.h", "XRT must be installed, with .*xrt_device.h"),
        ("xrt/lib/libxrt_coreutil.so", "libxrt_coreutil.so must be there"),
        ("python", "python must be there: make setup"),
        (None, "RELEASE or FILE must be given"),
    ],
)
def test_what_is_missing_is_said(build, tmp_path, missing, words):
    if missing:
        (tmp_path / missing).unlink()
    result = build(*([tmp_path / "pyxrt.cpp"] if missing else []))
    assert result.returncode == 3 and not list((tmp_path / "site").iterdir())
    assert re.search(words, result.stderr), result.stderr


@pytest.mark.parametrize("header", ["boost/any.hpp", "boost/format.hpp", "uuid/uuid.h"])
@pytest.mark.parametrize("end", ["\n", " \\\n pybind11/stl.h\n"])
def test_a_header_of_another_package_is_named(build, tmp_path, header, end):
    """XRT's headers of 2021.2, and from 2024.1 on, include Boost's, which its packages do not ask
    for: named before pybind11 is fetched."""
    (tmp_path / "headers").write_text(HEADERS.rstrip() + f" {header}{end}")
    (tmp_path / "python").write_text("#!/bin/sh\nexit 9\n")
    result = build(tmp_path / "pyxrt.cpp")
    assert result.returncode == 3 and not list((tmp_path / "site").iterdir())
    assert re.search(f"{header} must be there .libboost-dev, uuid-dev", result.stderr)

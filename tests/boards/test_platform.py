"""The platform of an Alveo board: the board's, the user's, or not installed."""

import re
import subprocess

import pytest

import boards
from boards.bitstream import ToolsMissing
from tests.boards.tools import build, calls, install, vitis_tools


def test_platform_of_the_user(tmp_path, tools, monkeypatch):
    tools(**vitis_tools(version="2029.1"))
    shell = tmp_path / "mine" / "shell.xpfm"
    install(shell)
    build(tmp_path, platform=str(shell))
    monkeypatch.chdir(tmp_path)
    build(tmp_path, platform="mine/shell.xpfm", target="hw_emu")
    links = [line for line in calls(tmp_path) if "--link" in line]
    assert len(links) == 2 and all(f"--platform {shell} " in line for line in links)


@pytest.mark.parametrize("place", ["repository", "its folder", "Vitis", "base", "platforminfo"])
def test_where_a_platform_may_be(tmp_path, tools, monkeypatch, place):
    shell = boards.get("u50").platform
    monkeypatch.setenv("PLATFORM_REPO_PATHS", "")
    scripts = vitis_tools()
    if place == "platforminfo":
        shell = "xilinx_u50_mine"
        scripts[place] = f"""echo '   "baseName": "{shell}",'"""
    elif place in ("Vitis", "base"):
        monkeypatch.setenv("XILINX_VITIS", str(tmp_path / "vitis"))
        folder = {"Vitis": "platforms", "base": "base_platforms"}[place]
        install(tmp_path / "vitis" / folder / shell / f"{shell}.xpfm")
    else:
        folder = tmp_path / "platforms" / (shell if place == "its folder" else "other")
        install(folder / f"{shell}.xpfm")
        monkeypatch.setenv("PLATFORM_REPO_PATHS", f"{folder}:/none")
    tools(**scripts)
    assert build(tmp_path, "u50", platform=shell if place == "platforminfo" else None).clocks


@pytest.mark.parametrize(
    "platform, listed",
    [(None, ""), ("xilinx_u50_mine", '"xilinx_u50_mine_too"'), ("/none/shell.xpfm", '"shell"')],
)
@pytest.mark.parametrize("known", [True, False], ids=["platforminfo", "without"])
def test_a_platform_that_is_not_installed(tmp_path, tools, monkeypatch, platform, listed, known):
    """Said before anything is packed, by name, with the package that has the board's own."""
    monkeypatch.setenv("PLATFORM_REPO_PATHS", str(tmp_path / "bin"))
    tools(**vitis_tools(), **({"platforminfo": f"echo '{listed}'"} if known else {}))
    name = re.escape(platform or boards.get("u50").platform)
    message = (
        f"^PLATFORM must be installed, not missing: {name}; xilinx_u50_.*_1 is in the package "
        r"xilinx-u50-gen3x16-xdma-5-202210-1-dev \(AMD's page of the Alveo U50, .*; "
        "PLATFORM_REPO_PATHS names places of other platforms; all its inputs are written"
    )
    with pytest.raises(ToolsMissing, match=message):
        build(tmp_path, "u50", platform=platform)
    (tmp_path / "calls").touch()
    assert {line.split()[0] for line in calls(tmp_path)} <= {"v++", "platforminfo"}
    # As who runs make in the folder sees it.
    result = subprocess.run(
        ["make", *([f"PLATFORM={platform}"] if platform else [])],
        cwd=tmp_path / "kernel", capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode and re.search("PLATFORM must be installed.*" + name, result.stderr)
    assert not any("--link" in line or "vivado" in line for line in calls(tmp_path))

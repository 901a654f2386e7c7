"""The calls that every board answers, and the tools of Alveo and Zynq boards, each a stand-in."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import boards
from boards import bitstream
from boards.bitstream import AchievedClock, BuildFailed, ToolsMissing, WrongVersion
from boards.xilinx import vitis, vivado
from hw.designs import DESIGNS
from tests.boards.tools import build, calls, vitis_tools
from tests.boards.vendor import described


def test_alveo_is_packed_linked_and_packaged(tmp_path, tools):
    tools(**vitis_tools(mhz="287"))
    made = build(tmp_path)
    assert made.bitstream == tmp_path / "kernel" / "replay.xclbin" and made.bitstream.exists()
    assert made.clocks == (AchievedClock(name="DATA_CLK", asked_mhz=300, mhz=287),)
    assert str(made.clocks[0]) == "clock DATA_CLK: 287 MHz of 300 asked for"
    version, pack, link, package, info = calls(tmp_path)
    assert (version, pack) == (
        "v++ --version",
        "vivado -mode batch -nojournal -log package.log -source package.tcl",
    )
    platform = boards.get("u200").platform
    assert f"--link --target hw --platform {platform}" in link
    assert link.endswith("replay.xo") and "--config link.cfg --kernel_frequency 300" in link
    assert f"--package --target hw --platform {platform}" in package
    linked = re.search(r"--output (\S+)", link)[1]
    assert package.endswith(linked) and info.startswith("xclbinutil --info --input")


def test_alveo_is_not_made_twice(tmp_path, tools):
    tools(**vitis_tools())
    build(tmp_path)
    before = len(calls(tmp_path))
    # Nothing has changed: as the command line does, files are written only where they have.
    description = described("replay", "u200")
    bitstream.build(tmp_path / "kernel", description, boards.get("u200"))
    assert [line.split()[0] for line in calls(tmp_path)[before:]] == ["v++", "xclbinutil"]


# user D1
@pytest.mark.parametrize("file", ["replay.v", "manifest.json"])
def test_alveo_is_not_linked_of_two_kernels(tmp_path, tools, file):
    """A folder into which another kernel's Verilog came, by itself or with its manifest."""
    tools(**vitis_tools())
    build(tmp_path)
    folder, before = tmp_path / "kernel", len(calls(tmp_path))
    path, known = folder / file, described("replay", "u200").config_hash
    path.write_text(path.read_text().replace(f"{known:#018x}", "0x1") or "// another\n")
    with pytest.raises(BuildFailed, match=f"replay.v must be the one .* hash {known:#018x},"):
        bitstream.build(folder, described("replay", "u200"), boards.get("u200"))
    assert [line.split()[:2] for line in calls(tmp_path)[before:]] == [["v++", "--version"]]


def test_emulation_has_its_config_and_no_clock(tmp_path, tools):
    scripts = vitis_tools()
    tools(**{**scripts, "xclbinutil": "echo No scalable clock data available."})
    made = build(tmp_path, target="hw_emu")
    assert made.clocks == () and made.bitstream.exists()
    assert (tmp_path / "kernel" / "emconfig.json").read_text() == "config\n"
    assert any("--link --target hw_emu" in line for line in calls(tmp_path))


@pytest.mark.parametrize("missing", ["vpp", "vivado", "xclbinutil"])
def test_missing_tool_of_alveo(tmp_path, tools, missing):
    scripts = vitis_tools()
    scripts.pop(missing)
    tools(**scripts)
    name = re.escape(missing.replace("vpp", "v++"))
    with pytest.raises(ToolsMissing, match=f"^{name} must be on PATH, not missing; all its inputs"):
        build(tmp_path)
    assert not (tmp_path / "calls").exists()


def test_emulation_needs_one_more(tmp_path, tools):
    scripts = vitis_tools()
    scripts.pop("emconfigutil")
    tools(**scripts)
    build(tmp_path)
    with pytest.raises(ToolsMissing, match="^emconfigutil must be on PATH"):
        build(tmp_path, target="hw_emu")


@pytest.mark.parametrize(
    "board, version, fits",
    [
        ("u200", "2021.1", False), ("u200", "2021.2", True), ("u200", "2025.1.1", True),
        ("u200", "2025.2", False), ("u50", "2021.2", False), ("u50", "2026.1", True),
        ("u50", "2030.2", True),
    ],
)  # fmt: skip
def test_releases_of_vitis(tmp_path, tools, board, version, fits):
    tools(**vitis_tools(version=version))
    if fits:
        assert build(tmp_path, board).clocks
        return
    shell, release = boards.get(board).platform, version[:6]
    message = f"v.. must be of release .*, which know {shell}, not {release}"
    with pytest.raises(WrongVersion, match=message):
        build(tmp_path, board)
    assert calls(tmp_path) == ["v++ --version"]


@pytest.mark.parametrize(
    "script, message",
    [
        ("echo broken", "v.. --version must name a release, not print 'broken'"),
        ('[ "$1" = --version ] && echo v2022.2 || (echo no licence; exit 4)', "no licence"),
    ],
)
def test_what_vitis_says_is_passed_on(tmp_path, tools, script, message):
    tools(**{**vitis_tools(), "vpp": script})
    with pytest.raises(BuildFailed, match=message):
        build(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "Scalable Clocks\n---\n   No scalable clock data available.\n"]
)
def test_no_clock_to_be_read(text):
    with pytest.raises(BuildFailed, match="info.txt must have the scalable clock of type DATA"):
        vitis.achieved(text, 300)


def test_zynq(tmp_path, tools):
    wait = "cat > /dev/null; echo pl_clk0 200 187.498 0.125 > clock.txt; echo made > replay.bit"
    tools(vivado=f'[ "$1" = -version ] && echo "Vivado v2022.1 (64-bit)" && exit 0; {wait}')
    made = build(tmp_path, "zcu106")
    assert made.bitstream == tmp_path / "kernel" / "replay.bit"
    assert made.clocks == (AchievedClock(name="pl_clk0", asked_mhz=200, mhz=187.498),)
    assert calls(tmp_path) == [
        "vivado -version",
        "vivado -mode batch -nojournal -log vivado.log -source build.tcl",
    ]


def test_zynq_too_slow():
    with pytest.raises(
        BuildFailed, match=r"slack of pl_clk0 must be .*, not -1; ask for at most 166"
    ):
        vivado.achieved("pl_clk0 200 200 -1\n")
    with pytest.raises(BuildFailed, match="clock.txt must have a name and three numbers, not 'x'"):
        vivado.achieved("x")


@pytest.mark.parametrize("version, error", [(None, ToolsMissing), ("2019.2", WrongVersion)])
def test_zynq_without_its_tool(tmp_path, tools, version, error):
    if version:
        tools(vivado=f"echo Vivado v{version}")
    with pytest.raises(error, match="^vivado must be o"):
        build(tmp_path, "zcu106")


@pytest.mark.parametrize(
    "board, options, message",
    [
        ("zcu106", {"target": "hw_emu"}, "target must be one of hw on ZCU106, not 'hw_emu'"),
        ("u200", {"target": "x"}, "target must be one of hw, hw_emu on Alveo U200, not 'x'"),
        ("zcu106", {"platform": "x"}, "platform must be none on ZCU106, not 'x'"),
        ("zcu106", {"seed": 2}, "seed must be none on ZCU106, not 2"),
        ("u200", {"seed": 1}, "seed must be none on Alveo U200, not 1"),
    ],
)
def test_options_that_a_board_does_not_know(tmp_path, board, options, message):
    with pytest.raises(ValueError, match=message):
        build(tmp_path, board, **options)


def test_every_board_has_a_builder():
    for board in boards.BOARDS.values():
        builder = bitstream._builder(board)
        assert "hw" in builder.TARGETS and callable(builder.files) and callable(builder.run)


def test_equal_inputs_give_equal_bytes_anywhere(tmp_path):
    """In another process with other hashes, from another place of the code."""
    root = Path(boards.__file__).parent.parent
    for folder in ("boards", "hw"):
        (tmp_path / folder).symlink_to(root / folder)
    script = (
        "import json, sys; sys.path[0] = sys.argv[1]; import boards; from boards import bitstream\n"
        "from hw.shell.description import KernelDescription\n"
        "print(json.dumps([bitstream.files(KernelDescription.from_json(d), boards.get(b))"
        " for d, b in json.load(sys.stdin)]))"
    )
    cases = [
        (described(design, name), boards.get(name))
        for name in ("u200", "u50", "zcu106")
        for design in DESIGNS
    ]
    first = [bitstream.files(description, board) for description, board in cases]
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        input=json.dumps([(description.to_json(), board.name) for description, board in cases]),
        env={**os.environ, "PYTHONHASHSEED": "5"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == first
    for file, text in (pair for files in first for pair in files.items()):
        assert not Path(file).is_absolute() and text.endswith("\n") and "{{" not in text
        assert not re.search(r"(?<![\w.$<])/(home|root|tmp|usr|work)\b", text), file
        assert str(root) not in text


def test_readmes_say_what_is_needed_and_where_it_is_from():
    vitis_text, vivado_text = (
        bitstream.files(described("replay", name), boards.get(name))["README.md"]
        for name in ("u50", "zcu106")
    )
    assert "`xilinx-u50-gen3x16-xdma-5-202210-1-dev` (AMD's page of the Alveo U50" in vitis_text
    # It is this script that sets XILINX_VITIS.
    assert "source VITIS/settings64.sh" in vitis_text and "$XILINX_VITIS" not in vitis_text
    assert "`hw_context=false`" in vitis_text and "xbutil validate -d BDF" in vitis_text
    (needed,) = re.findall(r"^The files that the board needs are (.*):", vivado_text, re.M)
    # Without clock.txt the card cannot hold the board to its clock.
    assert {"`replay.bit`", "`replay.hwh`", "`clock.txt`", "`kernel.json`"} <= set(
        needed.replace(" and ", ", ").replace(": copy", "").split(", ")
    )
    assert "needs PyTorch" not in vivado_text
    gae = bitstream.files(described("gae", "zcu106"), boards.get("zcu106"))["README.md"]
    assert "PPO needs PyTorch" in gae

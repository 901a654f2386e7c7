"""What yosys maps a design to, unit by unit, and the report on it."""

import json
import re
from collections import Counter

import pytest

import boards
from boards.area import Module, SynthesisError, count, modules, packing, synthesize, total
from boards.bitstream import OUTCOME
from boards.memory import banks
from boards.report import lacking, mapped_before, report
from host.explore.resource_report import _largest, _pieces, make, show
from host.kernels import configure
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.estimate import cycles
from hw.shell.axi import EngineConfig
from system.tools import BUILD_DIRECTORY
from tests.boards.vendor import small as small_settings

#: Two units of one kind, a register in each: a parity of 16 bits, and a bit of it in each of 8.
_NESTED = """
module leaf #(parameter WIDTH = 1) (input clk, input [WIDTH-1:0] a, b, output reg [WIDTH-1:0] o);
  always @(posedge clk) o <= (a ^ b) & {WIDTH{^{a, b}}};
endmodule
module top(input clk, input [7:0] a, b, c, output [7:0] o);
  wire [7:0] x;
  leaf #(.WIDTH(8)) first(clk, a, b, x);
  leaf #(.WIDTH(8)) second(clk, x, c, o);
endmodule
"""


@pytest.mark.parametrize("family, part", [("xcup", 40), ("ecp5", 40), ("ecp5", 1)])
def test_modules_are_mapped_once_and_counted(family, part, tmp_path, monkeypatch):
    monkeypatch.setattr("boards.mapping._PART", part)
    found = modules(_NESTED, "top", work=tmp_path, family=family)
    (leaf,) = (name for name in found if name != "top")
    assert found["top"].inside == {leaf: 2} and not found["top"].cells
    assert count(found[leaf].cells)["ff"] == 8
    assert count(total(found, "top"))["ff"] == 16
    # The parity takes two tables or, with multiplexers between, more of four inputs; then a gate.
    assert 2 <= found[leaf].depth <= 6 and found["top"].depth <= 1


#: Registers of each kind that a kernel has: they begin, and are reset, at 0 or 1 or not at all.
_REGISTERS = """
module top(input clk, rst, enable, input [2:0] i, output [5:0] o);
  reg zero = 0, one = 1, data, late_zero = 0, late_one = 1, late_data;
  assign o = {zero, one, data, late_zero, late_one, late_data};
  always @(posedge clk) begin
    {zero, one, data} <= rst ? {2'b01, i[0]} : i;
    if (enable) {late_zero, late_one, late_data} <= i;
    if (rst) {late_zero, late_one} <= 2'b01;
  end
endmodule
"""


@pytest.mark.parametrize("family", ["xcup", "ecp5"])
def test_every_kind_of_register_is_counted(family, tmp_path):
    assert synthesize(_REGISTERS, "top", work=tmp_path, family=family)["ff"] == 6


def test_rejects(tmp_path):
    with pytest.raises(ValueError, match="family must be one of xcup, xcup_dsp, ecp5, not 'ice40'"):
        synthesize(_NESTED, "top", work=tmp_path, family="ice40")
    with pytest.raises(SynthesisError, match="yosys must accept top"):
        synthesize("module top(; endmodule", "top", work=tmp_path)


@pytest.fixture(scope="module")
def small():
    """Of the kernel that yosys maps in the least time, half a minute: what asks for it is long."""
    gae = GaeConfig(rows=1, depth=4, code_width=8, result_width=8, lookahead=1)
    config = GaeKernelConfig(gae=gae, engine=EngineConfig(data_width=128, burst_beats=16))
    return report("gae", boards.get("zcu106"), config, work=BUILD_DIRECTORY / "area")


@pytest.mark.long
def test_units_add_up(small):
    units = {row["unit"]: row for row in small["units"]}
    assert {"gae", "gae.core", "gae.core.estimator", "gae.control"} <= set(units)
    for name in RESOURCES:
        shared = 32 if name == "uram" else 0  # the memory on chip, behind the master
        assert units["gae"][name] + shared == small["mapped"][name]
        parts = sum(row[name] for key, row in units.items() if key.count(".") == 1)
        assert parts <= small["mapped"][name]
    assert units["gae.core"]["lut"] > units["gae.core.estimator"]["lut"] > 0
    assert 0 < units["gae.core.estimator"]["depth"] < 60


@pytest.mark.long
def test_shares_are_of_the_part(small):
    board = boards.get("zcu106")
    assert small["total"]["lut"] == board.total.lut == 230_400
    assert small["share"]["lut"] == round(100 * small["mapped"]["lut"] / 230_400, 1)
    assert [part["lut"] for part in small["regions"]] == [part.lut for part in board.regions]
    assert small["memory"][0]["master"] == "m_axi_host"
    assert small["routed_mhz"] is None and small["lacks"] == []
    json.dumps(small)


@pytest.fixture
def mapped(monkeypatch):
    """What yosys was asked to map, where nothing is mapped; each module is of one table, the
    memories behind masters of two blocks."""
    asked = {}

    def modules(verilog, top, *, family, progress, **_):
        asked.update(top=top, verilog=verilog, family=family)
        progress("yosys: a pass")
        one = Counter({"LUT4": 1})
        inside = {
            "system": {"kernel": 1, "bank_0": 1, "bank_1": 1, "bridge": 1},
            "kernel": {"core": 1}, "core": {"pe_0": 1, "pe_1": 1, "pe_2": 1, "tail_0$12": 1},
        }  # fmt: skip
        path = {"system": "system", "kernel": "system.kernel" if top == "system" else top}
        found = {}
        for name, parts in inside.items():
            here = path.get(name, f"{path['kernel']}.core")
            within = {f"{here}.{part}": number for part, number in parts.items()}
            if name == "core":
                within["$paramod$12\\rlfabric_ram"] = 1
            found[here] = Module(one, Counter(within), 1)
            for part in within:
                cells = Counter({"DP16KD": 160}) if "bank" in part else one
                found.setdefault(part, Module(cells, Counter(), 1))
        found[f"{path['kernel']}.core.pe_2"] = Module(Counter({"LUT4": 2}), Counter(), 1)
        return found

    monkeypatch.setattr("boards.report.modules", modules)
    return asked


def reported(name, board, **options):
    board = boards.get(board)
    config = configure(DESIGNS[name], board, small_settings(name))
    return DESIGNS[name].describe(config), report(name, board, config, work=None, **options)


def test_what_stands_behind_the_masters_is_counted(mapped):
    """On the ULX3S block RAM and serial bridge, which are in what is mapped."""
    said = []
    _, result = reported("replay", "ulx3s", progress=said.append)
    assert mapped["top"] == "system" and "module system(" in mapped["verilog"]
    assert result["mapped"]["bram36"] == 160 and result["kernel"]["bram36"] == 0
    assert result["lacks"] == ["bram36 must be at most 104 on ULX3S-85F, not 160.0: 56.0 too many"]
    assert said == ["writing Verilog", "yosys: a pass"]
    units, core = {row["unit"]: row for row in result["units"]}, "system.kernel.core"
    # Units that are alike are one; memories are none.
    assert units[f"{core}.pe_*"]["count"] == units[f"{core}.pe_*"]["lut"] == 2
    assert units[f"{core}.pe_2"]["lut"] == 2 and units[f"{core}.tail_0"]["count"] == 1
    assert not any("param" in unit for unit in units)


@pytest.mark.parametrize("name, family", [("fixar", "xcup_dsp"), ("gae", "xcup")])
def test_what_is_made_for_dsp_blocks_is_packed_into_them(mapped, monkeypatch, name, family):
    board, design = boards.get("u50"), DESIGNS[name]
    monkeypatch.setattr("boards.report.whole", lambda *_: ("", name))
    result = report(name, board, design.default(board.numbers), work=None)
    assert mapped["family"] == result["family"] == family
    assert packing("ecp5", design.packed) == "ecp5"


def test_clocks_of_a_design_are_shown(mapped, tmp_path, capsys):
    _, result = reported("gae", "zcu106")
    config = configure(DESIGNS["gae"], boards.get("zcu106"), small_settings("gae"))
    clocks = cycles(config)
    assert result["clocks"] == {"ESTIMATE of a full stack": clocks} and clocks > 0
    show(result, "zcu106", tmp_path)
    assert f"ESTIMATE of a full stack: {clocks} clocks by formula\n" in capsys.readouterr().out


def test_memory_on_chip_is_counted(mapped):
    """On the ZCU106 a megabyte in blocks of 32 KB, where the kernel has its buffers there."""
    description, result = reported("gae", "zcu106")
    assert banks(description, boards.get("zcu106"))[0].kind == "UltraRAM"
    assert result["mapped"]["uram"] == 32 and result["kernel"]["uram"] == 0


def test_the_area_of_this_kernel_is_found_again(tmp_path):
    description = DESIGNS["replay"].describe(DESIGNS["replay"].default(boards.get("u50").numbers))
    assert mapped_before(tmp_path, description) is None
    found = {"config_hash": f"{description.config_hash:#018x}", "kernel": {"lut": 5}}
    (tmp_path / "report.json").write_text(json.dumps(found))
    assert mapped_before(tmp_path, description) == {"lut": 5}
    (tmp_path / "report.json").write_text(json.dumps({**found, "config_hash": "0x1"}))
    assert mapped_before(tmp_path, description) is None


def unit(path, lut):
    return {"unit": path, "lut": lut, "ff": 0, "bram36": 0, "uram": 0, "dsp": 0}


def test_pieces_of_the_picture_add_up():
    paths = ["system", "system.kernel", "system.kernel.core", "system.kernel.core.tree",
             "system.kernel.core.tree.leaf", "system.kernel.control", "system.bridge"]  # fmt: skip
    pieces = _pieces([unit(path, k) for k, path in enumerate(paths)])
    assert [(row["unit"], row["lut"]) for row in pieces] == [
        ("tree", 3), ("control", 5), ("bridge", 6)
    ]  # fmt: skip


def test_no_more_pieces_than_colours():
    pieces = [unit(f"u{k}", k) for k in range(25)]
    total = {name: 100 for name in RESOURCES}
    assert _largest(pieces[:19], total, ["lut"])[-1]["unit"] == "u0"
    largest = _largest(pieces, total, ["lut"])
    assert [row["unit"] for row in largest[:2]] == ["u24", "u23"] and len(largest) == 20
    assert largest[-1] == {**unit("6 others", sum(range(6)))}


def test_what_is_lacking_is_named():
    board = boards.get("u50")
    need = {"lut": board.total.lut + 5, "ff": 0, "bram36": 0, "uram": 0, "dsp": 0}
    (line,) = lacking(board, need)
    assert line == f"lut must be at most 871680 on {board.title}, not 871685: 5 too many"


def test_a_design_that_does_not_fit_starts_no_tool(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "host.explore.resource_report.report", lambda *a, **k: pytest.fail("synthesis was started")
    )
    with pytest.raises(boards.DoesNotFit, match="uram must be at most"):
        make("replay", "zcu106", tmp_path, capacity=1 << 20)


@pytest.mark.long
def test_files_and_table(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        "host.explore.resource_report.report",
        lambda *a, routed, **k: {**small, "routed_mhz": routed},
    )
    folder = tmp_path / "zcu106" / "gae"
    folder.mkdir(parents=True)
    config = DESIGNS["gae"].default(boards.get("zcu106").numbers)
    known = DESIGNS["gae"].describe(config).config_hash
    outcome = {"config_hash": known, "clocks_mhz": {"kernel": 91.5}}
    (folder / OUTCOME).write_text(json.dumps(outcome))
    result = make("gae", "zcu106", tmp_path)
    assert json.loads((folder / "report.json").read_text()) == result
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")
    assert result["routed_mhz"] == {"kernel": 91.5}
    show(result, "zcu106", folder)
    printed = capsys.readouterr().out
    # A unit is whole, below what it is in.
    assert re.search(r"^│ gae +│.*\n(│ +│.*\n)?│   control +│", printed, re.M)
    assert re.search(r"^│     estimator +│", printed, re.M) and "91.5 MHz routed" in printed
    # Of another kernel: not this one's.
    (folder / OUTCOME).write_text(json.dumps({**outcome, "config_hash": 1}))
    assert make("gae", "zcu106", tmp_path)["routed_mhz"] is None

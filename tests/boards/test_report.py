"""What yosys maps a design to, unit by unit, and the report on it."""

import json

import pytest

import boards
from boards.area import SynthesisError, count, modules, synthesize, total
from boards.bitstream import OUTCOME
from boards.report import RESOURCES, lacking, report
from host.report import make, show
from hw.designs import DESIGNS
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from sim.tools import BUILD_DIRECTORY

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


@pytest.mark.parametrize("family", ["xcup", "ecp5"])
def test_modules_are_mapped_once_and_counted(family, tmp_path):
    found = modules(_NESTED, "top", work=tmp_path, family=family)
    (leaf,) = (name for name in found if name != "top")
    assert found["top"].inside == {leaf: 2} and not found["top"].cells
    assert count(found[leaf].cells)["ff"] == 8
    assert count(total(found, "top"))["ff"] == 16
    # The parity takes two tables or, with multiplexers between, more of four inputs; then a gate.
    assert 2 <= found[leaf].depth <= 6 and found["top"].depth <= 1


def test_rejects(tmp_path):
    with pytest.raises(ValueError, match="family must be one of xcup, xcup_dsp, ecp5, not 'ice40'"):
        synthesize(_NESTED, "top", work=tmp_path, family="ice40")
    with pytest.raises(SynthesisError, match="yosys must accept top"):
        synthesize("module top(; endmodule", "top", work=tmp_path)


@pytest.fixture(scope="module")
def small():
    board = boards.get("zcu106")
    config = ReplayKernelConfig(replay=ReplayConfig(capacity=64, fanout=4))
    return report("replay", board, config, work=BUILD_DIRECTORY / "area")


def test_units_add_up(small):
    units = {row["unit"]: row for row in small["units"]}
    assert {"replay", "replay.core", "replay.core.manager", "replay.control"} <= set(units)
    for name in RESOURCES:
        assert units["replay"][name] == small["mapped"][name]
        parts = sum(row[name] for key, row in units.items() if key.count(".") == 1)
        assert parts <= small["mapped"][name]
    assert units["replay.core"]["lut"] > units["replay.core.manager"]["lut"] > 0
    assert 0 < units["replay.core.manager"]["depth"] < 60


def test_shares_are_of_the_part(small):
    board = boards.get("zcu106")
    assert small["total"]["lut"] == board.total.lut == 230_400
    assert small["share"]["lut"] == round(100 * small["mapped"]["lut"] / 230_400, 1)
    assert [part["lut"] for part in small["regions"]] == [part.lut for part in board.regions]
    assert small["memory"][0]["master"] == "m_axi_host"
    assert small["routed_mhz"] is None and small["lacks"] == []
    json.dumps(small)


def test_what_is_lacking_is_named():
    board = boards.get("u50")
    need = {"lut": board.total.lut + 5, "ff": 0, "bram36": 0, "uram": 0, "dsp": 0}
    (line,) = lacking(board, need)
    assert line == f"lut must be at most 871680 on {board.title}, not 871685: 5 too many"


def test_a_design_that_does_not_fit_starts_no_tool(tmp_path, monkeypatch):
    monkeypatch.setattr("host.report.report", lambda *a, **k: pytest.fail("synthesis was started"))
    with pytest.raises(boards.DoesNotFit, match="uram must be at most"):
        make("replay", "zcu106", tmp_path, capacity=1 << 20)


def test_files_and_table(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        "host.report.report", lambda *a, routed, **k: {**small, "routed_mhz": routed}
    )
    folder = tmp_path / "zcu106" / "replay"
    folder.mkdir(parents=True)
    config = DESIGNS["replay"].default(boards.get("zcu106").numbers)
    known = DESIGNS["replay"].describe(config).config_hash
    outcome = {"config_hash": known, "clocks_mhz": {"kernel": 91.5}}
    (folder / OUTCOME).write_text(json.dumps(outcome))
    result = make("replay", "zcu106", tmp_path)
    assert json.loads((folder / "report.json").read_text()) == result
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")
    assert result["routed_mhz"] == {"kernel": 91.5}
    show(result, "zcu106", folder)
    printed = capsys.readouterr().out
    assert "replay.core" in printed and "91.5 MHz routed" in printed
    # Of another kernel: not this one's.
    (folder / OUTCOME).write_text(json.dumps({**outcome, "config_hash": 1}))
    assert make("replay", "zcu106", tmp_path)["routed_mhz"] is None

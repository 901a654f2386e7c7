"""The measure of depth on circuits of which it is known."""

import pytest

from boards import depth
from boards.depth import depths
from boards.paths import Logic, longest
from hw.errors import Failure
from hw.stream.ready_register import ReadyRegister
from hw.verilog import to_verilog

#: name -> (text, levels with carry chains, levels of LUT6)
CIRCUITS = {
    "adder": (
        "input [63:0] a, b, output reg [63:0] o); reg [63:0] x, y;"
        "always @(posedge clk) begin x <= a; y <= b; o <= x + y; end",
        3,
        None,
    ),
    "narrow": ("input [15:0] a, b, output [15:0] o); assign o = a + b;", 1.5, None),
    # The sum's last bit decides: a lookup table behind the chain.
    "late": ("input [31:0] a, b, input c, d, output o); wire [32:0] s = a + b;"
             "assign o = (s[32] ^ c) & d;", 2 + 33 / 32, None),
    "mux": ("input [63:0] i, input [5:0] s, output o); assign o = i[s];", None, 3),
    "and": ("input [15:0] i, output reg o); always @(posedge clk) o <= &i;", 2, 2),
    "wire": ("input i, output o); assign o = i;", 0, 0),
    # Seven inputs are two lookup tables and a MUXF7.
    "seven": ("input [6:0] i, output o); assign o = i[6] ? ^i[5:0] : &i[5:0];", 1, 2),
    "multiplier": (
        "input signed [17:0] a, b, input [5:0] c, output reg [35:0] o);"
        "always @(posedge clk) o <= $signed(a & {18{&c}}) * b;",
        1,
        2,
    ),
    # The memory's read address, and its word, are ends.
    "ram": (
        "input [2:0] a, b, input [7:0] w, output o); wire [7:0] d;"
        "rlfabric_ram #(.WIDTH(8), .DEPTH(8), .ADDRESS_WIDTH(3)) ram (.clk(clk),"
        ".write_enable(a[0]), .write_address(b), .write_data(w), .read_enable(1'b1),"
        ".read_address(a ^ b), .read_data(d)); assign o = ^d[5:0];",
        1,
        1,
    ),
    # A read without a clock is a lookup table, with another behind it.
    "queue": (
        "input [3:0] a, input [7:0] w, output o); reg [7:0] m [0:15]; reg [3:0] p, c;"
        "always @(posedge clk) begin m[p] <= w; p <= p + 1; c <= c + a; end "
        "wire [7:0] d = m[c]; assign o = ^d[5:0];",
        2,
        2,
    ),
    # yosys finds initial values in conflict: the lower bits never change.
    "constant": (
        "input [3:0] a, output reg [7:0] o); reg [7:0] x = 8'd3; initial o = 8'd2;"
        "always @(posedge clk) begin x <= {a, 4'd0}; o <= x & 8'hf0; end",
        None,
        None,
    ),
    # Registers whose enables and resets differ read parts of one lookup table.
    "enables": (
        "input a, b, c, d, e, output reg [2:0] o); wire x = a & b, y = x ^ c, z = y | d;"
        "always @(posedge clk) begin if (x) o[0] <= ~x; if (e) o[1] <= y;"
        "if (b) o[2] <= 0; else if (d) o[2] <= z; end",
        1,
        1,
    ),
    "part": ("input [1:0] i, output [1:0] o); assign o = {i[0], &i};", 1, 1),
    # Through a lookup table of each part, and one between; a part passes its bit 0 as it is.
    "parts": (
        "input a, b, output [1:0] o); wire [1:0] x; part one (.clk(clk), .i({b, a}), .o(x));"
        "part two (.clk(clk), .i({x[1], ^{x[0], a, b}}), .o(o));",
        3,
        3,
    ),
    # A part's own path is its own.
    "around": ("input [15:0] i, output o); \\and  part (.clk(clk), .i(i), .o(o));", 2, 2),
    "beside": ("input i, output reg o); wire x; inside part (.clk(clk), .i(i), .o(x));"
               "always @(posedge clk) o <= ~x;", 1, 1),
    "inside": ("input i, output reg o); reg [15:0] x; reg y;"
               "always @(posedge clk) begin x <= {x, i}; y <= &x; o <= y; end", 2, 2),
}  # fmt: skip
RAM = "module rlfabric_ram #(parameter WIDTH = 1, DEPTH = 2, ADDRESS_WIDTH = 1) (input clk, "
RAM += "write_enable, read_enable, input [ADDRESS_WIDTH-1:0] read_address, write_address, "
RAM += "input [WIDTH-1:0] write_data, output reg [WIDTH-1:0] read_data);\nendmodule\n"


def module(name):
    head, _, body = CIRCUITS[name][0].partition(");")
    return f"module \\{name}  (input clk, {head});\n{body}\nendmodule\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("depth")


@pytest.fixture(scope="module")
def measured(work):
    return depths(RAM + "".join(map(module, CIRCUITS)), work=work)


@pytest.mark.parametrize("name", CIRCUITS)
def test_depth_is_as_counted_by_hand(measured, name):
    _, carry, lut6 = CIRCUITS[name]
    found = measured[name]
    assert carry is None or found.carry.levels == carry
    assert lut6 is None or found.lut6.levels == lut6


def test_generated_verilog_is_mapped(work):
    """It has the macros of ``to_verilog`` in its blocks ``always @*``."""
    verilog = to_verilog(ReadyRegister(4), name="unit")
    assert "`RLFABRIC_RUN" in verilog
    assert depths(verilog, work=work)["unit"].carry.levels == 1


def test_a_module_that_was_mapped_is_not_mapped_again(measured, work, monkeypatch):
    """It is found by its text, whatever else is there; another name or text is another module."""
    known = len(list(work.glob("*.gz")))
    monkeypatch.setattr(depth, "yosys", lambda *words: pytest.fail("yosys ran"))
    again = depths(RAM + module("part") + module("parts"), work=work)
    assert again == {name: measured[name] for name in ("part", "parts")}
    with pytest.raises(pytest.fail.Exception, match="yosys ran"):
        depths(RAM + module("and").replace("&i", "|i"), work=work)
    assert len(list(work.glob("*.gz"))) == known and not list(work.glob("*.part"))


def netlist(cells, **ports):
    """A module in yosys' JSON: ``cells`` as ``(type, pins)``."""
    return {
        "cells": {
            str(number): {"type": kind, "connections": pins, "parameters": {}}
            for number, (kind, pins) in enumerate(cells)
        },
        "ports": {name: {"direction": way, "bits": bits} for name, (way, bits) in ports.items()},
        "netnames": {},
    }


def test_a_chain_has_a_lookup_table_at_its_entry():
    """Also where no logic is before it: operands pass the lookup tables of the chain's slice."""
    pins = {"S": [2, 3, 4, 5], "DI": ["0"] * 4, "CI": ["0"], "CYINIT": ["0"]}
    chain = netlist(
        [("CARRY4", {**pins, "O": [6, 7, 8, 9], "CO": [10, 11, 12, 13]})],
        i=("input", pins["S"]), o=("output", [6, 7, 8, 9]),
    )  # fmt: skip
    assert longest({"chain": Logic(chain)})["chain"].levels == 1 + 4 / 32


def test_a_loop_through_parts_is_named():
    buffer = netlist([("$lut", {"A": [2], "Y": [3]})], i=("input", [2]), o=("output", [3]))
    pair = [("buffer", {"i": [2], "o": [3]}), ("buffer", {"i": [3], "o": [2]})]
    modules = {"buffer": Logic(buffer), "ring": Logic(netlist(pair))}
    with pytest.raises(Failure, match="^ring must have no combinational loop$"):
        longest(modules)


def test_a_cell_whose_paths_are_not_known_is_named():
    with pytest.raises(KeyError, match=r"cell must be of a known type, not '\$shiftx'"):
        Logic(netlist([("$shiftx", {})]))

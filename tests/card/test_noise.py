"""The simulated card that is not kind: where noise is, that it is the seed's, and where it is not.

# hw_core 6, hw_core 7
"""

import re
from importlib.resources import files

import numpy as np
import pytest
from card.copy_kernel import CopyTwin, generate
from card.copy_session import COMPLETED, Session
from card.memory_shim import BASE, BEAT, MASTERS, Bench

from sim.card.memory import Fault, MemoryConfig
from sim.card.noise import collisions, switched
from sim.model.kernels import KERNELS

#: Lanes of 128 bits of what the kernel writes: two RAMs whose reads meet writes, in every clock; a
#: RAM, a register, that nothing writes.
PEEK = """
  wire [511:0] peek;
  reg [3:0] at = 4'h0;
  reg [127:0] still = 128'h5;
  always @(posedge ap_clk) at <= ap_rst_n ? at + 4'h1 : 4'h0;
  assign peek[511:384] = still;
  rlfabric_ram #(.WIDTH(128), .DEPTH(16), .ADDRESS_WIDTH(4)) meets (.clk(ap_clk),
    .write_enable(1'b1), .write_address(at), .write_data({32{at}}), .read_enable(1'b1),
    .read_address(at), .read_data(peek[127:0]));
  rlfabric_ram #(.WIDTH(128), .DEPTH(16), .ADDRESS_WIDTH(4)) other (.clk(ap_clk),
    .write_enable(1'b1), .write_address(at), .write_data({32{~at}}), .read_enable(1'b1),
    .read_address(at), .read_data(peek[255:128]));
  rlfabric_ram #(.WIDTH(128), .DEPTH(13), .ADDRESS_WIDTH(4)) empty (.clk(ap_clk),
    .write_enable(1'b0), .write_address(at), .write_data(128'h0), .read_enable(1'b1),
    .read_address(4'd3), .read_data(peek[383:256]));
endmodule
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The copy kernel, which writes what it sees of its own memories."""
    path = generate(tmp_path_factory.mktemp("peek"))
    verilog = path.with_suffix(".v")
    head, top = re.split(r"(?=^module copy\()", verilog.read_text(), flags=re.M)
    top, count = re.subn(r"assign m_axi_host_wdata = .*;", "assign m_axi_host_wdata = peek;", top)
    assert count == 1
    top = top.replace("\nendmodule\n", PEEK, 1)
    ram = (files("hw.stream") / "ram.v").read_text()
    verilog.write_text("\n".join([head, top, ram]))
    return path


def seen(path, **memory):
    """What the kernel wrote of each of its four, 16 bytes each."""
    session = Session(path, memory=MemoryConfig(**memory))
    assert session.launch(64) == COMPLETED
    return session.bytes("results")[:64].reshape(4, 16).copy()


def test_registers_and_ram(path):
    kind = seen(path)
    # What was written sixteen clocks before; nothing; the first value.
    for lane in kind[:2]:
        assert len({*lane.tolist()}) == 1
    assert kind[2:].tolist() == [[0] * 16, [5, *[0] * 15]]
    noise, other = seen(path, noise=True, seed=1), seen(path, noise=True, seed=2)
    for lane in (*noise, *other):
        assert len({*lane.tolist()}) > 2
    assert (noise != other).any(axis=1).all()
    assert (noise == seen(path, noise=True, seed=1)).all()
    assert (kind == seen(path, seed=1)).all()


@pytest.mark.parametrize("backend", ["sim", "model"])
def test_memory_of_the_card(path, backend, monkeypatch):
    """The device's side of a buffer, not the host's; another one in each, the same on each card."""
    monkeypatch.setitem(KERNELS, "copy", CopyTwin)
    session = Session(path, backend=backend, memory=MemoryConfig(noise=True, seed=3))
    sides = [np.array(session.bos[name].map()) for name in ("results", "status")]
    assert not any(side.any() for side in sides)
    first, second = (session.bytes(name).copy() for name in ("results", "status"))
    assert len({*first[:64].tolist()}) > 30 and (first != second).any()
    again = Session(path, memory=MemoryConfig(noise=True, seed=3))
    assert (first == again.bytes("results")).all()
    kind = Session(path, backend=backend, memory=MemoryConfig(seed=3))
    assert not kind.bytes("results").any()


def test_a_beat_that_failed_brings_noise(library):
    """And the beats beside it what memory has."""
    fault = Fault(master=MASTERS[0], channel="R", kind="error", skip=3, count=2)
    bench = Bench(library, faults=[fault])
    data, _, answers = bench.read_all([(BASE, 8)])
    assert answers == [0, 0, 0, 2, 2, 0, 0, 0]
    for beat, (word, _) in enumerate(data):
        same = word == bench.bytes[beat * BEAT :][:BEAT].tobytes()
        assert same == (answers[beat] == 0)
    assert data[3][0] != data[4][0]


def test_a_read_that_is_not_known():
    """A change of ram.v must not take the noise away in silence."""
    with pytest.raises(ValueError, match="rlfabric_ram must read by 'if .*', once"):
        collisions("module rlfabric_ram #(...); endmodule", "0")


def test_a_line_for_each_register():
    """Verilator takes 40 000 tokens a line, and a layer of eight lanes has thousands of
    registers."""
    registers = "".join(f"  reg [511:0] r{k} = 512'h0;\n" for k in range(5000))
    text = switched(f"module many(clk);\n{registers}endmodule\n")
    assert text.count("$urandom()") == 5000 and text.count("= 512'h0;") == 5000
    assert max(map(len, text.splitlines())) < 200

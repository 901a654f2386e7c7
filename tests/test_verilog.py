"""hw.verilog: what no input changes is there all the same, in any simulator."""

import re
import subprocess

import pytest
import resident_yosys
from amaranth import *
from amaranth._toolchain import yosys
from amaranth.lib import cdc, data, enum, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from host.kernels.lint import lint_directory, waiver_file
from hw.shell.description import KernelDescription
from hw.uart.receiver import Receiver
from hw.verilog import to_verilog
from system.tools import require


class Parts(wiring.Component):
    """``o`` in parts, each by a statement of its own: chosen, a constant, an input, nothing."""

    choose: In(1)
    i: In(4)
    o: Out(data.StructLayout({"chosen": 4, "constant": 4, "passed": 4, "nothing": 4}))

    def elaborate(self, platform):
        m = Module()
        with m.If(self.choose):
            m.d.comb += self.o.chosen.eq(self.i)
        m.d.comb += [self.o.constant.eq(5), self.o.passed.eq(self.i)]
        return m


@pytest.mark.verilator
def test_constants_are_there(simulate):
    simulate(Parts(), "verilog_bench", again="icarus-2005")


def test_every_process_is_started_when_all_of_them_wait():
    """By an assignment that waits until nothing else is left to be done; no simulator at hand
    begins with the assignments, where a simple one would come too early."""
    text = to_verilog(Parts(), name="dut")
    assert len(re.findall(r"^module .*;\n  `RLFABRIC_START$", text, re.M)) == 1
    blocks = re.findall(r"^  always @\*.*\n(.*)", text, re.M)
    assert len(blocks) >= 2 and set(blocks) == {"    `RLFABRIC_RUN"}
    assert "verilog_backend" not in text


@pytest.mark.parametrize(
    "tool, start, run",
    [
        ("SYNTHESIS", "", ""),
        ("VERILATOR", "reg \\$start = 0;", "if (\\$start ) begin end"),
        ("__ICARUS__", "reg \\$start ; initial \\$start <= 0;", "if (\\$start ) begin end"),
    ],
)
def test_synthesis_reads_no_start(tmp_path, tool, start, run):
    require("iverilog")
    (tmp_path / "dut.v").write_text(to_verilog(Parts(), name="dut"))
    preprocess = ["iverilog", f"-D{tool}", "-E", "-o", "read.v", "dut.v"]
    subprocess.run(preprocess, cwd=tmp_path, check=True)
    read = (tmp_path / "read.v").read_text()
    assert re.findall(r"^module .*;\n  (.*)$", read, re.M) == [start]
    assert {*re.findall(r"^  always @\* begin\n    (.*)$", read, re.M)} == {run}


class Kind(enum.Enum, shape=2):
    NONE = 0
    ONE = 1
    TWO = 2


class Chain(wiring.Component):
    """A register with three names and a first value, a switch of all cases, an enumeration."""

    i: In(Kind)
    o: Out(2, init=1)
    other: Out(2)

    def elaborate(self, platform):
        m = Module()
        stage, name = Signal(2, init=1, attrs={"shreg_extract": "no"}), Signal(2, init=1)
        m.submodules.inner = inner = Module()
        inner.d.sync += stage.eq(self.i)
        m.d.comb += [name.eq(stage), self.o.eq(name)]
        with m.Switch(self.i):
            with m.Case(Kind.ONE):
                m.d.comb += self.other.eq(stage)
            with m.Default():
                m.d.comb += self.other.eq(1)
        return m


def attributes(text):
    return sorted({*re.findall(r"\(\* (\w+)", text)})


def test_yosys_own_attributes_are_not_written():
    """What a person or a vendor's tool reads is; so are the first values of registers."""
    text = to_verilog(Chain(), name="dut")
    numbers = [f"enum_value_{number:02b}" for number in range(3)]
    assert attributes(text) == ["enum_base_type", *numbers, "shreg_extract"]
    assert re.findall(r"reg \[1:0\] .* = (.*);", text) == ["2'h1"] and "initial" in text


class Crossing(wiring.Component):
    """A signal, an edge and a reset from elsewhere, and a queue between two clocks."""

    i: In(2)
    reset: In(1)
    o: Out(2)
    edge: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.domains.other = ClockDomain()
        m.d.comb += ClockSignal("other").eq(self.i[0])
        m.submodules.ff = cdc.FFSynchronizer(self.i, self.o, init=1)
        m.submodules.reset = cdc.ResetSynchronizer(self.reset, domain="other")
        m.submodules.edge = edge = cdc.PulseSynchronizer("other", "sync")
        m.submodules.queue = queue = AsyncFIFO(width=2, depth=4, r_domain="sync", w_domain="other")
        m.d.comb += [edge.i.eq(self.i[1]), self.edge.eq(edge.o)]
        m.d.comb += [queue.w_data.eq(self.i), queue.w_en.eq(1), queue.r_en.eq(self.edge)]
        return m


def test_every_register_of_a_synchronizer_is_marked():
    for text, stages in (
        (to_verilog(Crossing(), name="dut"), 12),
        (to_verilog(Receiver(4), name="dut"), 2),
    ):
        lines = text.splitlines()
        found = [k for k, line in enumerate(lines) if re.match(r"  reg .*\bstage\d+ =", line)]
        assert len(found) == stages
        for k in found:  # an output is declared between its attributes and its register
            before = lines[k - 1] if "output" not in lines[k - 1] else lines[k - 2]
            assert before == '  (* ASYNC_REG = "TRUE" *)', lines[k]


def test_yosys_of_the_tests_writes_what_amaranths_own_writes(monkeypatch):
    """The one that stays in this process, and the one that Amaranth starts."""
    here = to_verilog(Parts(), name="dut")
    with pytest.raises(yosys.YosysError) as refused:
        yosys._BuiltinYosys.run(["-"], "nonsense")
    assert yosys._BuiltinYosys.run != resident_yosys.STARTED
    monkeypatch.setattr(yosys._BuiltinYosys, "run", resident_yosys.STARTED)
    assert to_verilog(Parts(), name="dut") == here
    with pytest.raises(yosys.YosysError, match=f"^{re.escape(str(refused.value))}$"):
        yosys._BuiltinYosys.run(["-"], "nonsense")


def test_lint_has_nothing_against_parts(tmp_path):
    description = KernelDescription(
        name="dut", config={}, config_hash=0, arguments=(), masters=(), verilog="dut.v"
    )
    (tmp_path / "kernel.json").write_text(description.to_json())
    (tmp_path / "lint.vlt").write_text(waiver_file())
    (tmp_path / "dut.v").write_text(to_verilog(Parts(), name="dut"))
    lint_directory(tmp_path)

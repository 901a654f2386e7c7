"""hw.verilog: what no input changes is there all the same, in any simulator."""

import re

import pytest
import resident_yosys
from amaranth import *
from amaranth._toolchain import yosys
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from host.generate.lint import lint_directory, waiver_file
from hw.shell.description import KernelDescription
from hw.verilog import to_verilog


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
    assert len(re.findall(r"^  reg \\\$start ;\n  initial \\\$start <= 0;\n", text, re.M)) == 1
    blocks = re.findall(r"^  always @\*.*\n(.*)", text, re.M)
    assert len(blocks) >= 2 and set(blocks) == {r"    if (\$start ) begin end"}
    assert "verilog_backend" not in text


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

"""sim.verilate.check_verilog: Verilog of a folder becomes a program, and must run nothing."""

import pytest

from hw.errors import UsageError
from hw.verilog import MACROS
from sim.verilate import check_verilog

HOSTILE = {
    "task": 'initial $system("id");',
    "C": 'initial $c("system(\\"id\\");");',
    "file": 'initial $readmemh("/etc/passwd", memory);',
    "dump": 'initial $dumpfile("x");',
    "DPI": 'import "DPI-C" function int system(input string command);',
    "old DPI": 'import "DPI" function int system(input string command);',
    "directive": '`include "/etc/passwd"',
    "header": "`systemc_header\n#include <x>\n`verilog",
    "after a comment": '/* \\*/$system("id"); // */',
    "after two comments": '/* // */ $system("id");',
    "after a line": '// \\\n$system("id");',
    "after a string": 'x = "\\\\"; $system("id");',
    "after an escaped name": 'assign \\a = 1; initial $system("id");',
    "after a bracket": 'initial begin:x($system("id")); end',
    "open string": 'x = "\n$display("y");',
    "in a name's end": "assign a = b;$finish;",
    "macros in a comment": f'// {MACROS}$system("id");',
    "macros in a string": f'x = "{MACROS}";',
    "other macros": MACROS.replace("if (", "$c("),
    "after macros": f"{MACROS}`define RLFABRIC_RUN $c(1);",
    "a longer name": f"{MACROS}`RLFABRIC_RUNS",
}
HARMLESS = [
    r"assign \$auto$verilog_backend.cc:1 = \a.b$system ;",
    "assign a$system = b$c + $signed(c) - $unsigned(d);",
    '// $system("id")\n/* `include "x" */ x = "$system"; (* ram_style = "block" *)',
    "reg [1:0] begun = $urandom();",
    f"{MACROS}`RLFABRIC_START\nalways @* begin\n`RLFABRIC_RUN\nend",
]


@pytest.mark.parametrize("case", HOSTILE)
def test_what_runs_code_is_refused(case):
    text = f"module top;\n{HOSTILE[case]}\nendmodule\n"
    with pytest.raises(UsageError, match="^Verilog must be of rlfabric, without tasks such as "):
        check_verilog(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_hardware_does_is_not(text):
    check_verilog(f"module top;\n{text}\nendmodule\n")

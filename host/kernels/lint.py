"""Verilator's lint of generated Verilog, with the waived warnings and their reasons."""

import subprocess
from pathlib import Path

from hw.errors import Failure
from hw.shell.description import KernelDescription
from system.tools import require, tool_environment

__all__ = ["LintError", "WAIVERS", "lint_directory", "waiver_file"]

# Operators that extend the shorter operand by its sign or zeros; assignments are not among them.
_EXTENDING = (
    *("ADD", "SUB", "MUL", "SHIFTL", "COND", "EQ", "NEQ"),
    *("LT", "LTE", "GT", "GTE", "LTS", "LTES", "GTS", "GTES"),
)

#: ``(rule, pattern of the message, reason)``. A rule is waived only as far as its pattern reaches.
WAIVERS = (
    ("DECLFILENAME", "*", "a design is one file; its modules cannot all be the file's name"),
    ("PROCASSINIT", "*", "registers have their reset value as initial value too, as FPGAs load it"),
    ("UNUSEDSIGNAL", "*", "Amaranth names every field of a structure, for waveforms, used or not"),
    ("CASEINCOMPLETE", "*", "before every case Amaranth assigns the values of no match"),
    ("VARHIDDEN", "*", "an instance and a wire or memory inside it may have the same name"),
    ("UNUSEDPARAM", "*'RAM_STYLE'", "read by synthesis, as the attribute ram_style"),
    ("SYMRSVDWORD", "*'interrupt'", "Vitis prescribes the name of this port"),
    ("ASCRANGE", "*bit range: [-1:0]", "a field of zero bits, which nothing reads"),
    ("WIDTHTRUNC", "Logical operator LOGNOT expects 1 bit*", "`!x` is yosys for x == 0"),
    (
        "WIDTHTRUNC",
        "Operator ASSIGNW expects*SHIFTR generates*",
        "one of the words of a wider word",
    ),
    *(
        ("WIDTHEXPAND", f"Operator {operator} expects*", "extended by Verilog's rules, as meant")
        for operator in _EXTENDING
    ),
)


class LintError(Failure):
    """Verilator gave an error, or a warning that is not waived; the message has its report."""


def waiver_file():
    """``lint.vlt``: the waivers as Verilator reads them, each under its reason."""
    lines = ["`verilator_config"]
    for rule, pattern, reason in WAIVERS:
        match = "" if pattern == "*" else f' -match "{pattern}"'
        lines += [f"// {reason}", f'lint_off -rule {rule} -file "*"{match}']
    return "\n".join(lines) + "\n"


def lint_directory(directory):
    """Runs ``verilator --lint-only -Wall`` on the Verilog in a directory that ``generate`` wrote,
    with the waivers in its ``lint.vlt``.

    LintError if Verilator reports anything. MissingTool without Verilator or perl.
    """
    require("verilator", "perl")
    directory = Path(directory)
    kernel = KernelDescription.from_json((directory / "kernel.json").read_text(encoding="utf-8"))
    result = subprocess.run(
        ["verilator", "--lint-only", "-Wall", "--top-module", kernel.name]
        + ["lint.vlt", kernel.verilog],
        cwd=directory,
        env=tool_environment(),
        capture_output=True,
        text=True,
    )
    if result.returncode or result.stderr.strip():
        report = result.stderr.strip()
        raise LintError(f"{kernel.verilog} must be clean under verilator -Wall, not:\n{report}")

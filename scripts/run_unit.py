"""usage: run_unit.py UNIT SIM [WAVES]; `make cocotb` runs the benches of one unit by it.

UNIT names tests/<folder>/test_<name>.py as <folder>/<name>, SIM is icarus or verilator. With WAVES,
neither empty nor 0, every waveform is kept and its path printed.
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
SIMULATORS = ("icarus", "verilator")


def _arguments(path):
    """Function -> names of its arguments, of the functions of a file."""
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def units():
    """Name -> test file, of the units that are tested in a simulator."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        # A fixture of the folder may stand between a test and `simulate`.
        shared = _arguments(path.parent / "conftest.py")
        fixtures = {"simulate", *(name for name, needs in shared.items() if "simulate" in needs)}
        if any(
            name.startswith("test_") and needs & fixtures
            for name, needs in _arguments(path).items()
        ):
            name = path.relative_to(TESTS).with_name(path.stem.removeprefix("test_"))
            found[name.as_posix()] = path
    return found


def main(unit="", simulator="", waves=""):
    known = units()
    for name, value, choices in (("UNIT", unit, known), ("SIM", simulator, SIMULATORS)):
        if value not in choices:
            sys.exit(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-vv", "-m", "bench"]
    command += ["--simulator", simulator, *(["--waves"] if waves not in ("", "0") else [])]
    sys.exit(subprocess.run([*command, str(known[unit])], cwd=ROOT).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])

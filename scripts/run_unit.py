"""usage: run_unit.py UNIT SIM [WAVES]; `make cocotb` runs the benches of one unit with it.

UNIT names tests/<folder>/test_<name>.py as <folder>/<name>; an empty UNIT is the smallest unit. SIM
is icarus or verilator. If WAVES is neither empty nor 0, waveforms are kept and their paths printed.
"""

import ast
import difflib
import functools
import itertools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
SIMULATORS = ("icarus", "verilator")
#: takes seconds
SMALLEST = "stream/skid"
NEXT = f"""\
That was {SMALLEST}. Another unit: make cocotb UNIT=replay/tree/manager; another simulator:
SIM=verilator; waveforms: WAVES=1; all units: make cocotb UNIT=list"""


def _arguments(path):
    """Function -> names of its arguments, of the functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@functools.cache
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


def listed(known):
    """A line for each folder, with its units."""
    parts = sorted(name.rpartition("/")[::2] for name in known)
    for folder, names in itertools.groupby(parts, lambda part: part[0]):
        yield f"{folder or '(none)'}: {' '.join(name for _, name in names)}"


def wrong(unit, known):
    """The error's text for an unknown UNIT: the units that it may mean, and all units."""
    named = [name for name in known if name.rpartition("/")[2] == unit.rpartition("/")[2]]
    meant = " or ".join(named or difflib.get_close_matches(unit, known))
    why = f"did you mean {meant}? " if meant else ""
    return "\n".join(
        [f"UNIT must be a unit with a bench, not {unit!r} ({why}there are)", *listed(known)]
    )


def main(unit="", simulator="", waves=""):
    known, asked = units(), unit or SMALLEST
    if asked == "list":
        print(*listed(known), sep="\n")
        sys.exit()
    if asked not in known:
        sys.exit(wrong(asked, known))
    if simulator not in SIMULATORS:
        sys.exit(f"SIM must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-vv", "-m", "bench"]
    command += ["--simulator", simulator, *(["--waves"] if waves not in ("", "0") else [])]
    code = subprocess.run([*command, str(known[asked])], cwd=ROOT).returncode
    if not unit:
        print(NEXT)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])

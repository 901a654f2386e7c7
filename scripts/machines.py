"""usage: machines.py JOBS [NAME ...]; `make test-machines` runs it.

Runs the quick tests of FOLDERS as on other processors: a library chooses the order of its sums by
the processor, so no test may depend on this order. NAME is one of MACHINES; without a NAME all of
them run, one after the other. If this processor lacks the instructions of one, it is named as not
run. Exit code 1: a test has failed, 2: NAME is unknown.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ["tests/host", "tests/learner", "tests/fixar", "tests/gae", "tests/bench"]

#: Programs that compute something, and then print with which kind of code. If the processor lacks
#: the instructions, it ends the program.
_BLAS = """
import numpy
from threadpoolctl import threadpool_info
for kind in (numpy.float32, numpy.float64):
    (numpy.ones((65, 65), kind) @ numpy.ones((65, 65), kind)).sum()
print(*{each.get("architecture") for each in threadpool_info() if each["user_api"] == "blas"})
"""
_TORCH = """
import torch
(torch.ones(65, 65) @ torch.ones(65, 65)).exp().sum()
print(torch.backends.cpu.get_cpu_capability())
"""
#: name -> environment variable, its value, the program that checks the kind of code, and what the
#: program may print: OpenBLAS has the code of some processors under the name of another one.
MACHINES = {
    "Prescott": ("OPENBLAS_CORETYPE", "Prescott", _BLAS, ("Prescott", "Katmai")),
    "Haswell": ("OPENBLAS_CORETYPE", "Haswell", _BLAS, ("Haswell",)),
    "Zen": ("OPENBLAS_CORETYPE", "Zen", _BLAS, ("Zen", "Haswell")),
    "SkylakeX": ("OPENBLAS_CORETYPE", "SkylakeX", _BLAS, ("SkylakeX",)),
    "default": ("ATEN_CPU_CAPABILITY", "default", _TORCH, ("DEFAULT",)),
    "avx2": ("ATEN_CPU_CAPABILITY", "avx2", _TORCH, ("AVX2",)),
}


def lacking(name):
    """Why the tests cannot run as on ``name``; None: they can."""
    variable, value, code, wanted = MACHINES[name]
    told = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {variable: value},
        capture_output=True,
        text=True,
    )
    if told.returncode < 0:
        return f"this processor lacks its instructions (signal {-told.returncode})"
    found = told.stdout.strip()
    return None if found in wanted else f"{variable}={value} computes as {found or 'nothing'} here"


def outcome(name, jobs):
    """How the tests ended on ``name``, in a word or two."""
    if why := lacking(name):
        return f"not run: {why}"
    variable, value, *_ = MACHINES[name]
    command = [sys.executable, "-m", "pytest", "-n", jobs, "--dist", "worksteal", "-m", "not long"]
    print(f"machines: {variable}={value}", flush=True)
    done = subprocess.run([*command, *FOLDERS], cwd=ROOT, env=os.environ | {variable: value})
    return "passed" if done.returncode == 0 else "failed"


def main(jobs="2", *names):
    for name in names:
        if name not in MACHINES:
            print(f"NAME must be one of {', '.join(MACHINES)}, not {name!r}", file=sys.stderr)
            sys.exit(2)
    outcomes = {name: outcome(name, jobs) for name in names or MACHINES}
    for name, how in outcomes.items():
        print(f"machines: {name}: {how}")
    sys.exit(int("failed" in outcomes.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])

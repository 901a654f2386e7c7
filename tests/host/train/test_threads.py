"""host.train.threads: NumPy's own BLAS is limited, unless the user has decided."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, time
import numpy as np
from pathlib import Path
from host.train.threads import single_blas_thread
[path] = (Path(np.__file__).parent.parent / "numpy.libs").glob("*openblas*")
count = getattr(ctypes.CDLL(str(path)), "scipy_openblas_get_num_threads64_")
done = single_blas_thread()
print(done, count())
"""


@pytest.mark.parametrize(
    "variable, expected", [(None, "True 1"), ("OPENBLAS_NUM_THREADS", "False 1")]
)
def test_limit(variable, expected, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "1")
    program = [sys.executable, "-c", PROGRAM]
    out = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == expected

"""host.runs.blas_threads: one thread for the BLAS and for torch in the block, unless the user has
decided."""

import json
import subprocess
import sys

import pytest
from later import later

PROGRAM = """
import os
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
{imported}
from host.runs.blas_threads import single_threaded

def counts():
    # threads of NumPy's BLAS; of torch, or None
    [blas] = set(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
    return [blas, torch.get_num_threads() if {with_torch} else None]

threadpool_limits(2)
if {with_torch}:
    torch.set_num_threads(2)
print(counts())
with single_threaded(with_torch={with_torch}):
    print(counts())
try:
    with single_threaded(with_torch={with_torch}):
        raise LookupError
except LookupError:
    print(counts())
"""


@pytest.mark.parametrize(
    "variable, torch, inside",
    [
        (None, False, [1, None]),
        (None, True, [1, 1]),
        ("OPENBLAS_NUM_THREADS", False, [2, None]),
        later("OPENBLAS_NUM_THREADS", True, [2, 1]),
        ("OMP_NUM_THREADS", False, [2, None]),
        ("OMP_NUM_THREADS", True, [2, 2]),
    ],
)
def test_limit(variable, torch, inside, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "2")
    program = PROGRAM.format(imported="import torch" if torch else "", with_torch=torch)
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    outside = [2, 2 if torch else None]
    assert [json.loads(line.replace("None", "null")) for line in out.stdout.splitlines()] == [
        outside,
        inside,
        outside,
    ]

"""host.train.threads: one thread for the BLAS and for torch in the block, unless the user has
decided."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import os
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
{torch}
from host.train.threads import single_threaded

def counts():
    numbers = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    return [*numbers, *([torch.get_num_threads()] if "torch" in globals() else [])]

threadpool_limits(2)
if "torch" in globals():
    torch.set_num_threads(2)
print(counts())
with single_threaded():
    print(counts())
try:
    with single_threaded():
        raise LookupError
except LookupError:
    print(counts())
"""


@pytest.mark.parametrize(
    "variable, torch",
    [(None, False), (None, True), ("OPENBLAS_NUM_THREADS", True), ("OMP_NUM_THREADS", False)],
)
def test_limit(variable, torch, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "2")
    program = PROGRAM.format(torch="import torch" if torch else "")
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    before, inside, after = map(json.loads, out.stdout.splitlines())
    assert before and set(before) == {2} == set(after)
    assert set(inside) == ({2} if variable else {1})

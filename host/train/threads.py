"""One BLAS thread for the CPU learner.

OpenBLAS would split the products of a 256-wide layer over all cores. At a batch of 64 that gains
little, and where another thread keeps a core busy, as the simulated card does, its threads wait for
each other in spin loops: an update then takes up to a hundred times as long.
"""

import ctypes
import os
from pathlib import Path

import numpy as np

__all__ = ["single_blas_thread"]

_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads")


def single_blas_thread():
    """Limit the OpenBLAS that NumPy's wheels carry to one thread; return whether that was done.

    Not where the user has set OPENBLAS_NUM_THREADS or OMP_NUM_THREADS, and not for a NumPy with
    another BLAS, which those variables reach.
    """
    if {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
        return False
    for path in (Path(np.__file__).parent.parent / "numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))  # loaded already, so this is NumPy's own
        for name in _SETTERS:
            if hasattr(library, name):
                getattr(library, name)(1)
                return True
    return False

"""One thread for the arithmetic of a training.

A BLAS would split the products of a 256-wide layer over all cores. At a batch of 64 that gains
little, and where another thread keeps a core busy, as the simulated card does, its threads wait for
each other in spin loops: an update then takes up to a hundred times as long. Sums of equal seeds
are in equal order, besides.
"""

import os
import sys
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["single_threaded"]


@contextmanager
def single_threaded():
    """One thread for NumPy's BLAS and for torch in the block; outside, it is as it was.

    Not where the user has set OPENBLAS_NUM_THREADS or OMP_NUM_THREADS.
    """
    if {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
        yield
        return
    torch = sys.modules.get("torch")
    threads = torch and torch.get_num_threads()
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)

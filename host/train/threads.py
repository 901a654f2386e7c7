"""One thread for the arithmetic of a training.

A BLAS would split the products of a 256-wide layer over all cores. At a batch of 64 that gains
little, and where another thread keeps a core busy, as the simulated card does, its threads wait for
each other in spin loops: an update then takes up to a hundred times as long. Sums of equal seeds
are in equal order, besides.
"""

import os
from contextlib import ExitStack, contextmanager

from threadpoolctl import threadpool_limits

from host.algorithms.autodiff import torch

__all__ = ["single_threaded"]


@contextmanager
def single_threaded(with_torch=False):
    """One thread for NumPy's BLAS in the block, and for torch where it is used; outside, it is as
    it was.

    Not where the user has set OPENBLAS_NUM_THREADS or OMP_NUM_THREADS for the one, or
    OMP_NUM_THREADS for the other.
    """
    with ExitStack() as stack:
        if not {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
            stack.enter_context(threadpool_limits(1, user_api="blas"))
        if with_torch and "OMP_NUM_THREADS" not in os.environ:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield

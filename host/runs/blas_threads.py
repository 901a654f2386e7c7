"""One thread for the arithmetic of a training.

A BLAS would split the products of a 256-wide layer over all cores. At a batch of 64 that gains
little. If another thread keeps a core busy, as the simulated card does, the threads of the BLAS
wait for each other in spin loops, and an update takes up to a hundred times as long. One thread
also adds sums in the same order in every run of a seed.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from threadpoolctl import threadpool_limits

from host.algorithms.autodiff import torch

__all__ = ["single_threaded"]


@contextmanager
def single_threaded(with_torch: bool = False) -> Iterator[None]:
    """A context manager: within its block NumPy's BLAS uses one thread, and so does torch if
    ``with_torch`` is True; after the block they use as many as before.

    If the user has set OPENBLAS_NUM_THREADS or OMP_NUM_THREADS, the BLAS keeps its threads; if the
    user has set OMP_NUM_THREADS, torch keeps its threads.
    """
    with ExitStack() as stack:
        if not {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
            stack.enter_context(threadpool_limits(1, user_api="blas"))
        if with_torch and "OMP_NUM_THREADS" not in os.environ:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield

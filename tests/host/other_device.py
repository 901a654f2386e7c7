"""A device of torch that is not the policy's memory: a GPU where torch sees one, else ``cpu:0``, to
which torch copies as it does to a GPU."""

import numpy as np
import torch

__all__ = ["OTHER", "assert_as_on_the_cpu"]

OTHER = "cuda" if torch.cuda.is_available() else "cpu:0"

#: A GPU adds in another order than the CPU.
_NEAR = dict(rtol=2e-3, atol=2e-4) if OTHER == "cuda" else dict(rtol=0, atol=0)


def assert_as_on_the_cpu(found, wanted):
    """Equal numbers; on a GPU nearly."""
    np.testing.assert_allclose(found, wanted, **_NEAR)

"""Cases of a test that only the long tests run, for a quicker case sees the same bugs."""

from functools import partial

import pytest

__all__ = ["later"]

#: ``later(*values)``: in place of a case of ``pytest.mark.parametrize``.
later = partial(pytest.param, marks=pytest.mark.long)

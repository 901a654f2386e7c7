"""The twin of the kernel ``dqn``: a batch of which one TD error has diverged."""

import numpy as np
import pytest
from learner.modelled import DQN, experiences, opened
from learner.test_kernel_model import filled, launch, steps_of

from host.programs.launcher import CommandError


def test_one_td_error_that_diverged():
    """The others of its batch, which are finite, change no priority either."""
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        bad = experiences(DQN, 1)
        bad["reward"][...] = bad["discount"][...] = 3e38
        buffer.add(**bad)
        buffer.set_priorities([30], [9.0])  # a batch has it, and others
        priorities = buffer.priorities()
        with pytest.raises(CommandError, match="not diverged") as caught:
            launch(buffer, steps_of(1), alpha=1 << 15)
        assert caught.value.detail == 30
        np.testing.assert_array_equal(buffer.priorities(), priorities)

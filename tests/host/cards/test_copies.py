"""host.programs: what holds a card is not copied or pickled, and says what carries it."""

import copy
import pickle

import numpy as np
import pytest
from replay.kernels import WIDE, opened

from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.errors import UsageError
from rlfabric import AdvantageEstimator

COPIES = [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]


@pytest.mark.parametrize("copied", COPIES)
def test_what_holds_a_card_says_what_carries_it(copied):
    with opened("model", WIDE) as kernel:
        buffer = PrioritizedReplayBuffer(kernel, {"x": (np.float32, ())}, capacity=4)
        with AdvantageEstimator(1, 2) as estimator:
            for held, words in (
                (buffer, "be carried by state_dict"),
                ({"buffer": [buffer]}, "be carried by state_dict"),
                (estimator, "be carried by state_dict"),
                (buffer.launcher, "be made where"),
                (kernel, "be loaded where"),
                (kernel.card, "be opened where"),
            ):
                if copied is copy.copy and isinstance(held, dict):
                    continue
                with pytest.raises(UsageError, match=rf"^\w+ must {words}.*, not be copied or"):
                    copied(held)

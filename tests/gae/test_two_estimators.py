"""Several estimators on one kernel: unlike a replay memory it keeps nothing between launches."""

from contextlib import ExitStack

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import rollout
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization
from host.programs.launcher import CommandError
from hw.gae.commands import Opcode

#: two that have sums of their own, in units of their own, one of blocks, and one of none
WAYS = (
    dict(rewards="dynamic", values="restored"),
    dict(rewards="dynamic", values="raw"),
    dict(rewards="block", values="restored"),
    dict(),
)


def test_estimators_in_turn_are_as_each_alone():
    """Also behind a rollout that another has left on the stack, and behind a refused command."""
    config = kernel_config(rows=8, depth=64, code_width=8, result_width=8)
    with ExitStack() as cards:
        shared, *own = (cards.enter_context(opened("model", config)) for _ in range(5))
        ways = [Standardization(**way) for way in WAYS]
        together = [AdvantageEstimator(shared, way) for way in ways]
        alone = [AdvantageEstimator(kernel, way) for kernel, way in zip(own, ways, strict=True)]
        rng = np.random.default_rng(7)
        for turn in range(3):
            for index in rng.permutation(len(WAYS)):
                # Of sizes and scales of their own, some beyond the rows.
                arguments = rollout(rng, 2 + 3 * index, 2 + 2 * turn, scale=10.0 ** (index - turn))
                found, wanted = (each[index].estimate(*arguments) for each in (together, alone))
                np.testing.assert_array_equal(found.advantages, wanted.advantages)
                np.testing.assert_array_equal(found.returns, wanted.returns)
                assert found.statistics == wanted.statistics
            with pytest.raises(CommandError):
                together[turn].launcher.run([(Opcode.PULL, {"count": 64})], results_bytes=1 << 16)
        for each, other in zip(together, alone, strict=True):
            assert each.state_dict() == other.state_dict()

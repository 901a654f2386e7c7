"""Codes of fewer bits than the kernel has (``code_bits`` of PUSH), on card ``model``."""

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import advantages, rollout
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization

WORDS, CODES, WIDER = (
    kernel_config(rows=8, depth=64, code_width=width, result_width=32) for width in (32, 8, 16)
)


@pytest.mark.parametrize(
    "config, bits, message",
    [
        (CODES, 9, "^code_bits must be at most 8, as code_width, not 9$"),
        (WORDS, 16, "^code_bits must be none if code_width is 32, not 16$"),
    ],
)
def test_the_kernel_must_have_the_bits(config, bits, message):
    with opened("model", config) as kernel, pytest.raises(ValueError, match=message):
        AdvantageEstimator(kernel, Standardization(code_bits=bits))


def test_one_kernel_serves_all_bits():
    """Codes of 8 bits in a stack of 16 are those of a kernel of 8, and fewer are coarser."""
    arguments, errors = rollout(np.random.default_rng(0), 40, 8), {}
    wanted = advantages(*arguments, gamma=0.99, gae_lambda=0.95)
    with opened("model", WIDER) as kernel, opened("model", CODES) as narrow:
        for bits in (3, 5, 8, 12, None):
            ways = Standardization(rewards="restored", values="restored", code_bits=bits)
            found = AdvantageEstimator(kernel, ways).estimate(*arguments)
            errors[bits] = np.abs(found.advantages - wanted).mean()
            if bits == 8:
                own = Standardization(rewards="restored", values="restored")
                same = AdvantageEstimator(narrow, own).estimate(*arguments)
                np.testing.assert_allclose(found.advantages, same.advantages, atol=1e-3)
                assert found.statistics == same.statistics
    assert sorted(errors.values(), reverse=True) == list(errors.values())
    assert errors[3] > 8 * errors[8] > 64 * errors[None]


def test_a_state_without_bits_is_of_the_kernel_s():
    """Checkpoints of before had no ``code_bits``."""
    with opened("model", CODES) as kernel:
        estimator = AdvantageEstimator(kernel)
        state = estimator.state_dict()
        state["standardization"] = '{"deviations":4.0,"rewards":"raw","values":"raw"}'
        estimator.load_state_dict(state)
        other = AdvantageEstimator(kernel, Standardization(code_bits=5))
        with pytest.raises(ValueError, match="standardization must be the checkpoint's"):
            other.load_state_dict(state)


def test_the_card_clips_at_the_bits():
    """As many numbers as a kernel that has no more bits."""
    arguments, clipped = rollout(np.random.default_rng(0), 40, 8), []
    for config, bits in ((WIDER, 8), (CODES, None)):
        ways = Standardization(rewards="block", values="restored", deviations=1, code_bits=bits)
        with opened("model", config) as kernel:
            clipped.append(AdvantageEstimator(kernel, ways).estimate(*arguments).statistics)
    assert clipped[0] == clipped[1] and clipped[0]["clipped"] > 100

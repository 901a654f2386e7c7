"""The resources of the kernel ``a3c``, counted by hand; and the hints for a board on which it does
not fit."""

from dataclasses import replace

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import estimate, suggest

PAPER = Fa3cConfig()
#: Feature buffers of 5420 rows, parameter buffers of 4096, and gradients of 257 + 2 * 257 + 16 *
#: 2593 + 2 * 257. A row has 57 bytes of nine bits; a block has eight times 4096 of them.
FEATURES, PARAMETERS, GRADIENTS = -(-2 * 57 // 8), -(-57 // 8), -(-11 * 57 // 8)


def test_counts_by_hand():
    """Four units of 64 PEs and 8 RUs; two of the units train."""
    found = estimate(PAPER)
    assert found.dsp == 4 * 64 * 2 + 8 * (5 * 2 + 8) + 4 * 6 + 1
    assert found.uram == 4 * (FEATURES + PARAMETERS) + 2 * GRADIENTS
    # Queues of 512 beats, two an engine, and one for theta's rows; a table a root. The last bits of
    # a beat take half a block.
    assert found.bram36 == (2 * 4 + 1) * 7.5 + 8


@pytest.mark.parametrize(
    "units, trainers", [(("infer", "train"), 1), (("any",), 1), (("infer", "any", "train"), 2)]
)
def test_units(units, trainers):
    found = estimate(replace(PAPER, units=units))
    assert found.uram == len(units) * (FEATURES + PARAMETERS) + trainers * GRADIENTS
    assert found.dsp == len(units) * (128 + 6) + 144 + 1


@pytest.mark.parametrize(
    "limits, texts",
    [
        (dict(dsp=680), ["lanes 2", "units infer,train", "rms_units 4"]),
        (dict(dsp=425), ["lanes 2", "units infer,train"]),
        (dict(dsp=412), ["lanes 1", "units any"]),
        (dict(uram=249), ["units infer,train", "hidden 128"]),
        # No change by itself: all, each a step further until that does.
        (dict(dsp=200), ["lanes 1, units any, rms_units 2, drain_words 1, agents 4, hidden 64"]),
        (dict(dsp=20), []),
    ],
)
def test_what_would_fit(limits, texts):
    """Each by itself, the smallest change."""

    def fits(config):
        found = estimate(config)
        return all(getattr(found, name) <= limit for name, limit in limits.items())

    assert suggest(PAPER, fits) == texts


def test_lanes_that_a_network_cannot_have_are_not_suggested():
    vectors = Fa3cConfig(height=1, width=1, channels=200, convolutions=(), hidden=())
    assert suggest(vectors, lambda config: config.lanes < 4) == []

"""hw.learner.block.fit: the words that it chooses."""

from itertools import product

import pytest

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.fit import NetworkWidths, check_words, fit, interleave_of, pace_of
from hw.learner.config import LearnerConfig

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")
ONE = {"q": NetworkWidths((4, 6, 2), None, 4)}
TWO = {"critic": NetworkWidths((5, 6, 1), "actor", 3), "actor": NetworkWidths((3, 6, 2), None, 3)}


def layers(plans, words, arithmetic):
    """``(multipliers, clocks)`` of every layer."""
    for name, plan in plans.items():
        for place, outputs in enumerate(plan.widths[1:]):
            taken, given = words[name][place : place + 2]
            input_words = -(-plan.widths[place] // taken)
            if place == 0 and plan.source:
                input_words = -(-plan.own // taken) + -(-(plan.widths[0] - plan.own) // taken)
            yield taken * given, pace_of(arithmetic, input_words, -(-outputs // given))


def key(plans, words, arithmetic):
    used, clocks = zip(*layers(plans, words, arithmetic), strict=True)
    return max(clocks), sum(used), sum(clocks)


def every(plans, multipliers, arithmetic):
    """All words of small networks that are legal and have at most so many multipliers a layer."""
    lists = [
        list(product(*([1, 2, 4] if plan.is_end(k) else [1, 2, 3, 4, 5, 6, 8] for k in range(3))))
        for plan in plans.values()
    ]
    for chosen in product(*lists):
        words = dict(zip(plans, chosen, strict=True))
        try:
            check_words(plans, words)
        except ValueError:
            continue
        if all(used <= multipliers for used, _ in layers(plans, words, arithmetic)):
            yield words


@pytest.mark.parametrize("plans", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("multipliers", [1, 2, 3, 4, 6, 8, 12, 16, 32])
@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float32", "fixed"])
def test_no_other_words_are_better(plans, multipliers, arithmetic):
    found = fit(tuple(plans.items()), multipliers=multipliers, arithmetic=arithmetic)
    check_words(plans, found)
    assert all(used <= multipliers for used, _ in layers(plans, found, arithmetic))
    best = min(key(plans, words, arithmetic) for words in every(plans, multipliers, arithmetic))
    assert key(plans, found, arithmetic) == best


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(hidden=(64,), multipliers=32), [(4, 8, 2)]),
        (dict(hidden=(64,), multipliers=64), [(4, 16, 2)]),
        (dict(hidden=(64, 64), multipliers=32), [(1, 8, 4, 1)]),
        (dict(hidden=(64, 64), multipliers=1), [(1, 1, 1, 1)]),
    ],
)
def test_those_of_a_learner(options, words):
    config = LearnerConfig(observation=4, action=2, arithmetic=FIXED, **options)
    found = [
        (layers[0].input_word, *(layer.output_word for layer in layers))
        for layers in config.networks.values()
    ]
    assert found == words


@pytest.mark.parametrize(
    "arithmetic, words, together, clocks",
    [
        (FIXED, (8, 2), 1, 16),
        # An addition takes 6 clocks, and its memory 2: so many clocks lie between two words that
        # are added to the same sum, and between two gradients.
        (FLOAT, (8, 2), 4, 16),
        (FLOAT, (8, 8), 1, 64),
        (FLOAT, (8, 1), 8, 8),
        (FLOAT, (2, 1), 2, 8),
        (FLOAT, (1, 4), 1, 8),
        (FLOAT, (9, 2), 4, 24),
    ],
)
def test_sums_that_are_kept_apart(arithmetic, words, together, clocks):
    assert interleave_of(arithmetic, *words) == together
    assert pace_of(arithmetic, *words) == clocks

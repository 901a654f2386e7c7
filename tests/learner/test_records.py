"""Records that a learner's kernel refuses, word by word, on the cards ``sim`` and ``model`` alike.

An experience of ``REAL`` is obs, next_obs (3 words each), the discrete action, one of 2, reward and
discount: words 4 to 12 behind HEADER.
"""

import pytest
from learner.core_programs import TrainingPrograms, run_both
from learner.fault_courses import REAL
from learner.record_cases import (
    BETAS,
    LIMITS,
    NOT_FINITE,
    TAKEN,
    WEIGHT,
    WEIGHTS,
    beta,
    check,
    inserted,
    outcome,
    sent,
    weightless,
)
from replay.kernels import opened
from replay.programs import Rig

from host.learner.hyperparameters import checked_hyperparameters, hyperparameter_records

FIELD, ACTION = 6, 10
STORAGE_BYTES = 1 << 15

#: hw_core 2, hw_core 3; what no batch may have besides.
CASES = {
    **{f"beta {bits:#x}": beta(bits) for bits in BETAS},
    "beta 0xffff": (beta(0xFFFF)[0], (0, 0)),
    **{f"weight {name}": sent(3, WEIGHT, bits) for name, bits in WEIGHTS.items()},
    **{f"weight {bits:#x}": sent(1, WEIGHT, bits, 0) for bits in TAKEN},
    "weights 0": weightless(0),
    "weights next to 0": weightless(0x007F_FFFF),
    **{
        f"word {word}, {name}": sent(word % 5, word, bits)
        for word in (4, 9, 11, 12)
        for name, bits in NOT_FINITE.items()
    },
    **{f"action {bits:#x}": sent(4, ACTION, bits) for bits in (2, 3, 0x8000_0000, 0xFFFF_FFFF)},
    "the last action": sent(4, ACTION, 1, 0),
    "a discount of 2": sent(0, 12, 0x4000_0000, 0),
    **{
        f"word {word}, {bits:#x}": sent(word % 5, word, bits, error)
        for word in (11, 12)
        for bits, error in LIMITS.items()
    },
    "an observation beyond the limit of rewards": sent(2, 9, 0x7F7F_FFFF, 0),
    "a word behind": sent(0, 13, 0x7F80_0000, 0),
    # They are found as they are drawn.
    "INSERT of a NaN": inserted(0, 0, 0x7FC0_0000, 0),
}


def test_both_cards_refuse_alike():
    source = TrainingPrograms(REAL, 21)
    with opened("sim", REAL) as kernel, opened("model", REAL) as twin:
        rigs = [Rig(each, STORAGE_BYTES) for each in (kernel, twin)]
        kept = {}
        run_of_twin = rigs[1].run
        rigs[1].run = lambda launch: kept.setdefault("outputs", run_of_twin(launch))

        def run(program, label):
            kept.clear()
            shell, *_ = run_both(*rigs, program.launch(), program.reports, label)
            return shell, kept["outputs"]["results"]

        launch, reports = source.first()
        assert outcome(run_both(*rigs, launch, reports, "first")[0]) == (0, 0)
        check(run, source, CASES)


@pytest.mark.parametrize("bits", BETAS)
def test_a_beta_that_the_card_would_refuse(bits):
    """hw_core 2: before a launch."""
    steps = hyperparameter_records(3, scale=1, rate=1)
    steps["beta"][2] = 0xFFFF
    assert checked_hyperparameters(steps) is not None
    steps["beta"][1] = bits
    with pytest.raises(ValueError, match=rf"^beta must be in 0\.\.65535, not {bits}$"):
        checked_hyperparameters(steps)


def test_gains_that_are_not_given_are_those_of_their_decays():
    (step,) = hyperparameter_records(1, scale=1, rate=1, first_decay=0.75, second_decay=0.5)
    assert (step["first_gain"], step["second_gain"]) == (0.25, 0.5)
    (step,) = hyperparameter_records(1, scale=1, rate=1, first_decay=0.75, second_gain=2)
    assert (step["first_gain"], step["second_gain"]) == (0.25, 2)
    (step,) = hyperparameter_records(1, scale=1, rate=1, blend=0.125)
    assert step["keep"].tolist() == [0.875, 0.875] and step["second_gain"] == 1

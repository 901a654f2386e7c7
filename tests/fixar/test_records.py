"""Records that ``fixar`` refuses, word by word, on the cards ``sim`` and ``model`` alike.

An experience of ``SMALL`` is obs, next_obs (3 words each), action (5), reward and discount: words 0
to 12, and 4 to 16 behind HEADER.
"""

import numpy as np
import pytest
from fixar.kernels import SMALL, FixarPrograms, pair, status_of
from learner.modelled import adam, experiences, opened, weights
from learner.record_cases import (
    BETAS,
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

from host.fixar.fixar_replay import FixarReplay
from hw.replay.commands import Opcode

NUMBER = 34
#: Places in an experience.
OBS, ACTION, LAST_ACTION, REWARD, DISCOUNT = 0, 6, 10, 11, 12
#: Bits of binary32: 1 and the next larger number; their negatives.
ONE, MORE, MINUS_ONE, LESS = 0x3F80_0000, 0x3F80_0001, 0xBF80_0000, 0xBF80_0001

BAD = {
    **{f"obs {name}": (OBS, bits) for name, bits in NOT_FINITE.items()},
    **{f"action {name}": (LAST_ACTION, bits) for name, bits in NOT_FINITE.items()},
    **{f"reward {name}": (REWARD, bits) for name, bits in NOT_FINITE.items()},
    **{f"discount {name}": (DISCOUNT, bits) for name, bits in NOT_FINITE.items()},
    "action above 1": (ACTION, MORE),
    "action below -1": (LAST_ACTION, LESS),
    "action 2": (ACTION + 2, 0x4000_0000),
    "discount above 1": (DISCOUNT, MORE),
    "discount below 0": (DISCOUNT, 0x8000_0001),
    "discount -0": (DISCOUNT, 0x8000_0000),
    "discount -1": (DISCOUNT, MINUS_ONE),
}
GOOD = {
    "action 1": (ACTION, ONE),
    "action -1": (LAST_ACTION, MINUS_ONE),
    "action -0": (ACTION, 0x8000_0000),
    "discount 0": (DISCOUNT, 0),
    "discount 1": (DISCOUNT, ONE),
    "reward 2": (REWARD, 0x4000_0000),
    "obs -2": (OBS, 0xC000_0000),
    "a word behind": (DISCOUNT + 1, 0x7F80_0000),
}
TRAIN = {
    **{f"beta {bits:#x}": beta(bits) for bits in BETAS},
    **{f"weight {name}": sent(3, WEIGHT, bits) for name, bits in WEIGHTS.items()},
    **{f"weight {bits:#x}": sent(1, WEIGHT, bits, 0) for bits in TAKEN},
    "weights 0": weightless(0),
    **{
        f"{name}, sent": sent(k % 5, 4 + at, bits)
        for k, (name, (at, bits)) in enumerate(BAD.items())
    },
    **{f"{name}, sent": sent(2, 4 + at, bits, 0) for name, (at, bits) in GOOD.items()},
}
INSERT = {
    **{f"{name}, stored": inserted(k % 5, *bad) for k, (name, bad) in enumerate(BAD.items())},
    **{f"{name}, stored": inserted(1, *good, 0) for name, good in GOOD.items()},
}


def test_both_cards_refuse_alike():
    source = FixarPrograms(SMALL, 22)
    with pair(SMALL) as kernels:

        def run(program, label):
            shell, *_ = kernels.run(program.launch(), program.reports, label)
            return shell, kernels.outputs["results"]

        kernels.run(*source.first(), "first")
        check(run, source, TRAIN | INSERT)
        for make in (_learning, _larger, _own_size_again):
            program = source.fresh()
            expected = make(source, program)
            shell, _ = run(program, make.__name__)
            assert outcome(shell) == expected


def _learning(source, program):
    """The second iteration stores an experience that is refused."""
    words = source.records(6).copy().view("<u4")
    words[3, DISCOUNT] = MORE
    program.learn(source.steps(3), words.view(np.uint8), **source.fields(16))
    return NUMBER, 1


def _larger(source, program):
    """Experiences that the learner could not read are anything."""
    program.setup(source.capacity, source.granules + 1, 1)
    program.granules = source.granules + 1
    program.insert(np.full((3, 16 * program.granules), 0xFF, np.uint8))
    return 0, 0


def _own_size_again(source, program):
    """Three experiences of a beat more ended in the middle of one of the learner's own."""
    program.setup(source.capacity, source.granules, 1)
    words = source.records(5).copy().view("<u4")
    words[3, ACTION] = MORE
    program.insert(words.view(np.uint8))
    return NUMBER, 3


def test_what_a_refused_insert_leaves():
    """Position and fill as they were; what it may have touched is not drawn, and may be stored
    again."""
    source = FixarPrograms(SMALL, 23)
    with pair(SMALL) as kernels:
        kernels.run(*source.first(), "first")
        fill, bad = source.fill, source.records(5).copy()
        bad.view("<u4")[2, ACTION] = MORE

        def inserting(records):
            program = source.fresh()
            program.insert(records)
            shell, replay, _ = kernels.run(program.launch(), program.reports)
            return outcome(shell), int(replay["position"]), int(replay["fill"])

        def priorities():
            program = source.fresh()
            program.listed(Opcode.GET, range(fill))
            kernels.run(program.launch(), program.reports)
            return kernels.outputs["results"][: 16 * fill].view("<u4")[1::4]

        before = priorities()
        # The memory has two free places: the other three are the oldest.
        assert inserting(bad) == ((NUMBER, 2), fill, fill)
        assert (priorities() == np.where(np.arange(fill) < 3, 0, before)).all()
        total = int(status_of(kernels.outputs)["total"])
        assert total == before[3:].sum()
        assert inserting(source.records(5)) == ((0, 0), 3, source.capacity)


@pytest.mark.parametrize(
    "name, at, value, message",
    [
        ("action", (3, 1), 1.5, r"action must be in -1\.\.1, not 1\.5 at position 3"),
        ("action", (0, 0), np.nan, r"action must be finite, not nan at \[0, 0\]"),
        ("discount", 5, 1.5, r"discount must be in 0\.\.1, not 1\.5 at position 5"),
        ("discount", 5, -0.5, r"discount must be in 0\.\.1, not -0\.5 at position 5"),
        ("discount", 5, -0.0, r"discount must be in 0\.\.1, not -0\.0 at position 5"),
        ("obs", (2, 2), np.inf, r"obs must be finite, not inf at \[2, 2\]"),
        ("reward", 1, np.nan, r"reward must be finite, not nan at position 1"),
    ],
)
def test_the_host_refuses_it_before_a_launch(name, at, value, message):
    """By every way that experiences come."""
    with opened(SMALL, "fixar") as kernel:
        buffer = FixarReplay(kernel, capacity=40)
        buffer.initialize(weights(SMALL))
        buffer.add(**experiences(SMALL, 20))
        launches, bad = buffer.launches, experiences(SMALL, 16)
        bad = {key: np.array(array, np.float64) for key, array in bad.items()}
        bad[name][at] = value
        for call in (
            lambda: buffer.add(**bad),
            lambda: buffer.step(bad),
            lambda: buffer.learn(adam(1, 0.01), batch_size=16, experiences=bad),
            lambda: buffer.train(adam(1, 0.01), bad, batch_size=16),
        ):
            with pytest.raises(ValueError, match=f"^{message}$"):
                call()
        assert buffer.launches == launches


def test_a_step_without_experiences():
    """A step may store none: there is nothing to refuse, and nothing to launch."""
    with opened(SMALL, "fixar") as kernel:
        buffer = FixarReplay(kernel, capacity=40)
        buffer.add(**experiences(SMALL, 20))
        launches = buffer.launches
        buffer.step({key: np.asarray(array)[:0] for key, array in experiences(SMALL, 1).items()})
        assert buffer.launches == launches

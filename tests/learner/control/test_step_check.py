"""hw.learner.control.step_check: each number of a STEP at the limits of its rule."""

import pytest
from amaranth.sim import Simulator
from learner.record_cases import BYTES, RIGHT, WRONG, stepped

from hw.learner.config import LearnerConfig
from hw.learner.control.step_check import StepCheck
from hw.learner.records import STEP


def found(name, cases):
    """For each of the ``cases``, bits by byte, the byte that is named, or None."""
    unit = StepCheck(LearnerConfig(algorithm=name, observation=3, action=2, clip_norm=True))
    simulator, places = Simulator(unit), []

    async def run(context):
        for words in cases:
            step = stepped(words)
            bits = int.from_bytes(step.tobytes(), "little")
            context.set(unit.step.as_value(), bits)
            wrong, place = (context.get(port) for port in (unit.wrong, unit.place))
            places.append(place if wrong else None)

    simulator.add_testbench(run)
    simulator.run()
    return places


def test_numbers_at_their_limits():
    right = [{byte: bits} for byte in BYTES for bits in RIGHT[byte]]
    wrong = [{byte: bits} for byte in BYTES for bits in WRONG[byte]]
    assert found("td3", right) == [None] * len(right)
    assert found("td3", wrong) == [next(iter(words)) for words in wrong]


def test_the_first_one_is_named():
    cases = [{byte: WRONG[byte][0] for byte in BYTES[k:]} for k in range(len(BYTES))]
    assert found("td3", cases) == [*BYTES]


@pytest.mark.parametrize("name, used", [("dqn", BYTES[:1]), ("ddpg", BYTES[:2])])
def test_other_kernels_use_fewer_numbers(name, used):
    cases = [{byte: WRONG[byte][0]} for byte in BYTES]
    assert found(name, cases) == [byte if byte in used else None for byte in BYTES]


def test_the_bytes_are_those_of_the_record():
    offsets = STEP.offsets
    norm = offsets["max_norm"]
    shift = offsets["shift"]
    assert BYTES[:2] == (norm, norm + 4)
    assert BYTES[2:5] == tuple(offsets[x] for x in ("sweeps", "noise", "noise_clip"))
    assert BYTES[5:] == (shift, shift + 1, shift + 2)

"""frame: every number of an experience goes to its feature, in steps that the hardware can do."""

import pytest

from hw.fixar.batch.frame import FIELDS, QUAD, frame_steps
from hw.fixar.config import FixarConfig
from hw.learner.records import record_granules, record_words

SIZES = [(o, a) for a in (*range(1, 20), 31, 32, 33) for o in (*range(1, 20), 63, 64, 65, 376)]


def words_of(config):
    """``(field, word) -> numbers``, as the assembly of words makes them of steps."""
    words, opened = {}, [None] * config.side
    for step in frame_steps(config):
        begun = [None] * config.side
        for lane, (number, head) in enumerate(zip(step.numbers, step.head, strict=True)):
            if number is not None:
                into, slot = (begun, step.head_slot) if head else (opened, step.slot)
                assert into[QUAD * slot + lane] is None
                into[QUAD * slot + lane] = number
        if step.closes:
            assert words.setdefault((step.field, step.word), opened) is opened
            opened = begun
        else:
            assert not any(step.head)
    assert opened == [None] * config.side
    return words


def expected_words(config):
    words, side = {}, config.side
    for name, (offset, count) in record_words(config).items():
        if name in FIELDS:
            first = 0 if name == "action" else config.action
            features = [None] * first + list(range(offset, offset + count))
            features += [None] * (-len(features) % side)
            for at in range(0, len(features), side):
                words[name, at // side] = features[at : at + side]
    return words


@pytest.mark.parametrize("side", [4, 8, 16])
def test_every_number_comes_to_its_feature(side):
    for observation, action in SIZES:
        config = FixarConfig(observation=observation, action=action, side=side)
        assert words_of(config) == expected_words(config), (observation, action)


@pytest.mark.parametrize("side", [4, 8, 16])
def test_two_granules_are_enough(side):
    """A step's numbers are of its granule or of the one before, which comes a step after that of
    the last step, or is that; no two have one place in a granule."""
    for observation, action in SIZES:
        config = FixarConfig(observation=observation, action=action, side=side)
        granule = 0
        for step in frame_steps(config):
            numbers = [number for number in step.numbers if number is not None]
            assert step.granule - granule in (0, 1)
            assert step.granule > granule or not any(step.old)
            granule = step.granule
            assert all(number // QUAD in (granule - 1, granule) for number in numbers)
            assert len({number % QUAD for number in numbers}) == len(numbers)
            for number in numbers:
                assert step.old[number % QUAD] == (number // QUAD < granule)
        assert granule < record_granules(config)


def test_steps_of_the_papers_tasks():
    for observation, action, steps in ((17, 6, 12), (11, 3, 8), (8, 2, 6)):
        config = FixarConfig(observation=observation, action=action)
        assert len(frame_steps(config)) == steps == 1 + record_granules(config)


def test_no_more_steps_than_granules_unless_an_action_nearly_fills_words():
    most = 0
    for side in (8, 16):
        for observation, action in SIZES:
            config = FixarConfig(observation=observation, action=action, side=side)
            beyond = len(frame_steps(config)) - 1 - record_granules(config)
            if action <= side - 4:
                assert beyond <= 0, (observation, action)
            elif action < side:
                most = max(most, beyond)
    assert most == 1

"""How the numbers of an experience come into words of the frame: as a table of steps.

A sample's frame is its action, then its observation; FIXAR's cells keep it in words of ``side``
features. In memory an experience has another order: ``obs, next_obs, action`` without a gap, in
granules of four numbers. A step takes up to four numbers, from a granule and the one before it, and
puts them into the four lanes ``feature mod 4``.
"""

from typing import NamedTuple

from hw.learner.records import record_words

__all__ = ["FIELDS", "QUAD", "Step", "frame_steps"]

#: Numbers of a granule, and of a step: features side by side in a word.
QUAD = 4

#: Of an experience, in order.
FIELDS = ("obs", "next_obs", "action")


class Step(NamedTuple):
    """A step: up to four numbers of an experience go into four lanes of a word of the frame.

    field : the field whose word is being filled: "obs", "next_obs" or "action".
    word, slot : word of the frame, and its four features.
    granule : number of the granule in the record, after its header: the last one that the step
        needs.
    numbers : for each lane the position in the record of the number that it gets; None if this
        step does not write the lane.
    closes : the word is complete.
    head, head_slot : lanes whose numbers belong to the next field's first word instead, at this
        slot of it.
    """

    field: str
    word: int
    slot: int
    granule: int
    numbers: tuple
    closes: bool
    head: tuple = (False,) * QUAD
    head_slot: int = 0

    @property
    def old(self):
        """For each of the four places in a granule: whether the step takes its number from the
        granule before ``granule``."""
        return tuple(
            any(n is not None and n % QUAD == k and n // QUAD < self.granule for n in self.numbers)
            for k in range(QUAD)
        )


def frame_steps(config):
    """The steps of an experience, ``obs`` first.

    All words of a frame are written: words of an observation that have only features of the action
    hold zeros. If 4 < ``side`` and an action has at most ``side - 4`` numbers, the steps are at
    most the granules of the record with its header; with at most ``side - 1`` numbers, one more.
    """
    steps, granule = [], 0
    for name in FIELDS:
        for step in _steps_of(config, name):
            numbers = [number for number in step.numbers if number is not None]
            granule = max(numbers, default=QUAD * granule) // QUAD
            if steps and _joins(steps[-1], step):
                last = steps[-1]
                head = tuple(number is not None for number in step.numbers)
                both = zip(last.numbers, step.numbers, strict=True)
                steps[-1] = last._replace(
                    granule=granule,
                    numbers=tuple(b if a is None else a for a, b in both),
                    head=head,
                    head_slot=step.slot,
                )
            else:
                steps.append(step._replace(granule=granule))
    return tuple(steps)


def _steps_of(config, name):
    """The steps of a field by itself; a slot without numbers takes one only to close its word."""
    offset, count = record_words(config)[name]
    first = 0 if name == "action" else config.action
    slots = config.side // QUAD
    quads = -(-(first + count) // QUAD)
    for quad in range(quads):
        features = range(QUAD * quad, QUAD * (quad + 1))
        numbers = tuple(
            offset + feature - first if first <= feature < first + count else None
            for feature in features
        )
        word, slot = divmod(quad, slots)
        closes = slot == slots - 1 or quad == quads - 1
        if closes or any(number is not None for number in numbers):
            yield Step(name, word, slot, 0, numbers, closes)


def _joins(last, step):
    """Whether the end of a field and the beginning of the next are one step."""
    collide = any(
        a is not None and b is not None for a, b in zip(last.numbers, step.numbers, strict=True)
    )
    return last.field != step.field and not any(last.head) and not step.closes and not collide

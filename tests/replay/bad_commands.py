"""One bad command of each kind at the end of a program of ``random_programs``."""

import numpy as np

from hw.replay.commands import MAX_COUNT, MAX_GRANULES, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import Error

__all__ = ["BAD"]

_WORD = (1 << 32) - 1
_UNCOUNTED = (Opcode.SETUP, Opcode.SEED, Opcode.RESTORE)


def _spoil(source, items, bad):
    """``items`` with one to three of ``bad`` among them."""
    for _ in range(source.rng.randint(1, 3)):
        items.insert(source.rng.randint(0, len(items)), source.rng.choice(bad))
    return items


def _one_of(source, wrong):
    """One field with one of its wrong values."""
    name = source.rng.choice(list(wrong))
    return {name: source.rng.choice(wrong[name])}


def opcode(source, program):
    program.raw(source.rng.choice([0, 10, 255, 256 + Opcode.GET.value, 1 << 31, _WORD]))


def count(source, program):
    counted = [o for o in Opcode if o.value >= Opcode.INSERT.value]
    program.raw(source.rng.choice(counted), count=source.rng.choice([0, MAX_COUNT + 1, _WORD]))


def insert_count(source, program):
    """More than the ring holds."""
    program.raw(Opcode.INSERT, count=source.capacity + 1)


def transfer(source, program):
    """More granules than a command may move."""
    program.setup(2, 64, 1)
    program.raw(Opcode.FIND, count=MAX_COUNT)


def field(source, program):
    own, limit = source.replay.capacity, source.replay.priority_limit
    wrong = {
        "capacity": [0, 1, own + 1, _WORD],
        "granules": [MAX_GRANULES + 1, _WORD],
        "priority": [0, limit + 1],
    }
    good = {"capacity": 2, "granules": 1, "priority": 1}
    program.raw(Opcode.SETUP, **{**good, **_one_of(source, wrong)})


def restore(source, program):
    """A place that is not, more than all, and a memory that is not full but does not go on behind
    its newest."""
    position, fill = source.rng.choice(
        [
            (source.capacity, source.capacity),
            (_WORD, 1),
            (0, source.capacity + 1),
            (source.capacity - 1, source.capacity - 2),
            (0, 1),
        ]
    )
    program.raw(Opcode.RESTORE, position=position, fill=fill)


def other_field(source, program):
    """Numbers that would be cut, and bytes without a meaning."""
    opcode, wrong = source.rng.choice(
        [
            (Opcode.RESTORE, {"maximum": source.replay.priority_limit + 1}),
            (Opcode.INSERT, {"priority": source.replay.priority_limit + 1}),
            (Opcode.INSERT, {"given": 3}),
            (Opcode.INSERT, {"alpha": 1 << 16}),
            (Opcode.UPDATE, {"alpha": 1 << 16}),
            (Opcode.UPDATE, {"epsilon": 1 << 31}),
            (Opcode.SAMPLE, {"beta": 1 << 16}),
            (Opcode.SAMPLE, {"stratum_width": (1 << FRACTION_WIDTH) + 1}),
            (Opcode.SAMPLE, {"source": 64}),
            (Opcode.FIND, {"reserved": 1 << 63}),
            (Opcode.GET, {"beta": _WORD}),
            (Opcode.SET, {"destination": 64}),
            (Opcode.SEED, {"count": 1}),
        ]
    )
    program.raw(opcode, **{**({} if opcode in _UNCOUNTED else {"count": 1}), **wrong})


def padding(source, program):
    """Something behind the fields."""
    program.raw(Opcode.SET, count=1)
    program.last[source.rng.randrange(16, 64)] = 1


def both_priorities(source, program):
    """One for all, and a list."""
    program.insert(source.records(1), priority=1, priorities=[1])


def insert_item(source, program):
    """Of a list; the experiences are stored."""
    count = min(source.capacity, 20)
    items = [source.priority() for _ in range(count)]
    items[source.rng.randrange(count)] = source.replay.priority_limit + 1
    program.insert(source.records(count), priorities=items)


def insert_td(source, program):
    count = min(source.capacity, 20)
    errors = source.errors(count)
    errors[source.rng.randrange(count)] = source.rng.choice([np.nan, np.inf])
    program.insert(source.records(count), td_errors=errors, **source.power())


def priority(source, program):
    bad = [(0, source.replay.priority_limit + 1), (source.fill - 1, _WORD)]
    items = source.items(source.rng.randint(0, 30))
    program.listed(Opcode.SET, _spoil(source, items, bad))


def td(source, program):
    errors = _spoil(source, [1.0] * source.rng.randint(0, 30), [np.nan, np.inf, -np.inf])
    program.update(source.indexes(len(errors)), errors, alpha=19661, epsilon=7)


def index(source, program):
    bad = [source.fill, source.replay.capacity, _WORD]
    which = source.rng.choice([Opcode.SET, Opcode.UPDATE, Opcode.GET])
    if which == Opcode.GET:
        program.listed(which, _spoil(source, source.indexes(20), bad), beta=source.beta())
    else:
        items = source.items(source.rng.randint(0, 30))
        program.listed(which, _spoil(source, items, [(i, 1) for i in bad]))


def target(source, program):
    highest = source.replay.priority_limit * source.capacity
    bad = [highest, 1 << FRACTION_WIDTH, _WORD << 32]
    program.listed(Opcode.FIND, _spoil(source, [0] * source.rng.randint(0, 20), bad))


def fill(source, program):
    program.sample(source.fill + 1)


def empty(source, program):
    """Places that are filled by decree and have no priority."""
    source.setup(program)
    source.fill = 2
    program.raw(Opcode.RESTORE, fill=2, position=2 % source.capacity)
    program.sample(2)


def storage(source, program):
    """More than the buffer of the test holds."""
    capacity = source.replay.capacity
    program.raw(Opcode.SETUP, capacity=capacity, granules=MAX_GRANULES, priority=1)


def _outside(source, end):
    """Off a boundary, past the end, or where offset + length passes 32 bits."""
    return source.rng.choice([1, 16, 32, -(-end // 64) * 64, _WORD - 63])


def operands(source, program):
    """A list somewhere else, or one whose last byte is missing."""
    source.rng.choice([source.set, source.update, source.insert, source.get])(program)
    if source.granules and source.rng.random() < 0.5:
        program.operands_bytes -= 1
    else:
        which = source.rng.choice([Opcode.SET, Opcode.UPDATE, Opcode.GET])
        program.raw(which, count=1, source=_outside(source, program.operands_bytes))


def results(source, program):
    """As ``operands``, for batches."""
    program.insert(source.records(1), priority=1)  # now there is something to draw
    if source.rng.random() < 0.5:
        source.rng.choice([source.sample, source.get])(program)
        program.results_bytes -= 1
        return
    destination = _outside(source, program.results_bytes)
    which = source.rng.choice([Opcode.SAMPLE, Opcode.FIND, Opcode.GET])
    if which == Opcode.SAMPLE:
        program.raw(which, count=1, stratum_width=1, destination=destination)
    else:
        program.listed(which, [0, 0], destination=destination)


#: Function -> the error that it must end in.
BAD = {
    opcode: Error.OPCODE,
    count: Error.COUNT,
    insert_count: Error.COUNT,
    transfer: Error.COUNT,
    field: Error.FIELD,
    other_field: Error.FIELD,
    padding: Error.FIELD,
    restore: Error.RESTORE,
    both_priorities: Error.PRIORITY,
    insert_item: Error.PRIORITY,
    insert_td: Error.TD,
    storage: Error.BUFFER,
    priority: Error.PRIORITY,
    td: Error.TD,
    index: Error.INDEX,
    target: Error.TARGET,
    fill: Error.FILL,
    empty: Error.EMPTY,
    operands: Error.OPERANDS,
    results: Error.RESULTS,
}

"""Operations for the replay manager, what they must answer, and both as words of its streams."""

import itertools

import numpy as np

from sim.model.replay.tree.manager import FIND, GET, SAMPLE, SET
from sim.model.replay.tree.manager import ReplayManager as Twin

__all__ = ["SEED", "expected", "random_operations", "request_words", "response"]

SEED = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0xDEADBEEF01234567, 99]


def random_operations(config, count, rng):
    """``(operation, index, value)``: corners, repeats of one leaf, neighbours in one word."""
    limit, last = config.priority_limit, config.capacity - 1
    over = min((1 << config.index_width) - 1, last + 1)  # may be one past the end
    priorities, total, recent, operations = {}, 0, 0, []
    for _ in range(count):
        operation = rng.choices([GET, SET, SAMPLE, FIND], [2, 5, 3, 2])[0]
        index = rng.choice(
            [
                recent,
                recent,
                rng.randint(0, last),
                recent ^ 1,
                0,
                last,
                (recent & -config.fanout) + rng.randrange(config.fanout),
                (recent + config.fanout) % (last + 1),
            ]
        )
        index = over if rng.random() < 0.002 else min(index, last)
        value = 0
        if operation == SET:
            value = rng.choice(
                [
                    0,
                    1,
                    limit,
                    rng.randint(0, limit),
                    rng.randint(0, limit),
                    rng.randint(0, min(99, limit)),
                ]
            )
            if index <= last:
                recent = index
                total += value - priorities.get(index, 0)
                priorities[index] = value
        elif operation == FIND:
            value = rng.choice([0, max(0, total - 1), rng.randint(0, max(0, total - 1)), total])
        operations.append((operation, index, value))
    return operations


def expected(config, operations, step):
    """Responses ``(index, priority, error)`` of the twin, and the twin after them."""
    twin = Twin(config)
    twin.seed(SEED)
    answers = []
    for operation, run in itertools.groupby(operations, key=lambda o: o[0]):
        _, indexes, values = map(list, zip(*run, strict=True))
        if operation == GET:
            found, errors = twin.get(indexes)
        elif operation == SET:
            errors = twin.set(indexes, values)
            found = np.array(values)
        elif operation == SAMPLE:
            indexes, found, errors = twin.sample(len(indexes), stratum_width=step, first=False)
        else:
            indexes, found, errors = twin.find(values)
        answers += [
            (0, 0, 1) if e else (int(i), int(p), 0)
            for i, p, e in zip(indexes, found, errors, strict=True)
        ]
    return answers, twin


def request_words(config, operations):
    return [
        operation | index << 3 | value << 3 + config.index_width
        for operation, index, value in operations
    ]


def response(config, word):
    """``(index, priority, error)`` of a word of the response stream."""
    index = word & (1 << config.index_width) - 1
    return (
        index,
        word >> config.index_width & config.priority_limit,
        word >> config.index_width + config.priority_width,
    )

"""hw.fa3c.shared_reads: units that share the beats of the local masters, against times by hand."""

import pytest

from hw.fa3c.shared_reads import PassReads, TaskReads, shared_times


def task(*passes, ready=0):
    return TaskReads(ready, tuple(PassReads(*each) for each in passes))


COMPUTE, READ = (1000, 0, False), (1000, 1000, False)


@pytest.mark.parametrize(
    "queues, ends",
    [
        # Two units read a row a clock each; a third takes a share of it from both.
        ([[task(READ)]] * 2, [[1000], [1000]]),
        ([[task(READ)]] * 3, [[1500], [1500], [1500]]),
        ([[task(READ)]] * 4, [[2000]] * 4),
        # One that asks for less than its share has that, and leaves the rest to the others.
        ([[task(READ)], [task(READ)], [task((1000, 500, False))]], [[1250], [1250], [1000]]),
        # Rows that are in the ring when others begin to read: 100 of them.
        (
            [[task(COMPUTE, READ)]] + [[task(READ, ready=1000)]] * 3,
            [[2800], [2950], [2950], [2950]],
        ),
        # A unit that waits reads when it begins, and the second task after the first.
        (
            [[task(READ), task(READ)], [task(READ)], [task(READ, ready=3000)]],
            [[1000, 2000], [1000], [4000]],
        ),
    ],
)
def test_by_hand(queues, ends):
    found = shared_times(queues, ring=100, port=1, capacity=2)
    assert [[begin + times[-1] for begin, times in unit] for unit in found] == ends

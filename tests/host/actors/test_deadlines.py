"""Deadlines of a run's actors: who answers in time, and from when time counts."""

import pytest

from host.actors.messages import ActorLoss
from tests.host.actors.fake_transport import made, received

KILLED, SILENT = ActorLoss("killed"), "silent"


def test_hung():
    """No answer within the limit, counted from the answer before."""
    pool, transport, lines = made(strikes={(0, 0): {2: SILENT}})
    pool.start()
    transport.now = 100.0
    pool.call(0, "step", 1)
    pool.call(0, "step", 2)
    transport.now = 104.0
    assert pool.receive() == [(0, ("step", 1))]
    assert pool.receive() == [(0, None)] and 109.0 <= transport.now < 110.5
    assert lines[0][2] == ActorLoss("hung", "no answer within 5 s")
    assert pool.waited_s == pytest.approx(transport.now - 104.0)


def test_the_nearest_deadline_is_kept_beside_one_that_is_far():
    """An actor that opens has half a minute."""
    strikes = {(0, 0): {2: SILENT}, (1, 0): {1: KILLED}, (1, 1): {0: SILENT}}
    pool, transport, lines = made(strikes=strikes)
    pool.start()
    pool.call(1, "step")
    received(pool, 1)
    pool.call(0, "step")
    assert received(pool, 1) == [(0, ("step",))]
    called = transport.now
    pool.call(0, "step")
    assert received(pool, 1) == [(0, None)] and lines[-1][2].kind == "hung"
    assert 5 <= transport.now - called < 7


def test_the_limit_counts_from_the_first_of_two():
    pool, transport, lines = made(1, strikes={(0, 0): {1: SILENT}}, limit=3.0)
    pool.start()
    pool.call(0, "step", 1)
    transport.now = 2.4
    pool.call(0, "step", 2)
    assert pool.receive() == [(0, None)] and transport.now < 3.1, "and no longer than that"


def test_idle_time_does_not_count():
    """During an evaluation nobody is asked; the next call has the whole limit."""
    pool, transport, lines = made(1, strikes={(0, 0): {3: SILENT}})
    pool.start()
    transport.seconds = 4.5
    for turn in range(2):  # idle since the start, then since an answer
        transport.now += 1000.0
        pool.call(0, "step", turn)
        assert pool.receive() == [(0, ("step", turn))] and not lines
    transport.now += 1000.0
    called = transport.now
    pool.call(0, "step")
    assert pool.receive() == [(0, None)] and 5.0 <= transport.now - called < 6.5


def test_idle_time_does_not_raise_the_limit():
    pool, transport, _ = made(1, limit=None)
    pool.start()
    transport.seconds = 2.0
    for _ in range(3):
        transport.now += 1000.0
        pool.call(0, "step")
        pool.receive()
    assert pool.limit == 60.0


def test_the_limit_follows_the_answers():
    pool, transport, _ = made(1, limit=None)
    pool.start()
    assert pool.limit == 60.0
    transport.seconds = 9.0
    for _ in range(5):
        pool.call(0, "step")
        pool.receive()
    assert pool.limit == 180.0
    assert made(limit=2.5)[0].limit == 2.5

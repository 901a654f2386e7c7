"""A reset of the card in the middle of a launch: afterwards each kernel is as after loading.

The memory behind the masters drops what it owes them and keeps its bytes. Then a launch
of no commands, which shows the state, one that mostly misses what the reset has taken, and the
whole program leave the bytes of a new twin.
"""

import functools
import random
from contextlib import contextmanager

import numpy as np
import pytest
from kernels.whole_programs import PROGRAMS, QUICK, Session
from marks import long_but
from programs import Launch, assert_left
from replay.kernels import opened

from hw.shell.program import COMMAND_BYTES
from hw.shell.reset import RESET_LATENCY
from sim.card.verilated import Outcome

#: Clocks between two looks at the channels of a launch that ends by itself.
_STEP = 8
#: The shortest reset, in which each master falls silent, and one of boards.
_RESETS = RESET_LATENCY + 1, 16
#: Kinds of moments of a launch.
MOMENTS = ("first", "reading", "writing", "any", "last")


def _kinds(engine):
    """Kinds of moments, of those that depend on the channels, that the present clock is."""
    owed = {channel for (_, channel), state in engine.channels().items() if state.pending}
    return (
        {"any"} | ({"reading"} if "R" in owed else set()) | ({"writing"} if owed - {"R"} else set())
    )


@contextmanager
def _waiting(engine, wait):
    """``engine``, whose launches the host waits for by ``wait()``; then they count as ended."""

    def ended(seconds=None):
        wait()
        return Outcome.DONE

    engine.wait = ended
    try:
        yield
    finally:
        del engine.wait


def profile(session, number):
    """``{kind: clocks}`` of a launch, the next in its order, which ends by itself."""
    engine, found = session.engine, {kind: [] for kind in MOMENTS}

    def wait():
        clock = 0
        while engine.advance(_STEP) is Outcome.RUNNING:
            clock += _STEP
            for kind in _kinds(engine):
                found[kind].append(clock)

    with _waiting(engine, wait):
        session.run(number)
    found["first"] = range(2 * _STEP)
    found["last"] = range(engine.cycles - 2 * _STEP, engine.cycles + 2)
    return found


def cut(session, number, kind, clock, low):
    """After the launches before it, ``clock`` clocks of launch ``number``, and a reset for ``low``
    clocks."""
    engine = session.engine

    def wait():
        assert engine.advance(clock) is Outcome.RUNNING or kind == "last"
        assert kind in ("first", "last") or kind in _kinds(engine)
        engine.reset(low)

    engine.reset()
    for before in range(number):
        session.run(before)
    with _waiting(engine, wait):
        session.run(number)
    session.restore()


def _probed(session, probe):
    """What is left by a launch of no commands, by launch ``probe``, and by the whole program."""
    empty = Launch(np.zeros((0, COMMAND_BYTES), np.uint8), np.zeros(64, np.uint8), 0, 0)
    return [session.rig.run(empty), session.run(probe), *session.run_all()]


@functools.cache
def by_twin(design, probe):
    with opened("model", PROGRAMS[design].config) as kernel:
        return _probed(Session(design, kernel), probe)


@pytest.mark.parametrize(
    "design, rounds",
    long_but([(name, 4) for name in QUICK], [(name, k) for name in PROGRAMS for k in (4, 40)]),
)
def test_a_launch_that_a_reset_ends(design, rounds):
    """``rounds`` moments of each kind, on one kernel, which keeps what the resets leave in it."""
    rng = random.Random(rounds)
    with opened("sim", PROGRAMS[design].config) as kernel:
        session = Session(design, kernel)
        clocks = [profile(session, number) for number in range(len(session.launches))]
        for kind in rounds * MOMENTS:
            number = rng.choice([k for k, found in enumerate(clocks) if found[kind]])
            clock, low = rng.choice(clocks[number][kind]), rng.choice(_RESETS)
            cut(session, number, kind, clock, low)
            probe = rng.randrange(len(clocks))
            pairs = zip(_probed(session, probe), by_twin(design, probe), strict=True)
            for place, (left, expected) in enumerate(pairs):
                label = f"reset at clock {clock} ({kind}) of launch {number} for {low} clocks"
                assert_left(left, expected, f"{label}; none, launch {probe}, all: {place}")


@pytest.mark.parametrize("low", _RESETS)
def test_a_reset_between_launches(low):
    """And before the first, and another one at once."""
    with opened("sim", PROGRAMS["gae"].config) as kernel:
        session = Session("gae", kernel)
        for _ in range(3):
            session.engine.reset(low)
            for left, expected in zip(_probed(session, 1), by_twin("gae", 1), strict=True):
                assert_left(left, expected, "a reset between launches")
            session.engine.reset(low)


def test_a_card_in_reset_is_silent():
    """From ``RESET_LATENCY + 1`` clocks on, no master asks for anything."""
    with opened("sim", PROGRAMS["gae"].config) as kernel:
        session = Session("gae", kernel)
        cut(session, 2, "first", 9, _RESETS[0])
        before = {key: state.beats for key, state in session.engine.channels().items()}
        session.engine.reset(64)
        states = session.engine.channels()
        assert {key: state.beats for key, state in states.items()} == before
        assert not any(state.valid or state.pending for state in states.values())


def test_each_kind_of_moment_is_in_a_program():
    with opened("sim", PROGRAMS["gae"].config) as kernel:
        session = Session("gae", kernel)
        found = [profile(session, number) for number in range(len(session.launches))]
    assert all(any(clocks[kind] for clocks in found) for kind in MOMENTS)

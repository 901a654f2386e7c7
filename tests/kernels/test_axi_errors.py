"""Memory that fails one answer, with SLVERR or DECERR, anywhere in each design's whole program.

What each command leaves after one is for the tests of the designs. Here: the launch ends, and says
AXI; and nothing of it is left over, for the program from its start leaves what a new twin leaves.
"""

import functools
import random
from itertools import pairwise

import pytest
from kernels.whole_programs import PROGRAMS, QUICK, Session
from marks import long_but
from programs import assert_left, status_of
from replay.kernels import opened

from hw.shell.errors import ShellError
from sim.card.memory import RESPONSES, Fault, MemoryConfig


@functools.cache
def by_twin(design):
    """What each launch leaves, without what counts since reset."""
    with opened("model", PROGRAMS[design].config) as kernel:
        session = Session(design, kernel)
        return [session.without_counts(k, left) for k, left in enumerate(session.run_all())]


def answers(design):
    """``[{(master, channel): answers before the launch}]`` where none fails, one more for the end;
    the errors of the launches; and the clocks of the longest."""
    totals, errors, clocks = [{}], [], []
    with opened("sim", PROGRAMS[design].config) as kernel:
        session = Session(design, kernel)
        for number in range(len(session.launches)):
            left = session.run(number)
            errors.append(int(status_of(left["status"], session.status)[0]["error"]))
            clocks.append(session.engine.cycles)
            totals.append({key: state.beats for key, state in session.engine.channels().items()})
    return totals, errors, max(clocks)


@pytest.mark.parametrize(
    "design, count",
    long_but([(name, 8) for name in QUICK], [(name, k) for name in PROGRAMS for k in (8, 200)]),
)
def test_an_answer_that_fails(design, count):
    """``count`` times, each on a kernel of its own."""
    rng, (totals, healthy, longest) = random.Random(count), answers(design)
    places = [
        (number, key, before.get(key, 0), after[key])
        for number, (before, after) in enumerate(pairwise(totals))
        for key in after
        if key[1] in "RB" and after[key] > before.get(key, 0)
    ]
    for _ in range(count):
        launch, (master, channel), first, end = rng.choice(places)
        place, response = rng.randrange(first, end), rng.choice([*RESPONSES])
        fault = Fault(
            master=master, channel=channel, kind="error", skip=place, count=1, response=response
        )
        label = f"{response} of {master} {channel} {place - first} in launch {launch}"
        memory = MemoryConfig(faults=(fault,), max_idle=20_000)
        with opened("sim", PROGRAMS[design].config, memory=memory) as kernel:
            session = Session(design, kernel)
            for number in range(launch + 1):
                left = session.run(number)
            assert session.engine.cycles < 2 * longest, label
            shell, _ = status_of(left["status"], session.status)
            if (master, channel, place) == ("m_axi_host", "B", end - 1):
                allowed = {healthy[launch]}  # of the status, which nothing can tell
            else:
                allowed = {ShellError.AXI, healthy[launch] or ShellError.AXI}
            assert shell["error"] in allowed, label
            assert not shell["error"] or shell["executed"] == shell["error_command"], label
            session.restore()
            for number, expected in enumerate(by_twin(design)):
                left = session.without_counts(number, session.run(number))
                assert_left(left, expected, f"{label}; launch {number} of the next program")


@pytest.mark.parametrize("response", RESPONSES)
def test_the_write_of_the_status_fails(response):
    """Nothing can tell: the launch has done all the same, and so has the next."""
    totals, _, _ = answers("gae")
    key = "m_axi_host", "B"
    fault = Fault(
        master=key[0],
        channel="B",
        kind="error",
        skip=totals[1][key] - 1,
        count=1,
        response=response,
    )
    with opened("sim", PROGRAMS["gae"].config, memory=MemoryConfig(faults=(fault,))) as kernel:
        session = Session("gae", kernel)
        for number, expected in enumerate(by_twin("gae")):
            assert_left(session.run(number), expected, f"launch {number}")

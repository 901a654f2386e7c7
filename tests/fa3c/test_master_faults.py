"""Masters of theta and of its squares that fail or stand still, and four local masters.

The kernel is the smallest that has them. Its launches: a LOAD of both images, a snapshot and a
rollout; a ROUND that trains, makes another snapshot and infers; this ROUND again; all of it from
the start, which must give the same as a twin that never saw the failed ROUND.
"""

import functools

import pytest
from fa3c.kernel_programs import RandomRounds, Rig
from fa3c.networks import network
from fa3c.tasks import blank_task
from fa3c.test_faults import clean, own
from faults import Course, assert_same, failed, shell_of
from replay.kernels import opened

from host.cards import CardTimeout
from hw.fa3c.records import Error
from hw.shell.axi import EngineConfig
from sim.card.memory import CHANNELS, Fault, MemoryConfig

pytestmark = pytest.mark.long  # a kernel of its own is compiled

INFER, TRAIN, SYNC = range(3)
IMAGES, FAILING, ONCE_MORE, AGAIN = range(4)

#: One unit of a lane; a snapshot has six blocks of rows, so that all local masters have some.
APART = network(
    height=3,
    width=3,
    channels=1,
    convolutions=((4, 2, 1),),
    hidden=(),
    lanes=1,
    steps=1,
    units=("any",),
    batch=1,
    agents=2,
    snapshots=2,
    tasks=4,
    parameter_rows=64,
    rms_units=1,
    drain_words=1,
    global_masters=2,
    local_masters=4,
    engine=EngineConfig(data_width=128, depth=64, burst_beats=16, bursts=4),
)
MASTERS = ("theta", "squares", *APART.local_names)


@functools.cache
def course():
    source = RandomRounds(APART, seed=1)
    before = [blank_task(SYNC), blank_task(INFER, count=1)]
    failing = [
        blank_task(TRAIN, count=1, **source.constants()),
        blank_task(SYNC, snapshot=1),
        blank_task(INFER, count=1, agents=[1, *[0] * 7]),
    ]
    again = source.round(failing)
    launches = [source.images(before), again, again, source.images(before)]
    rig = functools.partial(Rig, config=APART)
    return Course(functools.partial(opened, config=APART), rig, launches)


@functools.cache
def twin():
    """Without the failed ROUND: both launches that begin with images."""
    return course().twin(course().launches[IMAGES], course().launches[AGAIN])


def test_nothing_fails():
    launches = course().launches
    expected = course().twin(*launches)
    assert course().answers(FAILING, "theta", "R") > 0
    for number, (got, wanted) in enumerate(zip(course().healthy, expected, strict=True)):
        assert_same(got, wanted, f"launch {number}")
    assert [int(shell_of(each)["error"]) for each in expected] == [0, 0, Error.STEP, 0]


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("channel", "RB")
def test_a_round_whose_memory_fails(master, channel):
    """By its last answer: theta and squares are missing until they are loaded again."""
    number = course().answers(FAILING, master, channel) - 1
    assert number >= 0
    outputs, label = course().fail(FAILING, master, channel, number), f"{master} {channel}"
    assert failed(outputs[FAILING], 0, label) == 0
    status = own(outputs[FAILING])
    assert (status["loaded"], status["synced"], status["overflow"]) == (0, 0b01, 0), label
    assert shell_of(outputs[ONCE_MORE])["error"] == Error.MISSING, label
    assert shell_of(outputs[AGAIN])["error"] == Error.NONE, label
    assert_same(clean(outputs[AGAIN]), clean(twin()[1]), label)


def test_a_load_of_theta_that_fails():
    """It is missing, and so is the snapshot of the theta before it; squares stay as they were."""
    outputs = course().fail(AGAIN, "theta", "B", 0)
    failed(outputs[AGAIN], 0, "theta")
    assert (own(outputs[AGAIN])["loaded"], own(outputs[AGAIN])["synced"]) == (0b10, 0)
    assert_same(outputs[AGAIN], outputs[ONCE_MORE], "theta", ["squares"])


def test_a_load_of_squares_that_fails():
    """They are missing; theta, which was loaded before them on its own master, is the twin's."""
    outputs = course().fail(AGAIN, "squares", "B", 0)
    failed(outputs[AGAIN], 1, "squares")
    assert own(outputs[AGAIN])["loaded"] == 0b01
    assert_same(outputs[AGAIN], twin()[1], "squares", ["theta"])


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_stuck_channel_is_named(master, channel):
    """The launch ends after a bounded time, and the message has the channel's name."""
    fault = Fault(master=f"m_axi_{master}", channel=channel)
    with opened("sim", APART, memory=MemoryConfig(faults=(fault,), max_idle=3000)) as kernel:
        rig = Rig(kernel, APART)
        with pytest.raises(CardTimeout, match=f"m_axi_{master} {channel} stands still"):
            for launch in course().launches:
                rig.run(launch)

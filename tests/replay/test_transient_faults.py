"""Memory that fails one answer: what a command of the replay kernel leaves, and does not."""

import numpy as np
import pytest
from faults import EVERYWHERE, assert_same, failed, shell_of
from later import later
from replay.fault_courses import GRANULES, PROGRAM_BEATS, SLOW, Small, course, launch_of, records
from replay.kernels import NARROW, WIDE, opened
from replay.programs import BLANK, Program, status_of

from hw.replay.commands import Opcode
from hw.replay.records import HEADER, Error

CAPACITY = 30
#: Answers in the clock after their question.
AT_ONCE = dict(read_latency=1, write_latency=1)


def filled(capacity=CAPACITY):
    """Every place holds an experience of priority 7."""
    one = Program(GRANULES)
    one.setup(capacity, GRANULES, 7)
    one.raw(Opcode.SEED, state=[1, 2, 3, 4])
    one.insert(records(capacity))
    return one.launch()


def census(capacity=CAPACITY):
    """All priorities, and a draw."""
    one = Program(GRANULES)
    one.listed(Opcode.GET, range(capacity))
    one.sample(9, beta=1 << 15)
    return one.launch()


def priorities(outputs, count=CAPACITY):
    """Of a ``census``."""
    return outputs["results"][: count * HEADER.size].view(HEADER.dtype)["priority"].tolist()


@pytest.mark.parametrize("card", ["sim", "model"])
@pytest.mark.parametrize("name", ["get", "find", "sample"])
@pytest.mark.parametrize(
    "room, error", [(16, Error.RESULTS), (63, Error.RESULTS), (64, Error.NONE)]
)
def test_nothing_is_written_beyond_results(card, name, room, error):
    """A record of 16 or 32 bytes takes a beat of 64, which must be there as a whole."""
    with opened(card, WIDE) as kernel:
        rig, one = Small(kernel, 8192), Program()
        one.setup(2, 1, 7)
        one.insert(records(2, 1))
        if name == "sample":
            one.sample(1)
        else:
            one.listed({"get": Opcode.GET, "find": Opcode.FIND}[name], [0])
        launch = one.launch()
        launch.results_bytes = room
        outputs = rig.run(launch)
    assert shell_of(outputs)["error"] == error
    beyond = 0 if error else 64
    assert (outputs["results"][beyond:] == BLANK).all()
    assert error or (outputs["results"][:16] != BLANK).any()


def test_a_command_that_was_not_read_is_not_executed():
    """18 SETs of one item: 16 commands are fetched, then their lists as they run, then two more."""
    one = Program(GRANULES)
    for number in range(18):
        one.listed(Opcode.SET, [(number % 5, 100 + number)])
    faulty = course(filled(), one.launch(), census())
    assert faulty.answers(1, "host", "R") == 64 + 16 + 8 + 2
    for beat in range(90):
        if beat < 64:
            command = beat // 4
        elif beat < 80:
            command = beat - 64
        elif beat < 88:
            command = 16 + (beat - 80) // 4
        else:
            command = 16 + (beat - 88)
        outputs = faulty.fail(1, "host", "R", beat)
        assert failed(outputs[1], command, beat) == 0
        expected = [7] * CAPACITY
        for number in range(command):
            expected[number % 5] = 100 + number
        assert priorities(outputs[2]) == expected, beat


@pytest.mark.parametrize(
    "config, memory, stride",
    [(NARROW, {}, 1), (NARROW, SLOW, 4), (WIDE, {}, 1), (WIDE, SLOW, 1)],
    ids=["fast", "slow", "wide-fast", "wide-slow"],
)
def test_items_of_a_set_from_the_detail_on_are_left_out(config, memory, stride):
    """Two items a beat, or eight; those before the detail count, also those on their way."""
    items, size = [(item % CAPACITY, 100 + item) for item in range(60)], config.engine.beat_bytes
    launch = launch_of("listed", Opcode.SET, items)
    faulty = course(filled(), launch, census(), config=config, **memory)
    details = []
    for beat in range(0, 60 * 8 // size, stride):
        outputs = faulty.fail(1, "host", "R", 64 // size + beat)
        details.append(failed(outputs[1], 0, beat))
        first = beat * size // 8
        assert details[-1] == first if memory else details[-1] <= first
        expected = [7] * CAPACITY
        for index, priority in items[: details[-1]]:
            expected[index] = priority
        assert priorities(outputs[2]) == expected, beat
    assert details[-1] > 30


def test_the_detail_is_that_of_memory():
    """A bad item before it is left out as well, but is not what the detail says."""
    items = [(item, 100 + item) for item in range(20)]
    items[1] = (CAPACITY, 1)
    faulty = course(filled(), launch_of("listed", Opcode.SET, items), census(), **SLOW)
    assert shell_of(faulty.twin(*faulty.launches)[1])["error"] == Error.INDEX
    outputs = faulty.fail(1, "host", "R", PROGRAM_BEATS + 6)
    assert failed(outputs[1], 0, "beat 6") == 12
    assert priorities(outputs[2]) == [100, 7, *range(102, 112), *[7] * (CAPACITY - 12)]


@pytest.mark.parametrize("memory, stride", [({}, 2), (SLOW, 8)], ids=["fast", "slow"])
def test_items_of_an_update_from_the_detail_on_are_left_out(memory, stride):
    errors = np.random.default_rng(3).standard_normal(60)
    power = dict(alpha=19661, epsilon=7)

    def update(count):
        indexes = [item % CAPACITY for item in range(count)]
        return launch_of("update", indexes, errors[:count], **power)

    faulty, details = course(filled(), update(60), census(), **memory), []
    for beat in range(0, 30, stride):
        outputs = faulty.fail(1, "host", "R", PROGRAM_BEATS + beat)
        details.append(failed(outputs[1], 0, beat))
        assert details[-1] == 2 * beat if memory else details[-1] <= 2 * beat
        before = [update(details[-1])] if details[-1] else []
        assert_same(outputs[2], faulty.twin(filled(), *before, census())[-1], beat)
    assert details[-1] > 30


#: Commands that change nothing, and the ports whose answers they wait for.
READING = {
    "get": ([Opcode.GET, range(9)], [("host", "R"), ("host", "B")]),
    "find": ([Opcode.FIND, range(0, 210, 23)], [("host", "R"), ("host", "B"), ("storage", "R")]),
    "sample": ([9], [("host", "B"), ("storage", "R")]),
}


@pytest.mark.parametrize("name", READING)
def test_what_only_reads_changes_nothing(name):
    """All is as after the command without a fault; of a SAMPLE the generator too."""
    arguments, ports = READING[name]
    launch = launch_of("sample" if name == "sample" else "listed", *arguments)
    faulty = course(filled(), launch, census())
    expected = faulty.twin(*faulty.launches)[2]
    assert priorities(expected) == [7] * CAPACITY
    for master, channel in ports:
        # Neither the program nor the status.
        skip = {("host", "R"): (PROGRAM_BEATS, 0), ("host", "B"): (0, 1)}
        first, last = skip.get((master, channel), (0, 0))
        numbers = range(first, faulty.answers(1, master, channel) - last)
        assert len(numbers) >= (27 if master == "storage" else 1)
        for number in numbers:
            outputs = faulty.fail(1, master, channel, number)
            failed(outputs[1], 0, (master, channel, number))
            assert_same(outputs[2], expected, (master, channel, number))


@pytest.mark.parametrize(
    "error, beat, name, arguments, fields",
    [
        (Error.INDEX, 0, "listed", (Opcode.SET, [(CAPACITY, 1)]), {}),
        (Error.PRIORITY, 0, "listed", (Opcode.SET, [(0, 0xFFFF_FFFF)]), {}),
        (Error.INDEX, 0, "listed", (Opcode.GET, [0xFFFF_FFFF]), {}),
        (Error.TARGET, 0, "listed", (Opcode.FIND, [(1 << 64) - 1]), {}),
        (Error.TD, 0, "update", ([0], [np.nan]), {}),
        (Error.PRIORITY, 3, "insert", (records(1),), dict(priorities=[0xFFFF_FFFF])),
        (Error.TD, 3, "insert", (records(1),), dict(td_errors=[np.inf])),
    ],
)
def test_axi_wins_over_what_a_failed_beat_holds(error, beat, name, arguments, fields):
    """A beat that says SLVERR may hold anything: the host's data are not to blame."""
    faulty = course(filled(), launch_of(name, *arguments, **fields))
    assert shell_of(faulty.twin(*faulty.launches)[1])["error"] == error
    failed(faulty.fail(1, "host", "R", PROGRAM_BEATS + beat)[1], 0, name)


@pytest.mark.parametrize(
    "error, opcode, item, master, channel",
    [
        (Error.INDEX, Opcode.GET, CAPACITY, "host", "B"),
        (Error.TARGET, Opcode.FIND, 7 * CAPACITY, "host", "B"),
        (Error.TARGET, Opcode.FIND, 7 * CAPACITY, "storage", "R"),
    ],
)
def test_axi_wins_over_a_bad_item_beside_it(error, opcode, item, master, channel):
    """The item is bad in truth, but that is not what the host must know first."""
    faulty = course(filled(), launch_of("listed", opcode, [0, item, 1]))
    assert shell_of(faulty.twin(*faulty.launches)[1])["error"] == error
    failed(faulty.fail(1, master, channel, 0)[1], 0, error)


def everything():
    """Every command, from SETUP on."""
    one = Program(GRANULES)
    one.setup(20, GRANULES, 7)
    one.raw(Opcode.SEED, state=[5, 6, 7, 8])
    one.insert(records(18))
    one.insert(records(4), priorities=[1, 2, 3, 4])
    one.raw(Opcode.RESTORE, position=2, fill=20, maximum=99)
    one.listed(Opcode.SET, [(index, 10 * index) for index in range(20)])
    one.update(range(5), np.arange(5.0), alpha=19661, epsilon=7)
    one.sample(6, beta=1 << 14)
    one.listed(Opcode.FIND, range(0, 60, 10))
    one.listed(Opcode.GET, range(20))
    return one.launch()


@pytest.mark.parametrize(
    "memory, stride",
    [(AT_ONCE, 3), later(AT_ONCE, 1), later({}, 1)],
    ids=["one in three", "at once", "late"],
)
def test_nothing_is_left_over(memory, stride):
    """Whichever answer fails: the next launch of the same program is as if it were the first."""
    swept = course(everything(), everything(), **memory)
    assert swept.answers(0, "host", "R") == 134
    assert swept.sweep(0, again=1, stride=stride) == EVERYWHERE
    _, status = status_of(swept.healthy[1]["status"])
    assert (status["fill"], status["position"], status["capacity"]) == (20, 2, 20)

"""What refuses a launch as a whole, for every kernel: literal cases on a ``limits.Bench``.

Of each, ``command`` is one that changes what the design's status shows.
"""

from limits import same_state
from programs import BLANK

from host.cards.buffer import Buffer

__all__ = ["check_opcodes", "check_pointers", "check_programs", "check_status"]

OPCODE, PROGRAM, POINTER = 1, 8, 9


def check_opcodes(bench, opcodes, others=()):
    """``opcodes``: name to number of every command in ``bench.good``; ``others``: numbers of those
    that are not. No other number is a command, nor one of these with a bit more."""
    program = bench.program([(name, {}) for name in opcodes])
    assert program[:, :4].view("<u4")[:, 0].tolist() == list(opcodes.values())
    known = {*opcodes.values(), *others}
    unknown = {number for number in range(256) if number not in known} | {2**32 - 1}
    for number in known:
        unknown |= {number << 8, 2**8 + number, 2**16 + number, 2**31 + number}
    last = list(opcodes)[-1]
    before, outcome = bench.run(bench.before[last])
    assert outcome[:2] == (0, 0)
    for number in unknown:
        row = program[-1:].copy()
        row[0, :4].view("<u4")[0] = number
        outputs, outcome = bench.run(row)
        assert outcome == (OPCODE, 0, 0), number
        same_state(outputs, before, number)


def check_programs(bench, command):
    """A command is 64 bytes: three of them need 192."""
    program = bench.program([command] * 3)
    before, _ = bench.run([])
    for count, size in (
        *((1, 0), (1, 63), (2, 127), (3, 128), (3, 191)),
        # Numbers that are few commands, or few bytes, where a bit is cut.
        *(
            (2**26, 192),
            (2**26 + 1, 192),
            (2**31 + 3, 192),
            (2**32 - 1, 192),
            (2**32 - 1, 2**32 - 1),
        ),
    ):
        label = f"{count} commands in {size} bytes"
        outputs, outcome = bench.run(program, command_count=count, program_bytes=size)
        assert outcome == (PROGRAM, 0, 0), label
        same_state(outputs, before, label)
    for count, size in ((0, 0), (0, 63), (1, 64), (2, 191), (3, 192), (3, 2**32 - 1)):
        outcome = bench.run(program, command_count=count, program_bytes=size)[1]
        assert outcome == (0, 0, count), f"{count} commands in {size} bytes"


def _moved(bench, name, by):
    """The buffer from its byte ``by`` on."""
    whole, api = bench.rig.buffers[name], bench.rig.kernel.card.api
    size = whole.size - by
    return Buffer(api, api.bo(whole.bo, size, by), size, size, whole.group)


def check_pointers(bench, command, ids):
    """A buffer begins on a multiple of 64; ``ids``: name to id of each but the status."""
    program = bench.program([command] * 3)
    before, _ = bench.run([])

    def refused(number, count=2, **by):
        outputs, outcome = bench.run(
            program,
            command_count=count,
            **{name: _moved(bench, name, distance) for name, distance in by.items()},
        )
        assert outcome == (POINTER, number, 0), by
        same_state(outputs, before, by)

    for name, number in ids.items():
        for by in (1, 2, 4, 8, 16, 32, 96):
            refused(number, **{name: by})
        moved = {name: _moved(bench, name, 64)}
        # Of three commands that are the same the second and the third are the first two.
        assert bench.run(program, command_count=2, **moved)[1] == (0, 0, 2), name
        before, _ = bench.run([])
        # Survivor 40: also a buffer of no bytes.
        described = bench.rig.kernel.description.arguments
        size = next(argument.name for argument in described if argument.buffer == name)
        bare = {size: 0, name: _moved(bench, name, 32)}
        assert bench.run(program, command_count=0, **bare)[1] == (POINTER, number, 0), name
    # The first of them is named, and counts for more than a program that is too long.
    refused(min(ids.values()), **dict.fromkeys(ids, 32))
    refused(2, results=16, count=4)


def check_status(bench, command, size):
    """A launch that cannot say how it ended does nothing; the status block has ``size`` bytes."""
    program = bench.program([command] * 3)
    before, _ = bench.run([])
    status = bench.rig.buffers["status"]
    misaligned = [{"status": _moved(bench, "status", by)} for by in (1, 2, 4, 8, 16, 32, 96)]
    for arguments in (
        *({"status_bytes": room} for room in (size - 1, size - 64, 64, 0)),
        *misaligned,
        {"status_bytes": size - 1, "command_count": 4},
        {**misaligned[0], "results": _moved(bench, "results", 32)},
    ):
        bench.rig.run(bench.launch(program), **arguments)
        assert (status.view == BLANK).all(), arguments
        same_state(bench.run([])[0], before, arguments)
    assert bench.run(program, status_bytes=size)[1] == (0, 0, 3)
    assert (status.view[size:] == BLANK).all() and not (status.view[:size] == BLANK).all()
    bench.rig.run(bench.launch(program), status=_moved(bench, "status", 64))
    assert (status.view[:64] == BLANK).all() and status.view[64:68].tobytes() == b"AFLR"

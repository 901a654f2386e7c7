"""The commands of the kernel ``a3c``, with their fields and limits, footprints and rules."""

from functools import cache

from amaranth.lib import enum

from hw.fa3c.records import TASK, Error
from hw.shell.buffers import Buffer
from hw.shell.command import Command, CommandTable, Footprint, Rule, counted, operands, results
from hw.shell.layout import Field

__all__ = ["COMMANDS", "IMAGES", "Opcode", "buffers_of", "commands_of"]

#: The images that LOAD and STORE move: the number of an image is its place here, and its buffer
#: has its name.
IMAGES = ("theta", "squares")


def buffers_of(config):
    """The buffers that other kernels do not have. Snapshots and rollouts are spread over the local
    masters."""
    own = config.global_masters > 1
    masters = {name: name if own else "global" for name in IMAGES}
    masters |= {name: name for name in config.local_names}
    return tuple(Buffer(name=name, master=master) for name, master in masters.items())


class Opcode(enum.Enum, shape=8):
    """The operation of a command of ``a3c``; ``COMMANDS`` describes each."""

    NONE = 0  #: not a command
    LOAD = 1
    STORE = 2
    ROUND = 3


def _image(c, s):
    """Bytes of theta; squares have as many."""
    return s.config.theta_bytes


def _buffer(name):
    return lambda c, s: s.config.buffer_bytes[name]


_THETA = Footprint(
    "theta",
    _buffer("theta"),
    "theta, rows of 16 words, and behind it the transposed image, if the layout is alt2",
)
_SQUARES = Footprint(
    "squares", _image, "squares, the running mean of squared gradients, in the order of theta"
)
_WHICH = Field("image", "u32", "0: theta, 1: squares", high=1)

_LOAD = Command(
    Opcode.LOAD,
    "Take theta or squares from operands. A LOAD of theta empties all rollouts, and no snapshot "
    "counts as made. If memory fails during a LOAD, its image is missing.",
    (_WHICH,),
    footprints=(operands(_image, "the image"), _THETA, _SQUARES),
)
_STORE = Command(
    Opcode.STORE,
    "Write theta or squares to results.",
    (_WHICH,),
    footprints=(results(_image, "the image"), _THETA, _SQUARES),
    rules=(
        Rule(
            Error.MISSING,
            lambda c, s: (
                ((c.image == 0) & ((s.loaded & 1) == 0)) | ((c.image == 1) & ((s.loaded & 2) == 0))
            ),
            "the image is loaded",
        ),
    ),
)


def _round(local_masters):
    """ROUND of a kernel with so many local masters."""
    return Command(
        Opcode.ROUND,
        "Execute `count` tasks; units work side by side, and the result is as if the tasks ran one "
        "after the other. All tasks are checked before any starts. If memory fails during a "
        "ROUND, what its tasks write is undefined: the rollouts of its agents are empty, the "
        "snapshots of its SYNCs are not made, and if it has a TRAIN, theta and squares are "
        "missing.",
        count=counted(lambda config: config.tasks, "tasks"),
        footprints=(
            operands(lambda c, s: c.count * TASK.size, "`count` TASKs"),
            _THETA,
            _SQUARES,
            *(_local(number, local_masters) for number in range(local_masters)),
        ),
        rules=(Rule(Error.MISSING, lambda c, s: s.loaded != 3, "theta and squares are loaded"),),
    )


def _local(number, local_masters):
    name = f"local{number}"
    return Footprint(
        name,
        _buffer(name),
        f"snapshots and rollouts: of the blocks of 16 rows, one of {local_masters}, from block "
        f"{number} on",
    )


@cache
def commands_of(local_masters):
    """The table of the commands of a kernel with so many local masters."""
    return CommandTable((_LOAD, _STORE, _round(local_masters)))


#: The commands of a kernel with two local masters; others have more footprints.
COMMANDS = commands_of(2)

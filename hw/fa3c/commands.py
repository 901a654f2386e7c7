"""The commands of the kernel ``a3c``: each with its fields and limits, footprints and rules."""

from amaranth.lib import enum

from hw.fa3c.records import TASK, Error
from hw.shell.buffers import Buffer
from hw.shell.command import Command, CommandTable, Footprint, Rule, counted, operands, results
from hw.shell.layout import Field

__all__ = ["BUFFERS", "COMMANDS", "IMAGES", "Opcode"]

#: What LOAD and STORE move, by number; each has a buffer of its name.
IMAGES = ("theta", "squares")

#: Beyond those of every kernel. Snapshots and rollouts are spread over both local masters.
BUFFERS = (
    *(Buffer(name=name, master="global") for name in IMAGES),
    Buffer(name="local0", master="local0"),
    Buffer(name="local1", master="local1"),
)


class Opcode(enum.Enum, shape=8):
    """What a command of ``a3c`` does; ``COMMANDS`` says how."""

    NONE = 0  #: no command has it
    LOAD = 1
    STORE = 2
    ROUND = 3


def _image(c, s):
    """Bytes of theta, and of g."""
    return s.config.theta_bytes


def _local(c, s):
    return s.config.local_bytes


_THETA = Footprint("theta", _image, "theta, rows of 16 words")
_SQUARES = Footprint("squares", _image, "g, the decayed mean of squared gradients, laid as theta")
_LOCALS = (
    Footprint("local0", _local, "snapshots and rollouts: every block of 16 rows with even number"),
    Footprint("local1", _local, "the blocks with odd number"),
)
_WHICH = Field("image", "u32", "0: theta, 1: g", high=1)

_LOAD = Command(
    Opcode.LOAD,
    "Take theta or g from operands. With theta all rollouts become empty, and no snapshot counts "
    "as made. One that memory fails leaves the image missing.",
    (_WHICH,),
    footprints=(operands(_image, "the image"), _THETA, _SQUARES),
)
_STORE = Command(
    Opcode.STORE,
    "Write theta or g to results.",
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
_ROUND = Command(
    Opcode.ROUND,
    "Execute `count` tasks, units side by side; the result is as if they ran one after the other. "
    "All are checked before any starts. One that memory fails leaves what its tasks write in any "
    "state: rollouts of its agents are empty, snapshots of its SYNCs are not made, and if it "
    "trains, theta and g are missing.",
    count=counted(lambda config: config.tasks, "tasks"),
    footprints=(
        operands(lambda c, s: c.count * TASK.size, "`count` TASKs"),
        _THETA,
        _SQUARES,
        *_LOCALS,
    ),
    rules=(Rule(Error.MISSING, lambda c, s: s.loaded != 3, "theta and g are loaded"),),
)

COMMANDS = CommandTable((_LOAD, _STORE, _ROUND))

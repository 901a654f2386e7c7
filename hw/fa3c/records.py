"""Tasks of a ROUND, the status block and the errors of the kernel ``a3c``."""

import enum

from amaranth.lib import enum as hardware_enum

from hw.shell.errors import ERRORS, ShellError
from hw.shell.layout import Field, Layout

__all__ = [
    "A3C_ERRORS",
    "A3C_STATUS",
    "AGENTS",
    "CONSTANTS",
    "TASK",
    "UNIT_CLOCKS",
    "Error",
    "Task",
]

#: Agents that one task can name, at most.
AGENTS = 8
#: Units whose clocks the status has.
UNIT_CLOCKS = 4


#: Bits of 1, the smallest normal number and the largest number in binary32. Numbers that are not
#: negative have the order of their bits.
_ONE, _TINY, _LARGEST = 0x3F80_0000, 0x0080_0000, 0x7F7F_FFFF


class Task(hardware_enum.Enum, shape=2):
    """What a task does."""

    INFER = 0  #: outputs of up to ``batch`` agents; the inputs of every layer are kept for training
    TRAIN = 1  #: the gradient of one agent's rollout, and the update of theta and squares
    SYNC = 2  #: theta is copied to a snapshot


TASK = Layout(
    "Task",
    "A task of a ROUND; the result of a ROUND is as if its tasks ran one after the other, in the "
    "order of the list. Fields that a kind does not use are 0; the numbers of a TRAIN are not "
    "negative, and each has a range.",
    (
        Field("kind", "u32", "0: INFER, 1: TRAIN, 2: SYNC"),
        Field("unit", "u32", "INFER, TRAIN: the compute unit"),
        Field(
            "snapshot",
            "u32",
            "INFER, TRAIN: the snapshot whose parameters are read; SYNC: the one that is made",
        ),
        Field(
            "step",
            "u32",
            "INFER: step of the rollouts: 0, then each time the next; `steps` for a bootstrap, "
            "which keeps nothing",
        ),
        Field("count", "u32", "INFER: agents; TRAIN: steps of the rollout, from step 0 on"),
        Field(
            "agents",
            "u32",
            "INFER: numbers of the agents, a byte each; TRAIN: number of the agent",
            2,
        ),
        Field(
            "operands",
            "u32",
            "byte offset, a multiple of 64: INFER: an observation for each agent; TRAIN: for each "
            "step a row of errors, d(objective) / d(outputs), which is subtracted",
        ),
        Field(
            "results", "u32", "byte offset, a multiple of 64: INFER: outputs, for each agent a row"
        ),
        Field(
            "rate",
            "f32",
            "TRAIN: theta -= rate * d / sqrt(squares + epsilon)",
            low=0,
            high=_LARGEST,
        ),
        Field("decay", "f32", "TRAIN: squares = decay * squares + gain * d**2", low=0, high=_ONE),
        Field("gain", "f32", "TRAIN: 1 - decay", low=0, high=_ONE),
        Field(
            "epsilon",
            "f32",
            "TRAIN: not a subnormal number, which would count as 0",
            low=_TINY,
            high=_LARGEST,
        ),
    ),
    size=64,
)

#: Numbers of a TRAIN: name -> (bits of the smallest allowed, bits of the largest).
CONSTANTS = {field.name: (field.low, field.high) for field in TASK.fields if field.kind == "f32"}

A3C_STATUS = Layout(
    "A3C status",
    "State of the kernel after a launch, and clocks of its last ROUND.",
    (
        Field("loaded", "u32", "images whose LOAD has succeeded: bit 0: theta, bit 1: squares"),
        Field(
            "overflow",
            "u32",
            "bit 0: theta, bit 1: squares: since the LOAD of the image a TRAIN has made one of its "
            "numbers infinite or a NaN",
        ),
        Field("synced", "u64", "a bit for each snapshot: its SYNC has succeeded"),
        Field("rounds", "u64", "ROUNDs that succeeded since reset"),
        Field("tasks", "u64", "tasks of these ROUNDs"),
        Field("round_cycles", "u32", "clocks from its start to its end"),
        Field(
            "update_cycles", "u32", "clocks from its start to the end of the last update or SYNC"
        ),
        Field(
            "unit_cycles",
            "u32",
            "clocks from its start to the end of the last task of each of the first four units",
            UNIT_CLOCKS,
        ),
    ),
    size=64,
)


class Error(enum.IntEnum):
    """Errors of a launch: those of the shell, then those of ``a3c``, which ``A3C_ERRORS``
    explains."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = ShellError
    MISSING, TASK, UNIT, SNAPSHOT, AGENT, STEP, NUMBER = range(16, 23)


A3C_ERRORS = {
    **ERRORS,
    Error.MISSING: (
        "missing",
        "theta or squares are not loaded, or a memory fault in a ROUND with a TRAIN has left them "
        "undefined: LOAD both",
    ),
    Error.TASK: (
        "task",
        "a field of the task is out of its range, or a field that its kind does not use is not 0; "
        "nothing was started",
    ),
    Error.UNIT: ("unit", "the task's unit does not exist or has another role; nothing was started"),
    Error.SNAPSHOT: (
        "snapshot",
        "the task's snapshot does not exist or was never made; or in the same ROUND a SYNC makes "
        "a snapshot that is already used or made, or a TRAIN follows its snapshot's SYNC; "
        "nothing was started",
    ),
    Error.AGENT: (
        "agent",
        "an agent does not exist, or another task of the ROUND names it too; nothing was started",
    ),
    Error.STEP: (
        "step",
        "INFER of step k of an agent whose rollout does not have k steps, or TRAIN of more steps "
        "than the rollout has; nothing was started",
    ),
    Error.NUMBER: (
        "number",
        "an error row of the TRAIN has a number that is infinite or a NaN; nothing was started",
    ),
}

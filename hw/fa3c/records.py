"""Tasks of a ROUND, the status block and the errors of the kernel ``a3c``."""

import enum

from amaranth.lib import enum as hardware_enum

from hw.shell.errors import ERRORS, ShellError
from hw.shell.layout import Field, Layout

__all__ = ["A3C_ERRORS", "A3C_STATUS", "AGENTS", "CONSTANTS", "TASK", "Error", "Task"]

#: Agents that one task can name.
AGENTS = 8


#: 1, the smallest normal number and the largest, in binary32: numbers that are not negative are in
#: the order of their bits.
_ONE, _TINY, _LARGEST = 0x3F80_0000, 0x0080_0000, 0x7F7F_FFFF


class Task(hardware_enum.Enum, shape=2):
    """What a task does."""

    INFER = 0  #: outputs of up to ``batch`` agents; what training needs is kept
    TRAIN = 1  #: the gradient of one agent's rollout, and the update of theta and g
    SYNC = 2  #: theta becomes a snapshot


TASK = Layout(
    "Task",
    "One of a ROUND, whose result is as if its tasks ran one after the other, in the order of the "
    "list. Fields that a kind does not have are 0; numbers of a TRAIN have no sign, and ranges.",
    (
        Field("kind", "u32", "0: INFER, 1: TRAIN, 2: SYNC"),
        Field("unit", "u32", "INFER, TRAIN: the compute unit"),
        Field("snapshot", "u32", "whose parameters are read, or that is made"),
        Field(
            "step",
            "u32",
            "INFER: step of the rollouts, from 0 on, each after the one before; `steps`: of a "
            "bootstrap, which keeps nothing",
        ),
        Field("count", "u32", "INFER: agents; TRAIN: steps of the rollout, from step 0 on"),
        Field("agents", "u32", "INFER: numbers of the agents, a byte each; TRAIN: of one", 2),
        Field(
            "operands",
            "u32",
            "byte offset, a multiple of 64: INFER: an observation for each agent; TRAIN: for each "
            "step a row of errors, d(objective) / d(outputs), which is subtracted",
        ),
        Field("results", "u32", "byte offset, a multiple of 64: INFER: a row of outputs an agent"),
        Field(
            "rate",
            "f32",
            "TRAIN: theta -= rate * d / sqrt(g + epsilon)",
            low=0,
            high=_LARGEST,
        ),
        Field("decay", "f32", "TRAIN: g = decay * g + gain * d**2", low=0, high=_ONE),
        Field("gain", "f32", "TRAIN: 1 - decay", low=0, high=_ONE),
        Field(
            "epsilon",
            "f32",
            "TRAIN: no subnormal, which would count as 0",
            low=_TINY,
            high=_LARGEST,
        ),
    ),
    size=64,
)

#: Numbers of a TRAIN: name -> the smallest and the largest of their bits.
CONSTANTS = {field.name: (field.low, field.high) for field in TASK.fields if field.kind == "f32"}

A3C_STATUS = Layout(
    "A3C status",
    "State of the kernel after a launch; clocks of its last ROUND.",
    (
        Field("loaded", "u32", "bit 0: theta, bit 1: g, whose LOAD has succeeded"),
        Field("synced", "u32", "a bit a snapshot: its SYNC has succeeded"),
        Field("rounds", "u64", "that succeeded, since reset"),
        Field("tasks", "u64", "of these"),
        Field("round_cycles", "u32", "from its start to its end"),
        Field("update_cycles", "u32", "from its start to the end of the last update or SYNC"),
        Field("unit_cycles", "u32", "from its start to the end of each unit's last task", 4),
        Field(
            "overflow",
            "u32",
            "bit 0: theta, bit 1: g: since its LOAD a TRAIN has left a number of it infinite, or "
            "none at all (NaN)",
        ),
    ),
    size=64,
)


class Error(enum.IntEnum):
    """Errors of a launch: the shell's, then those of ``a3c``; ``A3C_ERRORS`` explains them."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = ShellError
    MISSING, TASK, UNIT, SNAPSHOT, AGENT, STEP, NUMBER = range(16, 23)


A3C_ERRORS = {
    **ERRORS,
    Error.MISSING: (
        "missing",
        "theta or g is not loaded, or a memory fault in a ROUND that trains has left them broken: "
        "LOAD both",
    ),
    Error.TASK: (
        "task",
        "a field of the task is out of its range, or one that its kind does not have is not 0; "
        "nothing was started",
    ),
    Error.UNIT: ("unit", "the task's unit does not exist or has another role; nothing was started"),
    Error.SNAPSHOT: (
        "snapshot",
        "the task's snapshot does not exist or was never made, a SYNC of it follows its use in the "
        "same ROUND or is its second, or a TRAIN from it follows its SYNC; nothing was started",
    ),
    Error.AGENT: (
        "agent",
        "an agent does not exist or another task of the ROUND has it; nothing was started",
    ),
    Error.STEP: (
        "step",
        "INFER of a step before which the agent's rollout has other than that many steps, or TRAIN "
        "of more than it has; nothing was started",
    ),
    Error.NUMBER: (
        "number",
        "an error row of the TRAIN is infinite or not a number; nothing was started",
    ),
}

"""The learner's commands, after those of the replay core.

A kernel ``dqn`` or ``ddpg`` executes the commands of ``hw.replay.commands`` unchanged, and these.
"""

from amaranth.lib import enum

from hw.learner.parameters.parameter_image import set_bytes
from hw.learner.records import (
    REPORT,
    LearnError,
    action_granules,
    observation_granules,
    record_granules,
)
from hw.replay.commands import COMMANDS as REPLAY_COMMANDS
from hw.replay.commands import FIELDS, MAX_COUNT, MAX_TRANSFER
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM
from hw.shell.command import Command, CommandTable, Rule, counted, operands, results, round_up
from hw.shell.errors import ShellError
from hw.shell.layout import Field

__all__ = ["BATCH", "COMMANDS", "LEARNING", "WHOLE_LANES", "LearnOpcode"]


class LearnOpcode(enum.Enum, shape=8):
    """Opcodes of the learner's commands, which the replay core does not have.

    LEARN : iterations on batches that the replay core draws.
    TRAIN : iterations on batches that the host sends.
    LOAD, STORE : move sets of parameters from operands, to results.
    ACT : computes the network's outputs for observations.
    """

    LEARN = 32
    LOAD = 33
    STORE = 34
    ACT = 35
    TRAIN = 36


def _most_inserts(config):
    return min(MAX_COUNT, MAX_TRANSFER // record_granules(config.learner))


def _largest_image(config):
    return len(config.learner.parameter_sets) * set_bytes(config.learner)


def _image_bytes(c, s):
    """Bytes of the image of the command's sets; all sets have the same size."""
    learner = s.config.learner
    wanted = sum((c.sets >> k) & 1 for k in range(len(learner.parameter_sets)))
    return wanted * set_bytes(learner)


def _record_bytes(config):
    """Bytes of an experience without its header."""
    return record_granules(config.learner) * GRANULE_BYTES


#: Of LEARN and TRAIN, at the same place in both.
BATCH = Field(
    "batch",
    "u32",
    "experiences a gradient step, a multiple of the lanes",
    low=1,
    high=lambda config: config.learner.batch,
    error=LearnError.BATCH,
)
WHOLE_LANES = Rule(
    LearnError.BATCH,
    lambda c, s: (c.batch & (s.config.learner.lanes - 1)) != 0,
    "batch is a multiple of the lanes",
)
_ALL_LOADED = Rule(LearnError.UNLOADED, lambda c, s: s.missing != 0, "every set is loaded")
_HYPERPARAMETERS = operands(
    lambda c, s: c.count * s.config.learner.step_record.size,
    "a record for each iteration",
    moved=False,
)
_REPORTS = results(lambda c, s: c.count * REPORT.size, "a REPORT for each iteration", moved=False)

_LEARN = Command(
    LearnOpcode.LEARN,
    "`count` iterations; each draws `batch` experiences, trains on them, gives them their new "
    "priorities, then stores the next `inserts` experiences (PEARL IV-C). What belongs to an "
    "iteration begins on a multiple of 64. An iteration whose hyperparameters or batch memory "
    "fails changes nothing; one whose INSERT it fails has learned, and stored nothing. Those "
    "before stand. A REPORT that it fails ends nothing: all iterations stand.",
    (
        Field("stratum_width", "u64", "as SAMPLE, of `batch` draws", high=1 << 48),
        BATCH,
        FIELDS["alpha"],
        FIELDS["epsilon"],
        Field(
            "inserts",
            "u32",
            "experiences stored after each draw",
            high=_most_inserts,
            default=0,
            error=ShellError.COUNT,
        ),
        Field("experiences", "u32", "byte offset of them, a multiple of 64"),
        FIELDS["given"],
        FIELDS["priorities"],
    ),
    count=counted(MAX_COUNT, "iterations"),
    values={
        "records": lambda c, s: c.inserts,
        "record": lambda c, s: _record_bytes(s.config),
    },
    footprints=(
        _HYPERPARAMETERS,
        operands(
            lambda c, s: c.stored,
            "`experiences`: `inserts` for each iteration",
            offset="experiences",
            moved=False,
        ),
        operands(
            lambda c, s: c.listed * (c.given != 0),
            "`priorities`: `inserts` items for each iteration, as INSERT",
            offset="priorities",
            moved=False,
        ),
        _REPORTS,
    ),
    rules=(
        WHOLE_LANES,
        Rule(
            LearnError.RECORD,
            lambda c, s: s.granules != record_granules(s.config.learner),
            "experiences have the granules that the learner reads",
        ),
        Rule(
            ShellError.COUNT,
            lambda c, s: c.inserts > s.capacity,
            "inserts is at most the capacity",
        ),
        _ALL_LOADED,
    ),
)

_TRAIN = Command(
    LearnOpcode.TRAIN,
    "`count` iterations on batches that the host sends, as those of LEARN: neither tree nor "
    "storage is read or written (CF'22 Fig. 10, with the replay memory elsewhere). The next batch "
    "is read while the last step runs. An iteration whose hyperparameters or batch memory fails "
    "changes nothing; those before stand. A list or REPORT that it fails ends nothing.",
    (
        Field("batches", "u32", "byte offset of them, a multiple of 64"),
        Field("td_errors", "u32", "byte offset of the lists of TD errors, a multiple of 64"),
        BATCH,
    ),
    count=counted(MAX_COUNT, "iterations"),
    values={
        "records": lambda c, s: c.batch,
        "record": lambda c, s: HEADER.size + _record_bytes(s.config),
    },
    footprints=(
        _HYPERPARAMETERS,
        operands(
            lambda c, s: c.stored,
            "`batches`: for each iteration `batch` times HEADER and experience, dense; of a "
            "HEADER index (which comes back) and weight are read",
            offset="batches",
            moved=False,
        ),
        _REPORTS,
        results(
            lambda c, s: c.listed,
            "`td_errors`: for each iteration `batch` items of index and TD error",
            offset="td_errors",
            moved=False,
        ),
    ),
    rules=(WHOLE_LANES, _ALL_LOADED),
)


def _image(opcode, doc, footprint, *rules):
    return Command(
        opcode,
        doc,
        (
            Field(
                "sets",
                "u32",
                "bits: online, target, first moment, second moment",
                low=1,
                high=lambda config: (1 << len(config.learner.parameter_sets)) - 1,
            ),
        ),
        count=Field(
            "count",
            "u32",
            "bytes of all sections",
            high=_largest_image,
            error=LearnError.IMAGE,
        ),
        footprints=(footprint,),
        rules=(
            Rule(
                LearnError.IMAGE,
                lambda c, s: c.count != _image_bytes(c, s),
                "count is the bytes of the sections of sets",
            ),
            *rules,
        ),
    )


_ACT = Command(
    LearnOpcode.ACT,
    "What the online network does with `count` observations: the Q values of all actions, or the "
    "actor's action. An observation with an infinite number or a NaN refuses all of them. Nothing "
    "else changes: no parameter, no priority, no draw, no count.",
    count=Field(
        "count",
        "u32",
        "observations",
        low=1,
        high=lambda config: config.learner.batch,
        error=ShellError.COUNT,
    ),
    footprints=(
        operands(
            lambda c, s: c.count * (observation_granules(s.config.learner) * GRANULE_BYTES),
            "the observations, each `observation` f32 and zeros up to a multiple of 16 bytes",
        ),
        results(
            lambda c, s: c.count * (action_granules(s.config.learner) * GRANULE_BYTES),
            "for each `action` f32, and zeros up to a multiple of 16 bytes",
        ),
    ),
    rules=(Rule(LearnError.UNLOADED, lambda c, s: (s.missing & 1) != 0, "online is loaded"),),
)


LEARNING = CommandTable(
    (
        _LEARN,
        _TRAIN,
        _image(
            LearnOpcode.LOAD,
            "Parameters from operands: for each network, layer and set of `sets`, in this order, "
            "a section (`parameter_image`). If memory fails it, these sets are not loaded.",
            operands(lambda c, s: c.count, "the sections"),
        ),
        _image(
            LearnOpcode.STORE,
            "Parameters to results, as LOAD.",
            results(lambda c, s: c.count, "the sections"),
            Rule(LearnError.UNLOADED, lambda c, s: (c.sets & s.missing) != 0, "they are loaded"),
        ),
        _ACT,
    ),
    stages={
        # Bytes of an iteration's experiences, those of all iterations, of all their lists.
        "run": lambda c, s: c.records * c.record,
        "stored": lambda c, s: c.count * round_up(c.run, 64),
        "listed": lambda c, s: c.count * round_up(c.records * ITEM.size, 64),
    },
)

#: Those of the replay core, and the learner's own.
COMMANDS = {**REPLAY_COMMANDS, **LEARNING}

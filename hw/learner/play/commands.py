"""The commands of a kernel that plays, after the learner's; how each changes the state is in
``hw.learner.play.play_contract``.
"""

from amaranth.lib import enum

from hw.learner.commands import BATCH, LEARNING, WHOLE_LANES, LearnOpcode
from hw.learner.parameters.parameter_image import set_bytes
from hw.learner.play.play_contract import PLAY_SETTINGS, Flag, PlayError, saved_words
from hw.learner.records import REPORT, LearnError, record_granules
from hw.replay.commands import COMMANDS as REPLAY_COMMANDS
from hw.replay.commands import FIELDS, MAX_COUNT
from hw.shell.command import Command, CommandTable, Rule, counted, operands, results, round_up
from hw.shell.errors import ShellError
from hw.shell.layout import Field

__all__ = ["COMMANDS", "MOST_WORDS", "PLAYING", "PlayOpcode", "lesson"]

#: Words of an image, at most: seven headers, and all words of three memories.
MOST_WORDS = 1024
_RING = 1 << 16


class PlayOpcode(enum.Enum, shape=8):
    """Opcodes of PLAY and the commands around it.

    PLAY : vector steps and iterations.
    PROGRAM : loads a task. INIT : parameters, without moments and targets.
    SAVE, RESUME : what environments, windows and episodes hold, to results, from operands.
    """

    PLAY = 48
    PROGRAM = 49
    INIT = 50
    SAVE = 51
    RESUME = 52


def _learns(c):
    return (c.flags & Flag.LEARN.value) != 0


def _saved_bytes(c, s):
    return 4 * sum(saved_words(s.config).values())


def _rings(c, s):
    episodes = c.episodes * s.config.engine.beat_bytes
    return round_up(episodes, 64) + c.reports * REPORT.size


_PROGRAMMED = Rule(PlayError.BEGUN, lambda c, s: s.programmed == 0, "a task is loaded")
_BEGUN = Rule(PlayError.BEGUN, lambda c, s: s.begun == 0, "environments have begun")

_PLAY = Command(
    PlayOpcode.PLAY,
    "`count` vector steps: each environment acts and steps, and what its windows close is stored; "
    "after each period, iterations as LEARN's. Ends sooner by the stop bit, the goal or an error; "
    "what was done stands.",
    (
        Field("stratum_width", "u64", "as SAMPLE, of `batch` draws", high=1 << 48),
        BATCH,
        FIELDS["alpha"],
        FIELDS["epsilon"],
        Field("segments", "u32", "SEGMENTs; at least 1 to learn", high=MAX_COUNT),
        Field("episodes", "u32", "places of the ring of EPISODE, a power of two, or 0", high=_RING),
        Field("reports", "u32", "places of the ring of REPORT, a power of two, or 0", high=_RING),
        Field(
            "flags",
            "u32",
            "sum of: 1 learn, 2 greedy, 4 fresh, 8 stop at the goal",
            high=sum(Flag),
        ),
    ),
    count=counted(MAX_COUNT, "vector steps"),
    footprints=(
        operands(
            lambda c, s: PLAY_SETTINGS.size + c.segments * s.config.learner.step_record.size,
            "the settings, then SEGMENTs",
            moved=False,
        ),
        results(_rings, "the rings", moved=False),
    ),
    rules=(
        WHOLE_LANES,
        Rule(
            LearnError.RECORD,
            lambda c, s: _learns(c) & (s.granules != record_granules(s.config.learner)),
            "it does not learn, or experiences have the granules that the learner reads",
        ),
        Rule(
            LearnError.UNLOADED,
            lambda c, s: ((s.missing & 1) != 0) | (_learns(c) & (s.missing != 0)),
            "online is loaded, and to learn every set",
        ),
        _PROGRAMMED,
        Rule(
            PlayError.BEGUN,
            lambda c, s: (s.begun == 0) & ((c.flags & Flag.FRESH.value) == 0),
            "environments have begun, or begin anew",
        ),
        Rule(
            ShellError.FIELD,
            lambda c, s: _learns(c) & (c.segments == 0),
            "segments is at least 1 to learn",
            detail=lambda c, s: 36,
        ),
        Rule(
            ShellError.FIELD,
            lambda c, s: (c.episodes & (c.episodes - 1)) != 0,
            "episodes is a power of two or 0",
            detail=lambda c, s: 40,
        ),
        Rule(
            ShellError.FIELD,
            lambda c, s: (c.reports & (c.reports - 1)) != 0,
            "reports is a power of two or 0",
            detail=lambda c, s: 44,
        ),
    ),
)

_PROGRAM = Command(
    PlayOpcode.PROGRAM,
    "Load a task: the words of its image. Environments have to begin anew.",
    (
        Field("state", "u64", "of the play generator: a, b, c, counter", 4),
        Field("shift", "u32", "fraction bits of an action's word", high=31),
        Field(
            "observation",
            "u32",
            "numbers of an observation, the network's",
            low=lambda config: config.learner.observation,
            high=lambda config: config.learner.observation,
        ),
        Field(
            "actions",
            "u32",
            "choices, the network's",
            low=lambda config: config.learner.action,
            high=lambda config: config.learner.action,
        ),
    ),
    count=counted(MOST_WORDS, "words"),
    footprints=(operands(lambda c, s: c.count * 8, "the words, each the low 36 bits of a u64"),),
)

_INIT = Command(
    PlayOpcode.INIT,
    "Online parameters and target from one image of operands, and moments of zeros; every set is "
    "loaded then. If memory fails it, none is.",
    footprints=(
        operands(lambda c, s: set_bytes(s.config.learner), "the sections of one set", moved=False),
    ),
)

_SAVE = Command(
    PlayOpcode.SAVE,
    "What environments, windows and episodes hold, to results.",
    footprints=(results(_saved_bytes, "the words"),),
    rules=(_PROGRAMMED, _BEGUN),
)

_RESUME = Command(
    PlayOpcode.RESUME,
    "What environments, windows and episodes go on with, as SAVE gave it, from operands.",
    footprints=(operands(_saved_bytes, "the words"),),
    rules=(_PROGRAMMED,),
)

#: The learner's commands and those of a kernel that plays.
PLAYING = CommandTable(
    (*LEARNING.values(), _PLAY, _PROGRAM, _INIT, _SAVE, _RESUME), stages=LEARNING.stages
)

#: Those of the replay core, and PLAYING.
COMMANDS = {**REPLAY_COMMANDS, **PLAYING}


def lesson(command, iterations):
    """The 512 bits of the LEARN whose ``iterations`` follow a period of the PLAY ``command``, which
    inserts nothing; its places in memory do not count."""
    same = ("stratum_width", "batch", "alpha", "epsilon")
    return LEARNING[LearnOpcode.LEARN].encode(
        opcode=LearnOpcode.LEARN.value, count=iterations, **{name: command[name] for name in same}
    )

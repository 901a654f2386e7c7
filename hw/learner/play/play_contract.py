"""The contract of PLAY: records, rules, and the order of everything that changes a byte.

A kernel with ``config.play`` has five commands more (``hw.learner.play.commands``) than ``dqn``,
and more state::

    programmed     the machine has an image (PROGRAM)
    begun          environments, windows and episodes have begun (a PLAY with FRESH, or RESUME)
    generator      an SFC64, the play generator; draws of LEARN and SAMPLE have their own
    shift, states  of PROGRAM: fraction bits of an action's word; words of STATE in its image
    observations   binary32 [E, O]: what each environment shows, E = ``play.environments`` and
                   O = ``learner.observation``
    machine, windows, episodes   as the units of ``hw.environment`` and ``hw.learner.play``
    step, explore, clipped       as in PLAY_STATUS

After a reset all of this is 0, and a command that is refused by a limit or a rule of the command
table changes nothing. Where memory fails a command (error AXI), "fails" below means: a beat that
was read, or the answer to a write, had an error.

PROGRAM
    ``programmed`` and ``begun`` become 0. The words are given to the machine as its LOAD. Then the
    generator takes ``state``, ``shift`` the field, and ``programmed`` becomes 1. The words must be
    an image of whole sections (``hw.environment.machine_image``). The first wrong word, in the
    order of the words, is the detail of error TASK:

    - a header whose section is 7, whose ``last`` is below ``first``, or whose length
      ``last - first + 1`` is wrong: BEGUN must have O words, STEPPED O + 1, ACTIONS 1, STATE at
      most 32 (bits 20 and above of a header are not looked at);
    - the word after the last section (``more`` is 0), if more than ``count`` says are brought;
    - ``count`` itself if the words end before the last section does, or if one of the seven
      sections did not come.

    After an error, TASK or AXI, ``programmed`` stays 0, and ``generator``, ``shift`` and ``states``
    are as before.

INIT
    Every set becomes missing. Then online and target are loaded, each as by a LOAD, both from the
    sections of one set at ``source``; the moments become 0, and every set is loaded. If memory
    fails, all stay missing. Counters stay.

PLAY
    1. PLAY_SETTINGS are read. If that fails, PLAY ends and has changed nothing. Then they are
       checked in the order of their fields; a field that breaks its rule ends PLAY with error
       SETTINGS and its byte as the detail; nothing has changed.

       ``period`` 1..65535; ``iterations`` 0..65535; ``n`` 1..``play.longest``, and if LEARN is set
       ``E * n`` at most the capacity; ``discount`` at most 2^31; ``end`` at most ``explore``;
       ``target_interval`` at least 1; ``phase`` below ``period``; ``target_phase`` below
       ``target_interval``; ``window`` at most 7. Every other number is right.
    2. ``step`` takes the field ``step``, ``explore`` the field ``explore`` (0 if GREEDY), ``phase``
       its own.
    3. If FRESH: ``clipped`` becomes 0, the windows start with ``n``, ``discount`` and ``scale``,
       the episodes with ``window``. BEGIN resets every environment; its observations are shown.
       ``begun`` becomes 1. An environment whose BEGIN clipped a number is marked in ``clipped``,
       and PLAY ends with error ENVIRONMENT, detail the first such environment. Without FRESH those
       four settings are checked and do not count: what began goes on as it began.
    4. Before each vector step PLAY ends without error if ``count`` vector steps are done, if the
       stop bit is 1, or if GOAL is set and the goal is met: 2^window episodes ended since FRESH and
       the sum of the last 2^window returns is at least ``goal``.
    5. A vector step:

       a. Each environment in order takes one number of the generator (``Explore``) with epsilon
          ``explore``; then ``explore`` becomes ``max(explore - decrement, end)``. With GREEDY,
          start, decrement and end of the schedule are 0.
       b. Unless all explore, the online network acts on ``observations``, as ACT does.
       c. STEP with the actions, each shifted left by ``shift``. RANDOM takes the low halves of the
          generator's next numbers.
       d. For each environment in order: its observation words become binary32, the next
          observation; its reward goes to episodes and windows, with the observation, the next
          observation and the action. An episode that ends has an EPISODE, whose ``step`` is
          ``step``, at its place of the ring (5f). Experiences of windows that close are queued.
       e. If episodes ended, one BEGIN resets their environments, which show its observations; the
          others show the next ones. Environments whose STEP or BEGIN clipped a number are marked
          in ``clipped``. ``step`` and ``phase`` become one more; a ``phase`` of ``period``
          becomes 0.
       f. If LEARN is set and experiences are queued, one INSERT stores them, with ``given`` 0 and
          ``priority`` 0. Its error ends PLAY, with its detail; all else of the vector step
          stands. Without LEARN the queue is dropped.
       g. If this vector step clipped a number of an environment, PLAY ends with ENVIRONMENT, detail
          the first such environment of this vector step.
       h. If LEARN is set, ``phase`` is 0, ``iterations`` is not 0 and ``step`` is at least
          ``starts``: ``iterations`` of LEARN with PLAY's stratum_width, batch, alpha and epsilon,
          with ``inserts`` 0. An error ends PLAY with its detail; the iterations before stand, and
          so does the vector step.

    Iterations of a PLAY are counted from 0. Segment 0 serves the first ``repeat`` ones, segment
    1 the next ones, and so on; the last segment, and one with a ``repeat`` of 0, serves all that
    follow. Segments are read when iterations need them, and only then. Iteration j counts its
    segment's ``blend`` and ``keep`` if ``target_phase + j + 1`` is a multiple of
    ``target_interval``; otherwise every ``blend`` is 0 and every ``keep`` is 1.

    A segment that fails ends PLAY as HYPERPARAMETERS end LEARN: its iteration changes nothing. An
    EPISODE or a REPORT that fails ends nothing; PLAY's error is then AXI when it ends.

    Rings lie at ``destination``: ``episodes`` places of a beat of the host's master each
    (``engine.beat_bytes``; zeros follow the EPISODE), then, from the next multiple of
    64 on, ``reports`` places of 64 bytes. The k-th episode since FRESH (from 0) has place
    ``k mod episodes``; the REPORT of a gradient step has place ``i mod reports``, where i is
    ``iterations`` of the status block before the step. A ring of 0 records is not written.

Counters
    Each wraps, to the least number of its width; nothing else changes then, and no error follows:

    - ``step``, 32 bits, 0 after 2^32 - 1. ``starts`` is compared with the wrapped number, so
      iterations stop there until ``step`` has reached it again.
    - ``episodes``, 32 bits. A window that was full stays full and the ring of EPISODEs goes on;
      RESUME takes the number as it is, and so forgets how many episodes ended before the wrap.
    - ``length`` of an EPISODE, 16 bits: a task's limit must be at most 65535.
    - the sum of an episode's rewards and its return, 48 bits signed, and ``returns``, 55 bits
      signed: 65535 rewards and 128 returns fit. Only words that no SAVE has written make more.
    - the last number of the play generator's state, 64 bits, as NumPy's SFC64 has it.

    ``phase`` and ``count`` do not wrap, and a PLAY has fewer than 2^32 iterations.

SAVE, RESUME
    SAVE writes the words of ``saved_tables``, 32 bits each, as ``SAVED`` and these arrays
    in this order, without gaps:

    ==========================  ================================================================
    SAVED                       16 words
    states [E, 32]              the machine's SAVE of each environment, then zeros
    observations [E, O]         binary32
    running [E, 3]              of the episode under way: the sum of its rewards as i64, low word
                                first, and its steps
    windows [E, 1 + L (O + 2)]  steps of open windows, then each step, the oldest first:
                                observation, action, reward; zeros for the others, L = longest
    returns [128, 2]            i64, low word first: at place k mod 128 the return of episode k, of
                                the last ``min(episodes, 2^window)`` ones; zeros for the others
    ==========================  ================================================================

    Zeros fill the last beat. RESUME takes them. ``begun`` is 0 while it runs, ``clipped`` becomes
    0, the generator becomes ``state``, and the windows compute their weights anew. The first wrong
    word is the detail of error SAVED: ``n`` outside 1..longest, ``window`` above 7, ``discount``
    above 2^31 (nothing after SAVED is taken if one is wrong), or a count of open windows
    that is not below ``n``. Nothing else is checked. After an error, SAVED or AXI, ``begun`` is 0:
    what the environments hold does not count. ``step`` and ``explore`` are not saved, the next
    PLAY's settings have them.
"""

import enum

from hw.environment.task_program import REGISTERS
from hw.learner.play.episodes import LARGEST_WINDOW
from hw.learner.records import ERRORS, LEARNER_STATUS
from hw.shell.layout import Field, Layout

__all__ = ["PLAY_ERRORS", "PLAY_SETTINGS", "PLAY_STATUS", "SAVED", "Flag", "PlayError"]
__all__ += ["saved_tables", "saved_words", "segment_of"]


class Flag(enum.IntFlag):
    """Bits of ``flags`` of PLAY."""

    LEARN = 1  #: experiences are stored, and iterations run
    GREEDY = 2  #: epsilon is 0
    FRESH = 4  #: environments, windows and episodes begin anew
    GOAL = 8  #: PLAY ends when the goal is met


PLAY_SETTINGS = Layout(
    "Play settings",
    "How a PLAY plays; SEGMENTs follow it.",
    (
        Field("period", "u32", "vector steps between iterations; 1..65535"),
        Field("iterations", "u32", "after each period; 0..65535"),
        Field("starts", "u32", "`step` from which iterations run"),
        Field("n", "u32", "rewards of a window; FRESH"),
        Field("discount", "u32", "UQ(1, 31), at most 1; FRESH"),
        Field("scale", "u32", "UQ(1, 31), of rewards; FRESH"),
        Field("explore", "u32", "UQ(0, 32): epsilon of the first vector step"),
        Field("decrement", "u32", "UQ(0, 32): of epsilon, a vector step"),
        Field("end", "u32", "UQ(0, 32): the least epsilon"),
        Field("target_interval", "u32", "iterations between those whose blend counts"),
        Field("step", "u32", "number of the first vector step"),
        Field("phase", "u32", "vector steps of the period that were done before"),
        Field("target_phase", "u32", "iterations since the last one whose blend counted"),
        Field("window", "u32", "the last 2^window episodes decide on the goal; 0..7; FRESH"),
        Field("goal", "i64", "sum of returns, with a reward's fraction bits"),
    ),
    size=64,
)

SAVED = Layout(
    "Saved",
    "The first words of SAVE.",
    (
        Field("n", "u32", "as in PLAY_SETTINGS"),
        Field("window", "u32", "as in PLAY_SETTINGS"),
        Field("discount", "u32", "as in PLAY_SETTINGS"),
        Field("scale", "u32", "as in PLAY_SETTINGS"),
        Field("state", "u64", "the play generator: a, b, c, counter", 4),
        Field("total", "i64", "sum of the last 2^window returns"),
        Field("episodes", "u32", "that ended since FRESH"),
        Field("reserved", "u32", "0"),
    ),
    size=64,
)

PLAY_STATUS = Layout(
    "Play status",
    "The learner status, then what has been played.",
    (
        *LEARNER_STATUS.fields,
        Field("step", "u32", "number of the next vector step"),
        Field("episodes", "u32", "that ended since FRESH"),
        Field("explore", "u32", "UQ(0, 32): epsilon of the next vector step; 0 after GREEDY"),
        Field("ready", "u32", "bit 0: programmed; bit 1: begun"),
        Field("play_state", "u64", "play generator: a, b, c, counter", 4),
        Field("clipped", "u64", "bit e: a number of environment e has left its format"),
        Field("returns", "i64", "sum of the last 2^window returns, of all if they are fewer"),
    ),
    size=LEARNER_STATUS.size,
)


class PlayError(enum.IntEnum):
    """Numbers of the errors of PLAY and the commands around it; ``PLAY_ERRORS`` explains each."""

    SETTINGS, TASK, BEGUN, ENVIRONMENT, SAVED = range(48, 53)


PLAY_ERRORS = {
    **ERRORS,
    PlayError.SETTINGS: (
        "settings",
        "a field of PLAY's settings breaks its rule; the detail is its byte; nothing has changed",
    ),
    PlayError.TASK: (
        "task",
        "the words of PROGRAM are no image of a task with the network's sizes; the detail is the "
        "first wrong word; no task is loaded",
    ),
    PlayError.BEGUN: (
        "begun",
        "no task is loaded, or environments have not begun, which FRESH and RESUME change",
    ),
    PlayError.ENVIRONMENT: (
        "environment",
        "a number of an environment has left its format; the detail is the environment; PLAY has "
        "ended after that vector step, which stands",
    ),
    PlayError.SAVED: (
        "saved",
        "the words of RESUME are none of SAVE; the detail is the first wrong word; environments "
        "have to begin anew",
    ),
}


def segment_of(record):
    """The Layout SEGMENT: ``record``, the learner's ``step_record``, whose ``reserved`` is
    ``repeat``."""
    repeat = Field("repeat", "u32", "iterations that it serves; 0, or the last segment: for ever")
    return Layout(
        "Segment",
        f"{record.name} of iterations that follow one another.",
        [repeat if field.name == "reserved" else field for field in record.fields],
        size=record.size,
    )


def saved_tables(config):
    """``{array: (rows, words of a row)}`` that SAVE writes, in order; ``config`` is the
    LearnerKernelConfig."""
    environments, observation = config.play.environments, config.learner.observation
    return {
        "saved": (1, SAVED.size // 4),
        "states": (environments, REGISTERS),
        "observations": (environments, observation),
        "running": (environments, 3),
        "windows": (environments, 1 + config.play.longest * (observation + 2)),
        "returns": (LARGEST_WINDOW, 2),
    }


def saved_words(config):
    """``{array: words}`` of ``saved_tables``."""
    return {name: rows * words for name, (rows, words) in saved_tables(config).items()}

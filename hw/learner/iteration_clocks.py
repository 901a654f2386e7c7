"""Clocks of whole iterations of LEARN and TRAIN, and of an ACT, with the memory around the kernel.

With t = ``StepClocks.td`` of the last lane, a batch of B records in n beats and L, P, W, Q, M the
latencies of the replay manager, the priority unit, the weight unit, an engine's queue and the batch
memory, an iteration that waits for its draw takes ::

    t + (B + L + P) + insert + (max(B, beats read, n) + L + max(read, W - 3) + Q + M) + 18

because UPDATE, INSERT and the next SAMPLE follow the last TD error one after the other; with
``early_priorities`` of the learner's config, the first B counts only the TD errors of the last
beat, and the sum is 2 clocks shorter.
Any other iteration takes its gradient step and 2 clocks. REPORT counts the same clocks, one less
than the distance between two iterations. Tests compare all with the simulation.
"""

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import action_granules, observation_granules, record_granules
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.step_clocks import acting_clocks, step_clocks
from hw.replay.command_clocks import (
    beats_of,
    gathered_clocks,
    queue_clocks,
    stored_clocks,
    updated_clocks,
)
from hw.replay.records import ITEM
from hw.shell.memory_clocks import latencies
from hw.shell.program import COMMAND_BYTES

__all__ = ["act_clocks", "clocks", "drawn_clocks", "learn_clocks", "loaded_clocks"]
__all__ += ["store_clocks", "train_clocks"]

#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
_LEARN, _INSERT, _ACT, _STORE = 18, 13, 13, 8
#: Those of ``_LEARN`` that are past where UPDATE has begun before the last TD error.
_BEGUN = 2
#: Clocks of a section that is stored, besides its words, and of one that is passed over.
_SECTION, _PASSED = 8, 2


def clocks(config):
    """``{operation: clocks}`` of a LearnerKernelConfig, for its whole batch."""
    batch = config.learner.batch
    return {
        f"gradient step of {batch} samples": step_clocks(config.learner, batch).step,
        f"iteration of LEARN with {batch} samples": learn_clocks(config, batch),
        "ACT for one observation": act_clocks(config, 1),
    }


def learn_clocks(config, batch, inserts=0):
    """Clocks of a whole iteration of LEARN, as its REPORT counts them, in a LEARN of many
    iterations.

    config : LearnerKernelConfig
    batch : int
        Experiences of the batch.
    inserts : int
        Experiences that the iteration stores, if they begin on a burst; elsewhere it takes a few
        clocks fewer, up to 1 % of the iteration.
    """
    learner, (read, write) = config.learner, latencies(config.engine).values()
    granules = record_granules(learner)
    update, insert = updated_clocks(config, batch), 0
    if learner.early_priorities:
        left = (batch - 1) % (config.engine.beat_bytes // ITEM.size) + 1
        update = updated_clocks(config, left) - _BEGUN
    if inserts:
        stored = stored_clocks(config, inserts, granules)
        insert = read + queue_clocks(config) + stored + write + _INSERT
    # From the first lane's TD error to the REPORT, which is written a clock before the next step.
    report = learner.lanes - 1 + update + insert + drawn_clocks(config, batch) + _LEARN
    clocks = step_clocks(learner, batch)
    return max(clocks.whole + 2, clocks.td + report)


def drawn_clocks(config, batch):
    """Clocks from a draw's begin until its batch of ``batch`` experiences is loaded."""
    granules, read = record_granules(config.learner), latencies(config.engine)["read"]
    read_beats, beats = batch * beats_of(config, granules), beats_of(config, batch * (1 + granules))
    longest = max(batch, read_beats, beats)
    gathered = gathered_clocks(config, read)
    return longest + config.replay.latency + gathered + loaded_clocks(config)


def train_clocks(config, batch):
    """Clocks of a whole iteration of TRAIN on ``batch`` experiences, as its REPORT counts them. It
    holds where the next batch is read from memory while the gradient step runs; if memory needs
    longer than the step, an iteration takes longer."""
    return step_clocks(config.learner, batch).whole + 2


def act_clocks(config, count):
    """Clocks that an ACT for ``count`` observations adds to a launch, if its actions begin on a
    burst."""
    learner, (read, write) = config.learner, latencies(config.engine).values()
    seen = beats_of(config, count * observation_granules(learner))
    actions = beats_of(config, count * action_granules(learner))
    last = (actions - 1) % config.engine.burst_beats + 1  # beats of the last burst
    # The command is fetched as well.
    moved = -(-COMMAND_BYTES // config.engine.beat_bytes) + seen + last
    acting = acting_clocks(learner, count)
    return read + queue_clocks(config) + moved + loaded_clocks(config) + acting + write + _ACT


def store_clocks(config, sets=PARAMETER_SETS[:1]):
    """Clocks of a STORE of ``sets``, in a launch with other commands: one for each word of a layer,
    two more for each beat, and some for each section (``ImageTransfer``); sections after the last
    one pass while memory takes the last burst."""
    whole = sections(config.learner, PARAMETER_SETS)
    asked = [section for section in whole if section.parameter_set in sets]
    words = sum(section.size // (4 * section.layer.image_word) for section in asked)
    beats = sum(section.size for section in asked) // config.engine.beat_bytes
    passed = whole.index(asked[-1]) + 1 - len(asked)
    burst = (beats - 1) % config.engine.burst_beats + 1
    sections_clocks = _SECTION * len(asked) + _PASSED * passed
    return words + 2 * beats + sections_clocks + burst + latencies(config.engine)["write"] + _STORE


def loaded_clocks(config):
    """Clocks from the last beat of a batch to ``loaded``."""
    return BatchMemory.latency_of(config.engine.data_width)

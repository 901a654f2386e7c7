"""Clocks of whole iterations of LEARN and TRAIN, and of an ACT, with the memory around the kernel.

With t = ``StepClocks.td`` of the last lane, a batch of B records in n beats and L, P, M the
latencies of the replay manager, the priority unit and the batch memory, an iteration that waits for
its draw takes ::

    t + (B + L + P) + insert + (max(B, beats read, n) + L + memory + M) + 20

because UPDATE, INSERT and the next SAMPLE follow the last TD error one after the other. Another one
takes its gradient step and 2 clocks. These are the clocks that REPORT has, one less than there are
from the beginning of an iteration to that of the next. Tests compare all with the simulation.
"""

from hw.learner.records import action_granules, observation_granules, record_granules
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.step_clocks import acting_clocks, step_clocks
from hw.replay.config import GRANULE_WIDTH
from hw.replay.priority import PriorityUnit
from hw.replay.tree.manager import ReplayManager

__all__ = ["act_clocks", "clocks", "learn_clocks", "train_clocks"]

#: As the simulated card's memory: clocks from a request to its first beat, and from the last beat
#: of a write to its answer.
_READ, _WRITE = 64, 32
#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
_LEARN, _INSERT, _ACT = 20, 15, 16


def clocks(config):
    """``{operation: clocks}`` of a LearnerKernelConfig, for its whole batch."""
    batch = config.learner.batch
    return {
        f"gradient step of {batch} samples": step_clocks(config.learner, batch).step,
        f"iteration of LEARN with {batch} samples": learn_clocks(config, batch),
        "ACT for one observation": act_clocks(config, 1),
    }


def learn_clocks(config, batch, inserts=0, read=_READ, write=_WRITE):
    """Clocks of a whole iteration of LEARN, as its REPORT counts them, in a LEARN of many
    iterations.

    config : LearnerKernelConfig
    batch : int
        Experiences of the batch.
    inserts : int
        Experiences that the iteration stores. With more than three, reads and writes overlap, and
        the formula is up to 1 % too high.
    read, write : int
        Latencies of memory in clocks: from a read's request to its first beat, and from a write's
        last beat to its answer. Memory moves a beat a clock.
    """
    learner = config.learner
    manager, granules = ReplayManager.latency_of(config.replay), record_granules(learner)
    update = batch + manager + PriorityUnit.LATENCY
    stored = _beats(config, granules)  # each experience begins on a beat
    insert = read + write + manager + _INSERT + inserts * (1 + 2 * stored) if inserts else 0
    longest = max(batch, batch * stored, _beats(config, batch * (1 + granules)))
    sample = longest + manager + read + _loaded(config)
    # From the first lane's TD error to the REPORT, which is written a clock before the next step.
    report = learner.lanes - 1 + update + insert + sample + _LEARN
    clocks = step_clocks(learner, batch, report + 1)
    return max(clocks.step + 2, clocks.td + report)


def train_clocks(config, batch):
    """Clocks of a whole iteration of TRAIN on ``batch`` experiences, as its REPORT counts them. It
    holds where the next batch is read from memory while the gradient step runs; if memory needs
    longer than the step, an iteration takes longer."""
    return step_clocks(config.learner, batch).step + 2


def act_clocks(config, count, read=_READ, write=_WRITE):
    """Clocks of an ACT for ``count`` observations, in a launch with other commands. ``read`` and
    ``write`` are the latencies of memory in clocks, as for ``learn_clocks``."""
    learner = config.learner
    moved = _beats(config, count * observation_granules(learner))
    moved += _beats(config, count * action_granules(learner))
    acting = acting_clocks(learner, count)
    return read + moved + _loaded(config) + acting + write + _ACT


def _beats(config, granules):
    return -(-granules * GRANULE_WIDTH // config.engine.data_width)


def _loaded(config):
    """Clocks from the last beat of a batch to ``loaded``."""
    return BatchMemory.latency_of(config.engine.data_width)

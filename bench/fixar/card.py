"""Kernels of FIXAR on the simulated card: clocks of iterations, of ACT, of a timestep."""

import time
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

import numpy as np

from host.cards import open_card
from host.explore.launch_clocks import LIMIT_S
from host.explore.learner_clocks import (
    adam_steps,
    random_experiences,
    second_iteration,
    with_random_weights,
)
from host.fixar.fixar_replay import FixarReplay
from host.kernels import generate
from host.programs.launcher import aligned
from hw.fixar.precision import Precision, slots
from hw.shell.program import COMMAND_BYTES
from hw.shell.status_block import STATUS
from sim.card.memory import MemoryConfig
from system.tools import BUILD_DIRECTORY

__all__ = ["PRECISIONS", "CardMeasurement", "kernel", "measure", "precision_of"]

#: name -> whether activations, and errors, have 16 bits. ``mixed`` is the paper, read literally:
#: gradients keep 32 bits.
PRECISIONS = {"full": (False, False), "mixed": (True, False), "half": (True, True)}

CAPACITY = 2048
_OBSERVATIONS = (1, 16)
#: An iteration of a large batch may have no transfer for so long.
_MEMORY = MemoryConfig(max_idle=10_000_000)


def precision_of(learner, name):
    """The ``Precision`` for ``name``, a key of ``PRECISIONS``, on a kernel with ``learner``.

    Numbers of 16 bits have fixed shifts, 8 for activations and 6 for errors, which suit the numbers
    of ``measure``.
    """
    activations, errors = PRECISIONS[name]
    if not activations:
        return Precision()
    counts = slots(learner)
    return Precision(
        activations=activations,
        errors=errors,
        activation_shifts=(8,) * counts[0],
        error_shifts=(6,) * counts[1] if errors else (),
    )


def kernel(learner):
    """Generates the kernel ``fixar`` for the U50, and returns its folder.

    ``learner`` is its ``FixarConfig``; its replay memory has CAPACITY experiences.
    """
    name = sha256(learner.to_json().encode()).hexdigest()[:12]
    own = ("observation", "action", "hidden", "batch", "cores", "side")
    return generate(
        "fixar",
        "u50",
        BUILD_DIRECTORY / "bench" / f"fixar-{name}",
        **{name: getattr(learner, name) for name in own},
        capacity=CAPACITY,
    )


@dataclass(frozen=True)
class CardMeasurement:
    """Measurements of a kernel on the simulated card.

    iterations : ``{(precision, batch): clocks}`` of the second of two iterations
    acts : ``{count: clocks}`` that one more ACT of ``count`` observations adds to a launch, in half
        precision
    step_bytes, step_clocks : bytes that go to and from the card, and clocks, of a launch with a
        LEARN that stores an experience and an ACT of one observation; batch 64, half precision
    clocks_per_second : simulated clocks for a second of processor time
    """

    iterations: dict
    acts: dict
    step_bytes: int
    step_clocks: int
    clocks_per_second: float


class _Kept:
    """Stands for a launcher: keeps each program that it is asked to run, and runs it."""

    def __init__(self, launcher):
        self._launcher, self.asked = launcher, []

    def __getattr__(self, name):
        return getattr(self._launcher, name)

    def run(self, program, operands=(), results_bytes=0):
        self.asked.append((program, operands, results_bytes))
        return self._launcher.run(program, operands, results_bytes)


def _timestep(buffer, learner, rng, experience):
    """Bytes and clocks of one launch: a LEARN that stores an experience, and an ACT."""
    launcher = buffer.launcher
    buffer.launcher = kept = _Kept(launcher)
    buffer.learn(adam_steps(1, 64), batch_size=64, experiences=experience, inserts=1)
    buffer.act(rng.normal(size=(1, learner.observation)), noise=0.1)
    (learn, operands, size), ((opcode, act), seen, answer) = kept.asked[0], _only(kept.asked[1])
    buffer.launcher = launcher
    end = aligned(max(at + array.nbytes for at, array in operands))
    act = act | {"source": end, "destination": aligned(size)}
    program, operands = [*learn, (opcode, act)], [*operands, *((end + at, x) for at, x in seen)]
    size, before = aligned(size) + answer, buffer.device_cycles
    launcher.run(program, operands, size)
    sent = COMMAND_BYTES * len(program) + max(at + array.nbytes for at, array in operands)
    status = STATUS.size + launcher.design.status.size
    return sent + size + status, buffer.device_cycles - before


def _only(asked):
    """The command, the operands and the results' bytes of a launch with one command."""
    ((command,), operands, size) = asked
    return command, operands, size


def _acting(buffer, learner, rng, count):
    """Clocks that an ACT adds to a launch: those with two of them less those with one."""
    launcher = buffer.launcher
    buffer.launcher = kept = _Kept(launcher)
    before = buffer.device_cycles
    buffer.act(rng.normal(size=(count, learner.observation)))
    one = buffer.device_cycles - before
    buffer.launcher = launcher
    command, operands, size = _only(kept.asked[0])
    second = command[0], command[1] | {"destination": aligned(size)}
    launcher.run([command, second], operands, aligned(size) + size)
    return buffer.device_cycles - before - 2 * one


@cache
def measure(learner, cases, whole=False):
    """``CardMeasurement`` of the kernel with ``learner``, on the simulated card.

    ``cases`` is a tuple of pairs (a key of ``PRECISIONS``, batch), whose iterations are measured.
    ACT and the timestep are measured only if ``whole``; if not, ``acts`` is empty, and the numbers
    of the step are None.
    """
    rng, acts, timestep = np.random.default_rng(0), {}, (None, None)
    with open_card("sim", memory=_MEMORY) as card:
        loaded = card.load(kernel(learner) / "kernel.json")
        buffer = with_random_weights(loaded, rng, FixarReplay, capacity=CAPACITY, timeout_s=LIMIT_S)
        experiences = random_experiences(learner, rng, CAPACITY)
        buffer.add(**experiences)
        iterations, clocks, used = {}, buffer.device_cycles, time.process_time()
        for precision, batch in cases:
            buffer.set_precision(precision_of(learner, precision))
            iterations[precision, batch] = second_iteration(buffer, batch)
        speed = (buffer.device_cycles - clocks) / (time.process_time() - used)
        if whole:
            buffer.set_precision(precision_of(learner, "half"))
            acts = {count: _acting(buffer, learner, rng, count) for count in _OBSERVATIONS}
            one = {name: array[:1] for name, array in experiences.items()}
            timestep = _timestep(buffer, learner, rng, one)
    return CardMeasurement(iterations, acts, *timestep, speed)

"""Whole FIXAR kernels for tests: the same program on both cards, every byte compared."""

from contextlib import contextmanager

import numpy as np
from learner.core_programs import LearnProgram, TrainingPrograms, run_both
from learner.learning import steps
from programs import Rig
from replay.kernels import opened
from replay.programs import CLOCKS

from hw.fixar.commands import COMMANDS, FIXAR_STATUS, FixarOpcode
from hw.fixar.config import FixarConfig, FixarKernelConfig
from hw.fixar.precision import Precision, slots
from hw.replay.config import ReplayConfig
from hw.shell.axi import EngineConfig
from hw.shell.status_block import STATUS

__all__ = ["KINDS", "SMALL", "FixarProgram", "FixarPrograms", "kernel_config", "pair"]
__all__ += ["precision_of", "status_of"]

#: Precisions: activations half, errors half.
KINDS = {"full": (False, False), "mixed": (True, False), "half": (True, True)}
STORAGE_BYTES = 1 << 14


def kernel_config(data_width=128, capacity=100, **learner):
    return FixarKernelConfig(
        replay=ReplayConfig(capacity=capacity, ultra_ram=False),
        engine=EngineConfig(data_width=data_width, depth=128, burst_beats=32),
        learner=FixarConfig(**learner),
    )


#: The kernel of all quick tests; compiling it for card ``sim`` is what takes long. Actions fill a
#: word of the frame, and begin another; one layer has inputs of one column of an array alone, so
#: that its tiles of errors follow each other as fast as they can. Weights come two words a clock.
SMALL = kernel_config(
    observation=3, action=5, hidden=(6, 4), batch=16, cores=2, side=4, port_words=2
)


def precision_of(config, kind, frame=7, activation=6, error=6, activation_bits=16):
    """A Precision of one of ``KINDS``; a shift of its own for each layer."""
    activations, errors = slots(config.learner)
    half, half_errors = KINDS[kind]
    return Precision(
        activations=half,
        errors=half_errors,
        activation_shifts=(frame, *(activation - k % 3 for k in range(activations - 1))) * half,
        error_shifts=tuple(error - k % 3 for k in range(errors)) * half_errors,
        activation_bits=activation_bits,
    )


def _words(shifts):
    numbers = np.zeros(12, np.uint8)
    numbers[: len(shifts)] = shifts
    return numbers.view("<u4").tolist()


class FixarProgram(LearnProgram):
    """Also FORMAT; ACT has ``noise``, bits of a binary32, and ``seed``."""

    def __init__(self, granules=0):
        super().__init__(granules, COMMANDS)

    def format(self, precision, clear=0):
        self.raw(
            FixarOpcode.FORMAT,
            activations=precision.activations,
            errors=precision.errors,
            clear=clear,
            activation_shifts=_words(precision.activation_shifts),
            error_shifts=_words(precision.error_shifts),
            activation_bits=precision.activation_bits % 16,
        )


class FixarPrograms(TrainingPrograms):
    """Random programs with FORMAT and noise.

    wild : bool
        Hyperparameters are any of 0..1, so that parameters reach their limits; else of a
        training that learns.
    """

    PROGRAM = FixarProgram
    COMMON = TrainingPrograms.COMMON | dict(format=3)

    def __init__(self, config, seed, wild=False):
        super().__init__(config, seed)
        self.wild = wild

    def steps(self, count):
        return super().steps(count) if self.wild else steps(count, self.config.learner.batch)

    def format(self, program):
        kind = self.rng.choice(list(KINDS))
        shifts = dict(frame=self.rng.randint(2, 16), activation=self.rng.randint(2, 16))
        shifts["activation_bits"] = self.rng.choice([8, 9, 12, 16, 16])
        precision = precision_of(self.config, kind, **shifts, error=self.rng.randint(2, 11))
        program.format(precision, clear=self.rng.randint(0, 1))

    def act(self, program, rows=0, bad=None, **fields):
        noise = np.array(self.rng.choice([0, 0.1, 2]), "<f4").view("<u4")
        fields = dict(noise=int(noise), seed=self.rng.getrandbits(64)) | fields
        super().act(program, rows, bad, **fields)

    def fresh(self):
        return self.PROGRAM(self.granules)

    def tail(self, program):
        """What is stored, and what it acts like."""
        self.store(program, 15)
        self.get(program)
        self.act(program, 5)
        return program.launch(), program.reports


def status_of(outputs):
    """FIXAR_STATUS of what ``Rig.run`` returned."""
    block = outputs["status"][STATUS.size :][: FIXAR_STATUS.size]
    return block.view(FIXAR_STATUS.dtype)[0]


class _Pair:
    """Both cards, launched alike.

    sim, model : Rig
    """

    def __init__(self, kernel, twin, storage_bytes, **options):
        self.sim, self.model = (
            Rig(each, {"storage": storage_bytes}, FIXAR_STATUS, CLOCKS, **options)
            for each in (kernel, twin)
        )
        self.outputs = None

    def run(self, launch, reports=(), label=""):
        """STATUS records of shell, replay and learner; ``outputs`` has the model's bytes."""
        run, self.outputs = self.model.run, None

        def kept(launch):
            self.outputs = run(launch)
            return self.outputs

        self.model.run = kept
        try:
            return run_both(self.sim, self.model, launch, reports, label)
        finally:
            self.model.run = run


@contextmanager
def pair(config, storage_bytes=STORAGE_BYTES, rig=None, **options):
    """A kernel on card ``sim`` and its twin; ``rig`` are options of a Rig, ``options`` the
    simulated card's."""
    with opened("sim", config, **options) as kernel, opened("model", config) as twin:
        yield _Pair(kernel, twin, storage_bytes, **(rig or {}))

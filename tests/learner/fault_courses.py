"""The same iterations of LEARN, whole or in parts, and courses of launches around them."""

import functools

import numpy as np
from faults import Course
from learner.core_programs import LearnProgram, LearnPrograms, TrainingPrograms
from learner.learning import SMALL, kernel_config
from learner.stand_in_kernels import NARROW, WIDE
from learner.stand_in_kernels import opened as opened_stand_in
from replay.kernels import opened as opened_kernel
from replay.programs import Rig, items_of

from hw.learner.records import LEARNER_STATUS, REPORT
from hw.replay.commands import Given, Opcode
from hw.shell.program import STATUS

__all__ = ["AT_ONCE", "CAPACITY", "NARROW", "REAL", "WIDE", "Lesson"]
__all__ += ["learner_status", "reports_of", "without_clocks"]

#: A learner that learns; beats and records of the same size as those of ``WIDE``.
REAL = kernel_config(algorithm="dqn", **SMALL)
#: Answers in the clock after their question.
AT_ONCE = dict(read_latency=1, write_latency=1)
#: Places of the memory, all filled; the next experience goes to the last.
CAPACITY = 37


class _Small(Rig):
    SIZES = {"program": 4096, "operands": 32768, "results": 32768, "status": 4096}


def learner_status(outputs):
    block = outputs["status"][STATUS.size :][: LEARNER_STATUS.size]
    return block.view(LEARNER_STATUS.dtype)[0]


def reports_of(outputs, count, offset=0):
    """``count`` REPORTs, their clocks at 0."""
    reports = outputs["results"][offset : offset + count * REPORT.size].view(REPORT.dtype).copy()
    reports["cycles"] = 0
    return reports


def without_clocks(outputs, reports):
    """``outputs`` with the clocks of the REPORTs at ``reports``, places in results, at 0."""
    for place in reports:
        begin = place + REPORT.offsets["cycles"]
        outputs["results"][begin : begin + 16] = 0
    return outputs


class Lesson:
    """Three iterations, each with a batch of all it may have, and two experiences to insert.

    Parameters
    ----------
    config : LearnerKernelConfig
    given : bool
        The experiences bring their priorities.
    """

    ITERATIONS, INSERTS = 3, 2

    def __init__(self, config, given=False):
        self.config, self.given = config, given
        self.stand_in = config in (WIDE, NARROW)
        kind = LearnPrograms if self.stand_in else TrainingPrograms
        self.source = source = kind(config, 9)
        self.steps = source.steps(self.ITERATIONS)
        self.records = source.records(self.ITERATIONS * self.INSERTS)
        self.priorities = items_of([(0, 1 + k) for k in range(len(self.records))])
        self.images = source.numbers(15), source.numbers(15)
        self.first, self.filling = source.records(CAPACITY), source.records(CAPACITY - 1)
        self.fields = source.fields(config.learner.batch) | dict(stratum_width=1 << 48)
        self.later = source.steps(2), source.records(2 * self.INSERTS)

    def program(self):
        return LearnProgram(self.source.granules)

    def begin(self, program, image=0, **fields):
        """SETUP to LOAD; ``fields`` are of every experience."""
        program.setup(CAPACITY, self.source.granules, self.config.replay.one)
        program.raw(Opcode.SEED, state=[1, 2, 3, 4])
        for records in (self.first, self.filling):
            records = records.copy()
            for name, value in fields.items():
                records.reshape(-1).view(self.source.dtype)[name] = value
            program.insert(records)
        program.load(self.images[image], 15)

    def before(self, **fields):
        program = self.program()
        self.begin(program, **fields)
        return program.launch()

    def learn(self, begin, end, inserts=True):
        """Iterations ``begin`` to ``end`` alone."""
        program = self.program()
        self.learning(program, begin, end, inserts)
        return program.launch()

    def learning(self, program, begin, end, inserts=True):
        records, fields = self.records[:0], {}
        if inserts:
            part = slice(begin * self.INSERTS, end * self.INSERTS)
            records = self.records[part]
            if self.given:
                lists = np.zeros((end - begin, 8), self.priorities.dtype)  # 64 bytes each
                lists[:, : self.INSERTS] = self.priorities[part].reshape(-1, self.INSERTS)
                place = program.operand(lists)
                fields = dict(given=Given.PRIORITIES.value, priorities=place)
        program.learn(self.steps[begin:end], records, **self.fields, **fields)

    def touched(self, iteration):
        """Places of its inserts."""
        first = CAPACITY - 1 + iteration * self.INSERTS
        return [(first + k) % CAPACITY for k in range(self.INSERTS)]

    def forget(self, places):
        """Their priorities become 0."""
        program = self.program()
        program.listed(Opcode.SET, [(place, 0) for place in places])
        return program.launch()

    def draw(self, iteration):
        """The generator moves on as in an iteration whose batch is lost."""
        program = self.program()
        batch, beta = self.fields["batch"], int(self.steps["beta"][iteration])
        program.sample(batch, beta=beta, stratum_width=self.fields["stratum_width"])
        return program.launch()

    def after(self):
        """Priorities, parameters, and what comes of two iterations more."""
        program = self.program()
        self.source.store(program, 15)
        program.listed(Opcode.GET, range(CAPACITY))
        steps, records = self.later
        program.learn(steps, records, **self.fields)
        self.source.store(program, 15)
        program.listed(Opcode.GET, range(CAPACITY))
        program.sample(5)
        return program.launch(), program.reports

    def course(self, *launches, **memory):
        opened = opened_stand_in if self.stand_in else opened_kernel
        return Course(
            functools.partial(opened, config=self.config),
            lambda kernel: _Small(kernel, 1 << 14),
            launches,
            **dict(max_cycles=60_000) | memory,
        )

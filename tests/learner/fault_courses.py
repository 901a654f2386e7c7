"""The same iterations of LEARN, whole or in parts, and courses of launches around them."""

import functools

import numpy as np
from faults import Course, assert_same, failed
from learner.core_programs import LearnProgram, LearnPrograms, TrainingPrograms, without_clocks
from learner.learning import SMALL, kernel_config, without_cycles
from learner.stand_in_kernels import NARROW, WIDE
from learner.stand_in_kernels import opened as opened_stand_in
from replay.kernels import opened as opened_kernel
from replay.programs import BLANK, Rig, items_of

from hw.learner.records import LEARNER_STATUS, REPORT
from hw.replay.commands import Given, Opcode
from hw.shell.status_block import STATUS

__all__ = ["AT_ONCE", "CAPACITY", "NARROW", "REAL", "WIDE", "Lesson", "Trial"]
__all__ += ["learner_status", "reports_of", "swept"]

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
    reports = outputs["results"][offset : offset + count * REPORT.size]
    return without_cycles(reports.view(REPORT.dtype))


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


class Trial:
    """A LEARN of which an answer fails, and what must be left of it."""

    def __init__(self, config, given):
        self.lesson = lesson = Lesson(config, given)
        self.after, self.later = lesson.after()
        self.course = lesson.course(lesson.before(), lesson.learn(0, 3), self.after)
        self._left = {}

    def left(self, what, iteration):
        """REPORTs that were written, and outputs of the launch after: of a twin that did as much
        and no more."""
        lesson, parts = self.lesson, []
        if (what, iteration) not in self._left:
            whole = lesson.ITERATIONS if what == "report" else iteration
            if whole:
                parts.append((lesson.learn(0, whole), whole))
            if what == "batch":
                parts.append((lesson.draw(iteration), 0))
            if what == "insert":
                parts.append((lesson.learn(iteration, iteration + 1, inserts=False), 1))
                parts.append((lesson.forget(lesson.touched(iteration)), 0))
            outputs = self.course.twin(lesson.before(), *(part for part, _ in parts), self.after)
            reports = [
                reports_of(output, count)
                for output, (_, count) in zip(outputs[1:], parts, strict=False)
            ]
            reports = np.concatenate([np.zeros(0, REPORT.dtype), *reports])
            self._left[what, iteration] = reports, without_clocks(outputs[-1], self.later)
        return self._left[what, iteration]

    def check(self, master, channel, number, what, iteration):
        label = f"{master} {channel} {number}: {what} {iteration}"
        _, outputs, after = self.course.fail(1, master, channel, number)
        assert failed(outputs, 0, label) == 0
        reports, expected = self.left(what, iteration)
        done = {"insert": iteration + 1, "report": 3}.get(what, iteration)
        assert len(reports) == done, label
        status = learner_status(outputs)
        assert (status["iterations"], status["fill"]) == (done, CAPACITY), label
        stored = 3 if what == "report" else iteration
        assert status["position"] == [36, 1, 3, 5][stored], label
        np.testing.assert_array_equal(reports_of(outputs, done), reports, label)
        assert (outputs["results"][done * REPORT.size :] == BLANK).all(), label
        assert_same(without_clocks(after, self.later), expected, label)


def swept(config, iterations, stride):
    """What ``Course.sweep`` meets in a program of so many iterations that is launched twice: the
    second launch is as the first, but for what is counted since reset."""
    lesson = Lesson(config)
    program = lesson.program()
    lesson.begin(program)
    lesson.learning(program, 0, iterations)
    lesson.source.store(program, 15)
    launch = program.launch()

    def clean(outputs):
        for place in program.reports:
            reports = outputs["results"][place : place + REPORT.size].view(REPORT.dtype)
            reports["saturations"] = 0
        learner_status(outputs)["iterations"] = 0
        return without_clocks(outputs, program.reports)

    course = lesson.course(launch, launch, **AT_ONCE)
    return course.sweep(0, again=1, stride=stride, clean=clean)

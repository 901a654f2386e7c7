"""Programs of a learner's kernel for tests: on any card, good ones and each kind of bad one."""

import random

import numpy as np
from programs import assert_left
from replay.programs import Program, status_of

from hw.learner.commands import COMMANDS, LearnOpcode
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import (
    LEARNER_STATUS,
    REPORT,
    STEP,
    action_granules,
    observation_granules,
    record_granules,
)
from hw.replay.commands import Opcode
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM
from hw.shell.status_block import STATUS

__all__ = ["LearnProgram", "LearnPrograms", "TrainingPrograms", "sets_of", "run_both"]
__all__ += ["without_clocks"]

_WORD = (1 << 32) - 1


class LearnProgram(Program):
    """Also LEARN, LOAD, STORE and ACT; ``reports`` are the places of REPORTs in results."""

    def __init__(self, granules=0, commands=COMMANDS):
        super().__init__(granules, commands)
        self.reports = []

    def learn(self, steps, records, **fields):
        """``records``: uint8 [iterations * inserts, bytes]; each iteration's begin on 64 bytes."""
        count, experiences = len(steps), 0
        inserts = len(records) // count
        if inserts:
            runs = records.reshape(count, -1)
            padded = np.zeros((count, -(-runs.shape[1] // 64) * 64), np.uint8)
            padded[:, : runs.shape[1]] = runs
            experiences = self.operand(padded)
        place = self.result(0)
        self.results_bytes += count * REPORT.size
        self.reports += range(place, self.results_bytes, REPORT.size)
        values = dict(
            count=count,
            source=self.operand(steps),
            destination=place,
            inserts=inserts,
            experiences=experiences,
        )
        self.raw(LearnOpcode.LEARN, **{**values, **fields})

    def train(self, steps, sent, **fields):
        """``sent``: uint8 [iterations, bytes], HEADER and experience each; lists of TD errors
        follow the REPORTs."""
        count = len(steps)
        padded = np.full((count, -(-sent.shape[1] // 64) * 64), 0xFF, np.uint8)
        padded[:, : sent.shape[1]] = sent
        place = self.result(0)
        self.reports += range(place, place + count * REPORT.size, REPORT.size)
        lists = place + count * REPORT.size
        batch = sent.shape[1] // (HEADER.size + self.granules * GRANULE_BYTES)
        self.results_bytes = lists + count * (-(-batch * ITEM.size // 64) * 64)
        values = dict(
            count=count,
            source=self.operand(steps),
            destination=place,
            batches=self.operand(padded),
            td_errors=lists,
            batch=batch,
        )
        self.raw(LearnOpcode.TRAIN, **{**values, **fields})

    def load(self, numbers, sets, **fields):
        values = dict(count=numbers.nbytes, source=self.operand(numbers), sets=sets)
        self.raw(LearnOpcode.LOAD, **{**values, **fields})

    def store(self, count, sets, **fields):
        place = self.result(0)
        self.results_bytes += count
        self.raw(LearnOpcode.STORE, **{**dict(count=count, destination=place, sets=sets), **fields})

    def act(self, observations, actions_bytes, **fields):
        """``observations``: float32 [count, words of whole granules]; bytes of all actions."""
        count, place = len(observations), self.result(0)
        self.results_bytes += -(-actions_bytes // 64) * 64  # whole beats
        values = dict(count=count, source=self.operand(observations), destination=place)
        self.raw(LearnOpcode.ACT, **{**values, **fields})


def sets_of(bits):
    return tuple(kind for k, kind in enumerate(PARAMETER_SETS) if bits >> k & 1)


def without_clocks(outputs, reports):
    """``outputs`` with the clocks of the REPORTs at ``reports``, places in results, at 0."""
    for place in reports:
        begin = place + REPORT.offsets["cycles"]
        outputs["results"][begin : begin + 16] = 0
    return outputs


def run_both(kernel, twin, launch, reports, label):
    """Run it on two rigs; every byte is the same but the clock counts of REPORTs, which a twin does
    not know. The status records of shell, replay core and learner."""
    got, expected = (without_clocks(rig.run(launch), reports) for rig in (kernel, twin))
    shell, replay = status_of(expected["status"])
    assert_left(got, expected, f"{label}, {shell}")
    block = expected["status"][STATUS.size :][: LEARNER_STATUS.size]
    return shell, replay, block.view(LEARNER_STATUS.dtype)[0]


class LearnPrograms:
    """``program(length, bad)`` is the next one; keep ``fill`` and ``capacity`` up to date.

    config : LearnerKernelConfig
    """

    PROGRAM = LearnProgram
    #: Methods, and how often each is called.
    COMMON = dict(learn=5, train=3, load=1, store=1, act=3, insert=1, sample=1, set=1, get=1)

    def __init__(self, config, seed):
        self.config, self.rng = config, random.Random(seed)
        self.bytes = np.random.default_rng(seed)
        self.granules, self.capacity = record_granules(config.learner), config.replay.capacity
        self.fill = 0
        fields = config.fields
        self.dtype = np.dtype(
            {
                "names": list(fields),
                "formats": list(fields.values()),
                "itemsize": self.granules * GRANULE_BYTES,
            }
        )

    def program(self, length, bad=None):
        program = self.PROGRAM(self.granules)
        while len(program) < length:
            (name,) = self.rng.choices(list(self.COMMON), self.COMMON.values())
            getattr(self, name)(program)
        if bad:
            bad(self, program)
            program.raw(Opcode.SEED, state=[1, 2, 3, 4])  # must not run
        return program.launch(), program.reports

    def first(self):
        """Fill the memory and load all parameters."""
        program = self.PROGRAM()
        program.setup(self.capacity, self.granules, self.config.replay.one)
        program.raw(Opcode.SEED, state=[self.rng.getrandbits(64) for _ in range(4)])
        self.insert(program, self.capacity - 2)
        self.load(program, 15)
        self.store(program, 15)
        return program.launch(), program.reports

    def records(self, count, **fields):
        """Experiences of finite numbers as bytes; ``fields`` replaces some."""
        records = np.zeros(count, self.dtype)
        for name in self.dtype.names:
            field = records[name]
            if field.dtype.kind == "f":
                field[...] = self.bytes.standard_normal(field.shape)
            else:
                field[...] = self.bytes.integers(0, self.config.learner.action, field.shape)
        if self.config.learner.bounded:
            records["action"] = np.tanh(records["action"])
            records["discount"] = np.tanh(np.abs(records["discount"]))
        for name, value in fields.items():
            records[name] = value
        return np.frombuffer(records.tobytes(), np.uint8).reshape(count, self.dtype.itemsize)

    def steps(self, count):
        record = self.config.learner.step_record
        steps = np.zeros(count, record.dtype)
        for name in record.dtype.names:
            field = steps[name]
            if field.dtype.kind == "f":
                field[...] = self.bytes.random(field.shape)
        steps["beta"] = self.bytes.integers(0, 1 << 16, count)
        if record is STEP:
            steps["seed"] = self.bytes.integers(0, 1 << 63, count)
            steps["sweeps"] = self.bytes.choice([1, 3], count)
        return steps

    def fields(self, batch=None):
        """Of LEARN, all but counts and places."""
        lanes, most = self.config.learner.lanes, self.config.learner.batch
        batch = batch or lanes * self.rng.choice([1, self.rng.randint(1, most // lanes)])
        whole = 1 << 48
        return dict(
            batch=self.rng.choice([batch, most]),
            stratum_width=self.rng.choice([whole, whole // most]),
            alpha=self.rng.choice([19661, 1 << 15]),
            epsilon=self.rng.choice([7, 655]),
        )

    def learn(self, program, **fields):
        count = self.rng.choice([1, 2, self.rng.randint(1, 6)])
        inserts = self.rng.choice([0, 1, 3, self.rng.randint(1, 12)])
        records = self.records(count * inserts)
        program.learn(self.steps(count), records, **{**self.fields(), **fields})
        self.fill = min(self.fill + count * inserts, self.capacity)

    def train(self, program, wrong=None, **fields):
        """``wrong``: fields of the last experience of all."""
        lanes, most = self.config.learner.lanes, self.config.learner.batch
        count, batch = self.rng.randint(1, 4), lanes * self.rng.randint(1, most // lanes)
        program.train(self.steps(count), self.batches(count, batch, wrong), **fields)

    def batches(self, count, batch, wrong=None):
        """HEADER and experience each: uint8 [count, bytes]."""
        headers = np.zeros(count * batch, HEADER.dtype)
        headers["index"] = self.bytes.integers(0, _WORD, count * batch)
        headers["weight"] = self.bytes.random(count * batch)
        records = self.records(count * batch).copy()
        if wrong:
            records[-1] = self.records(1, **wrong)
        whole = np.hstack([headers.view(np.uint8).reshape(count * batch, -1), records])
        return whole.reshape(count, -1)

    def image(self, sets):
        """Bytes of the sections of ``sets``."""
        last = sections(self.config.learner, sets_of(sets))[-1]
        return last.offset + last.size

    def load(self, program, sets=0, **fields):
        sets = sets or self.rng.randint(1, 15)
        program.load(self.numbers(sets), sets, **fields)

    def numbers(self, sets):
        """An image of ``sets``; any bits will do here."""
        return self.bytes.integers(0, _WORD, self.image(sets) // 4, np.uint32)

    def store(self, program, sets=0, **fields):
        sets = sets or self.rng.randint(1, 15)
        program.store(self.image(sets), sets, **fields)

    def act(self, program, rows=0, bad=None, **fields):
        """``bad``: the position of an observation, and a number that is none for it."""
        learner = self.config.learner
        rows = rows or self.rng.choice([1, self.rng.randint(1, learner.batch), learner.batch])
        # What fills the granules is nothing that anybody may look at.
        seen = np.full((rows, 4 * observation_granules(learner)), np.nan, np.float32)
        seen[:, : learner.observation] = self.bytes.standard_normal((rows, learner.observation))
        if bad:
            position, value = bad
            seen[position, self.rng.randrange(learner.observation)] = value
            seen[-1, 0] = seen[-1, 0] if position == rows - 1 else value  # the first counts
        program.act(seen, rows * action_granules(learner) * GRANULE_BYTES, **fields)

    def insert(self, program, count=0, **fields):
        count = count or self.rng.randint(1, 20)
        program.insert(self.records(count, **fields))
        self.fill = min(self.fill + count, self.capacity)

    def sample(self, program):
        program.sample(self.rng.randint(1, 20), beta=self.rng.randint(0, 1 << 15))

    def set(self, program):
        program.listed(
            Opcode.SET, [(self.rng.randrange(self.fill), self.rng.randint(1, 99)) for _ in range(9)]
        )

    def get(self, program):
        program.listed(Opcode.GET, range(self.fill))

    def only(self, program, **fields):
        """One experience with these fields, somewhere, that is nearly sure to be drawn."""
        program.setup(self.capacity, self.granules, 1)
        program.insert(self.records(self.capacity), priority=1)
        self.fill, index = self.capacity, self.rng.randrange(self.capacity)
        program.raw(Opcode.RESTORE, position=index, fill=self.fill)
        program.insert(self.records(1, **fields), priority=self.config.replay.priority_limit)


class TrainingPrograms(LearnPrograms):
    """The same for a learner that calculates: parameters are such as a network may have."""

    def weights(self, *shape):
        return self.bytes.standard_normal(shape) / 2

    def numbers(self, sets):
        learner = self.config.learner
        parts = []
        for section in sections(learner, sets_of(sets)):
            layer = section.layer
            weights = self.weights(layer.outputs, layer.inputs + 1)
            if section.parameter_set == "second":
                weights = weights**2
            weights = weights.astype(np.float32)
            if section.parameter_set in ("online", "target") and learner.arithmetic.saturates:
                fraction = learner.arithmetic.weight.fraction
                weights = np.round(weights * 2.0**fraction).astype("<i4")
            parts.append(layer.pack(weights[:, :-1], weights[:, -1]).view(np.uint32))
        return np.concatenate(parts)

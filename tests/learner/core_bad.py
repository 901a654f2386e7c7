"""One bad command of each kind at the end of a program of ``core_programs``."""

import numpy as np

from hw.learner.records import LearnError
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.records import Error

__all__ = ["BAD"]

_WORD = (1 << 32) - 1


def opcode(source, program):
    program.raw(source.rng.choice([31, 37, 256 + 32, 0x8000_0021, 32 << 8]))


def _iterate(programs, program, **fields):
    """By LEARN or by TRAIN."""
    programs.rng.choice([programs.learn, programs.train])(program, **fields)


def count(source, program):
    _iterate(source, program, count=source.rng.choice([0, MAX_COUNT + 1, _WORD]))


def observations(source, program):
    """More than the learner's batch, or none."""
    most = source.config.learner.batch
    source.act(program, count=source.rng.choice([0, most + 1, 1 << 16, _WORD]))


def batch(source, program):
    learner = source.config.learner
    wrong = [0, learner.batch + learner.lanes, _WORD - learner.lanes + 1, 1 << 16]
    if learner.lanes > 1:
        wrong += [1, learner.batch - 1]
    _iterate(source, program, batch=source.rng.choice(wrong))


def record(source, program):
    program.setup(source.capacity, source.rng.choice([0, 1, source.granules + 1]), 1)
    program.granules = source.granules
    source.fill = 0
    source.learn(program)


def inserts(source, program):
    source.learn(program, inserts=source.rng.choice([source.capacity + 1, 1 << 16, _WORD]))


def image(source, program):
    """Bytes of other sections, or of one beat more."""
    sets, size = source.rng.choice([(7, source.image(3)), (3, source.image(3) + 64), (1, 0)])
    _transfer(source, program, sets, size)


def sets(source, program):
    """Of none, and of some that there are not."""
    _transfer(source, program, source.rng.choice([0, 16, 17, _WORD]), source.image(3))


def _transfer(source, program, sets, size):
    which = source.rng.choice(["load", "store"])
    if which == "load":
        program.load(np.zeros(size, np.uint8), sets)
    else:
        program.store(size, sets)


def field(source, program):
    """Numbers that would be cut."""
    wrong = {"alpha": 1 << 16, "epsilon": 1 << 31, "stratum_width": (1 << 48) + 1, "given": 3}
    name = source.rng.choice([*wrong, "beta"])
    if name == "beta":  # of its second iteration
        steps = source.steps(2)
        steps["beta"][1] |= 1 << source.rng.randrange(16, 32)
        program.learn(steps, source.records(0), **source.fields())
    else:
        source.learn(program, **{name: wrong[name]})


def fill(source, program):
    program.raw(Opcode.RESTORE, fill=1, position=1, maximum=1)
    source.fill = 1
    source.learn(program, batch=source.config.learner.batch)


def empty(source, program):
    program.setup(source.capacity, source.granules, 1)
    program.raw(Opcode.RESTORE, fill=source.capacity)
    source.fill = source.capacity
    source.learn(program)


def number(source, program):
    """Anything that is no number, a discrete action that there is not, or one beyond its limits."""
    name = source.rng.choice(source.dtype.names)
    value = source.rng.choice([np.inf, -np.inf, np.nan])
    if source.config.learner.bounded and name in ("action", "discount"):
        value = source.rng.choice([value, np.nextafter(np.float32(1), np.float32(2)), -1.5])
    if source.dtype[name].base.kind == "u":
        value = source.rng.choice([source.config.learner.action, 1 << 31, _WORD])
    if source.rng.random() < 0.3:
        source.train(program, wrong={name: value})
    else:
        source.only(program, **{name: value})
        source.learn(program)


def weight(source, program):
    """An importance weight that is none, of a batch that is sent."""
    learner = source.config.learner
    batch = learner.lanes * source.rng.randint(1, learner.batch // learner.lanes)
    sent = source.batches(2, batch)
    weights = sent.reshape(2, batch, -1)[source.rng.randrange(2), :, 8:12]
    value = source.rng.choice([np.inf, np.nan, -1, -0.0, 0])
    rows = slice(None) if value == 0 and not np.signbit(value) else source.rng.randrange(batch)
    weights[rows] = np.array([value], "<f4").view(np.uint8)
    program.train(source.steps(2), sent)


def seen(source, program):
    """An observation that is none."""
    count = source.rng.randint(1, source.config.learner.batch)
    value = source.rng.choice([np.inf, -np.inf, np.nan])
    source.act(program, count, bad=(source.rng.randrange(count), value))


def diverged(source, program):
    """A reward that ``stand_in`` takes for one, and that overflows where it meets the discount."""
    fields = dict(reward=3e38, discount=3e38)
    if source.rng.random() < 0.3:
        source.train(program, wrong=fields)
    else:
        source.only(program, **fields)
        source.learn(program)


def _outside(source, end):
    return source.rng.choice([1, 16, 32, -(-end // 64) * 64, _WORD - 63])


def operands(source, program):
    which = source.rng.choice(["steps", "experiences", "batches", "load", "act", "short"])
    if which == "steps":
        _iterate(source, program, source=_outside(source, 1 << 20))
    elif which == "batches":
        source.train(program, batches=_outside(source, 1 << 20))
    elif which == "experiences":
        where = _outside(source, 1 << 20)
        program.learn(source.steps(1), source.records(2), **source.fields(), experiences=where)
    elif which == "load":
        source.load(program, source=_outside(source, 1 << 20))
    elif which == "act":
        source.act(program, source=_outside(source, 1 << 20))
    else:
        source.load(program)
        program.operands_bytes -= 1


def results(source, program):
    which = source.rng.choice(["reports", "lists", "store", "act", "short"])
    if which == "reports":
        _iterate(source, program, destination=_outside(source, 1 << 20))
    elif which == "lists":
        source.train(program, td_errors=_outside(source, 1 << 20))
    elif which == "store":
        source.store(program, destination=_outside(source, 1 << 20))
    elif which == "act":
        source.act(program, destination=_outside(source, 1 << 20))
    else:
        source.store(program)
        program.results_bytes -= 1


#: Function -> the error that it must end in.
BAD = {
    opcode: Error.OPCODE,
    count: Error.COUNT,
    observations: Error.COUNT,
    batch: LearnError.BATCH,
    record: LearnError.RECORD,
    inserts: Error.COUNT,
    image: LearnError.IMAGE,
    sets: Error.FIELD,
    field: Error.FIELD,
    fill: Error.FILL,
    empty: Error.EMPTY,
    number: LearnError.NUMBER,
    weight: LearnError.NUMBER,
    seen: LearnError.NUMBER,
    diverged: LearnError.DIVERGED,
    operands: Error.OPERANDS,
    results: Error.RESULTS,
}


def errors_of(config):
    """``BAD`` of a kernel with this LearnerKernelConfig: where TD errors are finite by
    construction, a reward that would make one infinite is refused as it is drawn."""
    early = config.learner.early_priorities
    return BAD | ({diverged: LearnError.NUMBER} if early else {})

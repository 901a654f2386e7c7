"""hw.fa3c.round.rules at the ends of every field of config and task, against the kernel's twin and
the rules as ``fa3c.tasks`` has them.

No limit is written down here: a field takes each number of the config, of the task's sizes and of
its state, one less and one more, and the same with higher bits.
"""

from itertools import product

import numpy as np
import pytest
from fa3c.tasks import Reference, blank_task, small_config, task_bits
from marks import long_but
from stream.resetting import driven

from hw.fa3c.records import AGENTS, TASK, Error, Task
from hw.fa3c.round.rules import Rules
from sim.model.fa3c.tasks import TaskCheck

INFER, TRAIN, SYNC = (kind.value for kind in Task)
ONE = dict(units=("any",), batch=1, steps=1, agents=1, snapshots=1, tasks=1)
ALL = dict(units=("train", *["any"] * 7), batch=8, steps=32, agents=256, snapshots=64, tasks=256)
CONFIGS = {
    "smallest": ONE,
    "largest": ALL,
    "roles": {},
    **{f"{name} largest": ONE | {name: ALL[name]} for name in ("steps", "snapshots", "units")},
    "agents largest": ONE | {name: ALL[name] for name in ("batch", "agents")},
    **{f"{name} smallest": ALL | {name: ONE[name]} for name in ("steps", "batch", "units")},
}
#: Clocks of a task, at most: three, and two for each agent.
LIMIT = 3 + 2 * AGENTS


def numbers_of(config):
    """Numbers at which the rules may change: those of the config, one less and one more."""
    own = (config.batch, config.steps, config.agents, config.snapshots, len(config.units), 0)
    near = {number + by for number in own for by in (-1, 0, 1)} - {-1}
    bits = (5, 6, 8, 31)
    return sorted(near | {1 << 31, *(number + (1 << bit) for number in own for bit in bits)})


def bases(config, kind):
    """``(task, length of every rollout)``: of one agent or step, and of as many as can be. All keep
    the rules but the last TRAIN, whose rollout has a step too few."""
    last = dict(snapshot=config.snapshots - 1)
    if kind == SYNC:
        yield blank_task(SYNC, **last), 0
    elif kind == INFER:
        last["unit"] = config.units_for("infer")[-1]
        for count, step in product(sorted({1, config.batch}), (0, config.steps)):
            agents = [*range(count), *[0] * (AGENTS - count)]
            yield blank_task(INFER, step=step, count=count, agents=agents, **last), step
    else:
        unit, agents = config.units_for("train")[-1], [config.agents - 1, *[0] * (AGENTS - 1)]
        most = config.steps
        for count, length in ((1, 1), (most, most), (most, most - 1)):
            yield blank_task(TRAIN, unit=unit, count=count, agents=agents), length


def cases(config, base, length):
    """``(task, length of every rollout, bytes of operands, bytes of results)``."""
    size = config.batch * config.screen_bytes + config.samples * config.output_bytes
    count, kind = base["count"], base["kind"]
    operands = count * {INFER: config.screen_bytes, TRAIN: config.output_bytes, SYNC: 0}[kind]
    results = count * config.output_bytes * (kind == INFER)
    for place, less in product((0, 64), (0, 1, 32, 64)):
        yield base | dict(operands=place), length, max(0, operands + place - less), size
        yield base | dict(results=place), length, size, max(0, results + place - less)
    places = (1, 32, size, (1 << 31) + 64, (1 << 32) - 64)
    changes = [*product(("operands", "results"), places)]
    changes += product(("kind", "unit", "snapshot", "step", "count"), numbers_of(config))
    for place in range(AGENTS):
        for number in {0, 1, config.agents - 1, config.agents & 255, 255}:
            changes.append(
                ("agents", [*base["agents"][:place], number, *base["agents"][place + 1 :]])
            )
    yield from ((base | {name: value}, length, size, size) for name, value in changes)


def hardware(config, synced, tried):
    """``[error]`` of Rules for every case, each a list of one task."""
    dut, found = Rules(config), []

    async def bench(ctx, _):
        ctx.set(dut.synced, sum(1 << snapshot for snapshot in synced))
        ctx.set(dut.i.p.last, 1)
        for task, length, operands, results in tried:
            ctx.set(dut.clear, 1)
            await ctx.tick()
            ctx.set(dut.clear, 0)
            ctx.set(dut.length, length)
            ctx.set(dut.operands_bytes, operands)
            ctx.set(dut.results_bytes, results)
            ctx.set(dut.i.p.task.as_value(), task_bits(task))
            ctx.set(dut.i.valid, 1)
            for _ in range(LIMIT + 1):
                taken = ctx.get(dut.i.ready)
                await ctx.tick()
                if taken:
                    break
            else:
                raise AssertionError(f"{task} must be taken within {LIMIT} clocks")
            ctx.set(dut.i.valid, 0)
            found.append(ctx.get(dut.error))

    driven(dut, bench)
    return found


def expected(config, synced, task, length, sizes):
    """What the twin and the rules of ``fa3c.tasks`` say; both say the same."""
    lengths, made = [length] * config.agents, sum(1 << snapshot for snapshot in synced)
    raw = task_bits(task).to_bytes(TASK.size, "little")
    check = TaskCheck(config, np.array(lengths), made, sizes.__getitem__)
    error, _ = check(np.frombuffer(raw, TASK.dtype))
    reference = Reference(config)
    reference.lengths, reference.synced = lengths, synced
    assert reference.check([task], *sizes.values())[0] == error, (task, length, sizes)
    return int(error)


def check(name, kind, every):
    """Verilog, twin and rules agree on the tasks of a kind, and come to ``every`` error."""
    config, seen = small_config(**CONFIGS[name]), set()
    synced = {0, config.snapshots - 1}
    tried = [case for base in bases(config, kind) for case in cases(config, *base)]
    errors = hardware(config, synced, tried)
    for got, (task, length, *sizes) in zip(errors, tried, strict=True):
        sizes = dict(zip(("operands", "results"), sizes, strict=True))
        error = expected(config, synced, task, length, sizes)
        assert got == error, (Error(got), Error(error), task, length, sizes)
        if task["kind"] == kind:
            seen.add(error)
    single = config.agents == 256 and (kind == TRAIN or config.batch == 1)
    # A byte names one of 256 agents, so that only a second agent can be wrong.
    assert seen == {int(error) for error in every} - ({Error.AGENT} if single else set())


quick = pytest.mark.parametrize("name", long_but(["smallest", "largest", "steps largest"], CONFIGS))
EVERY = {Error.NONE, Error.TASK, Error.UNIT, Error.SNAPSHOT, Error.AGENT, Error.STEP}
EVERY |= {Error.OPERANDS, Error.RESULTS}


@quick
def test_infer(name):
    check(name, INFER, EVERY)


@quick
def test_train(name):
    """32 steps need operands too: their count was cut to five bits. Results are a wrong field."""
    check(name, TRAIN, EVERY - {Error.RESULTS})


@quick
def test_sync(name):
    check(name, SYNC, {Error.NONE, Error.TASK, Error.SNAPSHOT})

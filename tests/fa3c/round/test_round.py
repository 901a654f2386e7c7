"""hw.fa3c.round.round against the rules as ``fa3c.tasks`` has them."""

import json
import random

import pytest
from fa3c.tasks import Lists, Reference, small_config, task_bits

from hw.fa3c.records import Error
from hw.fa3c.round.round import Round

#: What fails: nothing, or memory while the list, error rows or tasks are worked on.
FAULTS = ("list", "rows", "work")
CONFIGS = {
    "roles": dict(),
    "one": dict(units=("any",), batch=1, steps=1, agents=1, snapshots=1, tasks=1, hidden=()),
    # Lists in block RAM; numbers of agents and snapshots that fill their fields.
    "many": dict(units=("any",) * 4, batch=8, steps=16, agents=256, snapshots=64, tasks=100),
}
SIZES = 1 << 15, 1 << 13


def expected(reference, tasks, bad_rows=(), fault=None):
    """A round with what it must come to; the reference goes on."""
    error, detail = reference.check(tasks, *SIZES, bad_rows)
    works = not error and fault in (None, "work")
    if works:
        reference.execute(tasks, failed=fault is not None)
    return dict(
        words=[task_bits(task) for task in tasks],
        tasks=tasks,
        bad_rows=list(bad_rows),
        fault=fault,
        error=int(error),
        detail=detail,
        works=works,
        synced=sum(1 << snapshot for snapshot in reference.synced),
        units=reference.units(tasks) if works else [[]] * len(reference.config.units),
        updates=reference.updates(tasks) if works else [],
    )


def rounds_of(reference, count, seed):
    """Rounds one after the other; the errors that they come to."""
    rng = random.Random(seed)
    lists, rounds, seen = Lists(reference, seed, *SIZES), [], set()
    for number in range(count):
        tasks, bad_rows = lists.good(), []
        fault = rng.choice(FAULTS) if number % 8 == 6 else None
        trains = [task["operands"] for task in tasks if task["kind"] == 1]
        fault = "work" if fault == "rows" and not trains else fault
        if number % 2 and not fault:
            tasks = lists.spoilt(tasks)
        elif number % 4 == 2 and trains and not fault:
            bad_rows = [rng.choice(trains)]
        rounds.append(expected(reference, tasks, bad_rows, fault))
        seen.add(rounds[-1]["error"])
    return rounds, seen


def run(simulate, tmp_path, config, rounds):
    file = tmp_path / "rounds.json"
    file.write_text(json.dumps(rounds))
    simulate(
        Round(config),
        "fa3c.round.round_bench",
        config=config.to_dict(),
        rounds=str(file),
        sizes=SIZES,
    )


@pytest.mark.parametrize(
    "name, count", [("roles", 30), ("one", 10), pytest.param("many", 5, marks=pytest.mark.long)]
)
def test_random_rounds(simulate, tmp_path, name, count):
    """Errors, who gets what in which order, and what later rounds find."""
    config = small_config(**CONFIGS[name])
    rounds, seen = rounds_of(Reference(config), count, seed=52)
    if name == "roles":
        assert seen == {Error.NONE, *range(Error.TASK, Error.NUMBER + 1), 2, 3}
        assert {each["fault"] for each in rounds} == {None, *FAULTS}
    run(simulate, tmp_path, config, rounds)


def test_rounds_by_hand(simulate, tmp_path):
    """A list of one SYNC; a TRAIN before and behind the SYNC of its snapshot; the rollout's end;
    TRAINs of all units; an INFER behind another snapshot's SYNC, of the same lower bits; a
    bootstrap that memory fails; a TRAIN as long as can be; a number that is none in each word of a
    row; a long list."""
    reference = Reference(small_config(**CONFIGS["many"]))
    lists = Lists(reference, 4, *SIZES)
    sync = lists.task(2, snapshot=63)
    infer = lists.task(0, unit=3, snapshot=63, count=1, agents=[255, *[0] * 7])
    train = lists.task(1, unit=0, snapshot=63, count=1, agents=[255, *[0] * 7])
    rounds, units = [], (2, 0, 3, 1)

    def by(task, unit, agent):
        return task | dict(unit=unit, agents=[agent, *[0] * 7])

    for tasks, outcome in (
        ([infer], (Error.SNAPSHOT, 0)),
        ([sync], (0, 0)),
        ([sync], (0, 0)),  # one that takes long
        ([train], (Error.STEP, 0)),
        ([infer], (0, 0)),
        ([infer], (Error.STEP, 0)),
        ([infer | dict(step=2)], (Error.STEP, 0)),
        # An end beyond 2**32, which in 32 bits would lie in the buffer.
        ([infer | dict(step=1, operands=(1 << 32) - 64)], (Error.OPERANDS, 0)),
        ([infer | dict(step=1, results=(1 << 32) - 64)], (Error.RESULTS, 0)),
        ([sync, train], (Error.SNAPSHOT, 1)),
        ([train, sync], (Error.SNAPSHOT, 1)),
        ([train, infer | dict(step=16)], (Error.AGENT, 1)),
        ([train | dict(count=2)], (Error.STEP, 0)),
        ([train], (0, 0)),
        ([infer | dict(step=1)], (Error.STEP, 0)),
        ([infer | dict(step=16), sync], (Error.SNAPSHOT, 1)),
        ([sync, infer | dict(step=16)], (0, 0)),
        ([infer], (0, 0)),
        ([by(infer, unit, agent) for agent, unit in enumerate(units)], (0, 0)),
        ([by(train, unit, agent) for agent, unit in enumerate(units)], (0, 0)),
        ([sync | dict(snapshot=31)], (0, 0)),
        ([sync, infer | dict(snapshot=31, step=16)], (0, 0)),
    ):
        rounds.append(expected(reference, tasks))
        assert (rounds[-1]["error"], rounds[-1]["detail"]) == outcome
    # Survivor F5: memory fails a bootstrap in the middle of a rollout, which is empty then.
    rounds.append(expected(reference, [by(infer, 3, 9)]))
    rounds.append(expected(reference, [by(infer | dict(step=16), 3, 9)], fault="work"))
    for step, outcome in ((1, Error.STEP), (0, Error.NONE)):
        rounds.append(expected(reference, [by(infer | dict(step=step), 3, 9)]))
        assert rounds[-1]["error"] == outcome
    # Survivor F11: 16 steps' error rows, 2048 bytes, of which the last is behind the buffer.
    for step in range(16):
        rounds.append(expected(reference, [by(infer | dict(step=step), 3, 5)]))
    for place, outcome in (((1 << 15) - 1984, Error.OPERANDS), ((1 << 15) - 2048, Error.NONE)):
        rounds.append(expected(reference, [by(train | dict(count=16, operands=place), 3, 5)]))
        assert rounds[-1]["error"] == outcome
    # Survivor 03: each byte of agents that a task does not name.
    for task, named in ((by(infer, 3, 7), 1), (by(train, 3, 7), 1), (sync, 0)):
        for place in range(named, 8):
            agents = [*task["agents"][:place], 1, *[0] * (7 - place)]
            rounds.append(expected(reference, [task | dict(agents=agents)]))
            assert rounds[-1]["error"] == Error.TASK
    # Each word of a row of errors.
    rounds.append(expected(reference, [by(infer, 3, 11)]))
    for place in range(0, 16 * 64, 64):
        task = by(train | dict(operands=place), 3, 11)
        rounds.append(expected(reference, [task], bad_rows=[place]))
        assert rounds[-1]["error"] == Error.NUMBER
    rounds.append(expected(reference, lists.good()))
    assert len(rounds[-1]["tasks"]) > 64 and not rounds[-1]["error"]
    run(simulate, tmp_path, reference.config, rounds)

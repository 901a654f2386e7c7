"""hw.gae.intake.intake: twin against fractions and naive loops, hardware against twin."""

import json

import numpy as np
import pytest
from gae.naive import LIMITS, naive_code
from gae.slots import (
    CONFIGS,
    bits,
    code_bits,
    config_of,
    fields_of,
    memory,
    push_fields,
    random_kinds,
    random_numbers,
    record,
    slot_word,
)
from later import later

from hw.gae.commands import Opcode
from hw.gae.intake.intake import Intake
from hw.gae.records import Error, Kind
from sim.model.gae.intake.intake import Intake as IntakeTwin

NONE, STEP, TERMINAL, BOOTSTRAP = (kind.value for kind in Kind)


def naive_error(kinds, rewards, values, open_rows, *, ordered=True, code_limit=None):
    """The first error of slot, rule and row."""
    after_step = [bool(x) for x in open_rows]

    def wrong(number):
        return not np.isfinite(number) if code_limit is None else number < -code_limit

    for slot, row_kinds in enumerate(kinds.tolist()):
        found = []
        for row, kind in enumerate(row_kinds):
            if kind > 3 or (ordered and kind == BOOTSTRAP and not after_step[row]):
                found.append((Error.KIND, row))
            if ordered and kind == NONE and after_step[row]:
                found.append((Error.UNFINISHED, row))
            reward = kind in (STEP, TERMINAL) and wrong(rewards[slot, row])
            if reward or (kind != NONE and wrong(values[slot, row])):
                found.append((Error.NUMBER if code_limit is None else Error.CODE, row))
            after_step[row] = kind == STEP
        if found:
            code, row = min(found)
            return code, slot * len(row_kinds) + row
    return Error.NONE, 0


def push(config, kinds, rewards, values, fields, open_rows=None, seed=0):
    """The twin's PUSH."""
    rng = np.random.default_rng(seed)
    raw = memory(config, Opcode.PUSH, (kinds, rewards, values), rng)
    open_rows = np.zeros(config.gae.rows, bool) if open_rows is None else open_rows
    return IntakeTwin(config).numbers(raw, fields_of(Opcode.PUSH, **fields), open_rows)


def corner_fields(config, rng):
    """Extremes of every field."""
    fields = {"code_bits": code_bits(config, rng)}
    for name in ("reward", "value"):
        fields |= {
            f"{name}_exponent": int(rng.choice([-150, -1, 0, 1, 26, 150])),
            f"{name}_mean": int(rng.choice([LIMITS[0], -1, 0, 1, LIMITS[1]])),
            f"{name}_factor": int(rng.choice([0, 1, (1 << 17) - 1, 1 << 17, (1 << 26) - 1])),
            f"{name}_shift": int(rng.choice([1, 2, 8, 9, 26, 34, 52, 53])),
        }
    return fields


def boundary_push(config, bits=0, around=12):
    """Codes just below, at and beyond the limits and between two codes, by the whole numbers."""
    limit, rows = config.gae.limit_of(bits), config.gae.rows
    factor = 1 if config.gae.code_width < 32 else 65
    ends = [x // factor for x in (-2 * limit - 1, 0, 2 * limit)]
    x = np.concatenate([np.arange(end - around, end + around + 2) for end in ends])
    x = x[: len(x) // rows * rows] if len(x) >= rows else np.resize(x, rows)
    numbers = x.reshape(-1, rows).astype(np.float32)
    fields = {"code_bits": bits}
    for name in ("reward", "value"):
        fields |= {f"{name}_factor": factor, f"{name}_shift": 1}
    kinds = np.full(numbers.shape, TERMINAL, np.uint8)
    return kinds, numbers, numbers[::-1], fields


@pytest.mark.parametrize("name", CONFIGS)
def test_codes_of_the_twin(name):
    config, rng = config_of(name), np.random.default_rng(2)
    rows = config.gae.rows
    pushes = [boundary_push(config, bits) for bits in (0, *range(3, config.gae.most_code_bits + 1))]
    for k in range(30):
        kinds = random_kinds(3, np.zeros(rows, bool), rng)
        rewards, values = (
            random_numbers(kinds.shape, rng, 2.0 ** rng.integers(-3, 2)) for _ in "rv"
        )
        rewards[(kinds == NONE) | (kinds == BOOTSTRAP)], values[kinds == NONE] = np.nan, np.inf
        fields = push_fields(config, rng) if k % 2 else corner_fields(config, rng)
        pushes.append((kinds, rewards, values, fields))
    clips = inside = 0
    for kinds, rewards, values, fields in pushes:
        error, _, slots, clipped = push(config, kinds, rewards, values, fields)
        assert error == Error.NONE
        np.testing.assert_array_equal(slots.kinds, kinds)
        expected_clips, limit = 0, config.gae.limit_of(fields["code_bits"])
        for plane, codes, word, counting in (
            (rewards, slots.rewards, "reward", (STEP, TERMINAL)),
            (values, slots.values, "value", (STEP, TERMINAL, BOOTSTRAP)),
        ):
            scale = [fields.get(f"{word}_{f}", 0) for f in ("exponent", "mean", "factor", "shift")]
            for number, kind, code in zip(plane.flat, kinds.flat, codes.flat, strict=True):
                expected = 0, False
                if kind in counting:
                    expected = naive_code(number, *scale, limit)
                assert code == expected[0], (number, scale)
                expected_clips += expected[1]
                inside += expected[0] != 0 and not expected[1]
        assert clipped == expected_clips
        clips += clipped
    assert clips > 20 and inside > 20, "codes of both sorts"


@pytest.mark.parametrize("name", CONFIGS)
def test_errors_of_the_twin(name):
    config, rng = config_of(name), np.random.default_rng(3)
    seen = set()
    for opcode in (Opcode.PUSH, Opcode.PUSH_CODES, Opcode.STATISTICS):
        for _ in range(200):
            command = random_command(config, opcode, rng, faults=int(rng.integers(0, 4)))
            limit = config.gae.code_limit if opcode == Opcode.PUSH_CODES else None
            expected = naive_error(
                *command["planes"],
                command["open_rows"],
                ordered=opcode != Opcode.STATISTICS,
                code_limit=limit,
            )
            assert execute(config, command)[:2] == expected
            seen.add((opcode, expected[0]))
    assert len(seen) == 4 + 4 + 3, "every error of each opcode"


def random_command(config, opcode, rng, *, faults=0, count=None, corner=False):
    """Arrays and record of a command; ``faults`` are planted anywhere."""
    rows, width = config.gae.rows, config.gae.code_width
    count = int(rng.integers(1, 6)) if count is None else count
    open_rows = rng.random(rows) < 0.5
    kinds = random_kinds(count, open_rows, rng)
    if opcode == Opcode.PUSH_CODES:
        limit = config.gae.code_limit
        planes = [rng.integers(-limit, limit, kinds.shape, f"i{width // 8}", True) for _ in "rv"]
        bad = -limit - 1
        ignored = [bad, bad]
    else:
        scale = 2.0 ** rng.integers(-2, 2)
        planes = [random_numbers(kinds.shape, rng, scale) for _ in "rv"]
        bad, ignored = np.float32(rng.choice([np.nan, np.inf, -np.inf])), [np.nan, np.inf]
    for _ in range(faults):
        place = int(rng.integers(count)), int(rng.integers(rows))
        if rng.random() < 0.5:
            kinds[place] = rng.choice([NONE, BOOTSTRAP, STEP, 4, 7, 255])
        else:
            planes[int(rng.integers(2))][place] = bad
    planes[0][(kinds == NONE) | (kinds == BOOTSTRAP)] = ignored[0]
    planes[1][kinds == NONE] = ignored[1]
    fields = {}
    if opcode == Opcode.PUSH:
        fields = corner_fields(config, rng) if corner else push_fields(config, rng)
    elif opcode == Opcode.STATISTICS:
        exponents = [-150, -20, 27, 60, 150] if corner else np.arange(-3, 26)
        fields = {f"{n}_exponent": int(rng.choice(exponents)) for n in ("reward", "value")}
        if rng.random() < 0.5:
            prior = int(rng.integers(1, 1 << int(rng.integers(2, 32))))
            mean, more = int(rng.integers(*LIMITS)), int(rng.integers(1 << 62))
            squares = prior * mean * mean + more
            fields |= dict(
                prior_count=prior,
                prior_sum=prior * mean,
                prior_squares=[squares & (1 << 64) - 1, squares >> 64],
            )
    planes = (kinds, *planes)
    return dict(opcode=opcode, planes=planes, open_rows=open_rows, count=count, fields=fields)


def execute(config, command, seed=0):
    """What the twin answers."""
    opcode = command["opcode"]
    raw = memory(config, opcode, command["planes"], np.random.default_rng(seed))
    twin = IntakeTwin(config)
    fields = fields_of(opcode, count=command["count"], **command["fields"])
    if opcode == Opcode.PUSH_CODES:
        return twin.codes(raw, command["open_rows"])
    if opcode == Opcode.PUSH:
        return twin.numbers(raw, fields, command["open_rows"])
    return twin.statistics(raw, fields)


def vector(config, command, seed):
    """A command, and the twin's answer, as the bench takes it."""
    opcode, planes = command["opcode"], command["planes"]
    raw = memory(config, opcode, planes, np.random.default_rng(seed))
    size = config.engine.beat_bytes
    fields = record(opcode, count=command["count"], **command["fields"])
    error, detail, result, *clipped = execute(config, command, seed)
    is_statistics = opcode == Opcode.STATISTICS
    slots, moments = None, None
    if is_statistics:
        moments = int.from_bytes(result.tobytes(), "little") if result is not None else 0
    elif not error:
        slots = [slot_word(config.gae, *cells) for cells in zip(*result, strict=True)]
    return dict(
        opcode=opcode.value,
        count=command["count"],
        command=int.from_bytes(fields.tobytes(), "little"),
        open=bits(command["open_rows"]),
        beats=[int.from_bytes(beat.tobytes(), "little") for beat in raw.reshape(-1, size)],
        error=int(error),
        detail=detail,
        slots=slots,
        open_next=bits(planes[0][-1] == STEP),
        clipped=clipped[0] if clipped else 0,
        moments=moments,
        after=Intake.clocks_after(config)[opcode],
    )


# Icarus takes a minute for the widest one; eight rows have all that more of them have.
LONG = [later(n) if n in ("64 rows", "33 rows", "19 rows") else n for n in CONFIGS]


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("around, repeats", [(3, 1), later(12, 2)])
def test_hardware(simulate, tmp_path, name, around, repeats):
    config, rng = config_of(name), np.random.default_rng(5)
    commands = []
    for least in (0, 3, 5) if config.gae.most_code_bits else (0,):
        kinds, *planes, fields = boundary_push(config, least, around)
        boundary = dict(
            opcode=Opcode.PUSH,
            planes=(kinds, *planes),
            open_rows=np.zeros(config.gae.rows, bool),
            count=len(kinds),
            fields=fields,
        )
        commands.append(boundary)
    for opcode in (Opcode.PUSH, Opcode.PUSH_CODES, Opcode.STATISTICS):
        commands.append(random_command(config, opcode, rng, count=4))
        if config.engine.data_width == 128:  # wider ones are slow to simulate
            commands += [random_command(config, opcode, rng, faults=f) for f in (0, 1, 4) * repeats]
            commands.append(random_command(config, opcode, rng, count=1, corner=True))
    commands = [commands[0], *(commands[1 + k] for k in rng.permutation(len(commands) - 1))]
    vectors = [vector(config, command, seed) for seed, command in enumerate(commands)]
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    simulate(Intake(config), "gae.intake.intake_bench", vectors=str(file))

"""intake: every number of a batch comes to its core, cell and half, as the twin's code of it."""

import numpy as np
import pytest
from packed import packed

from hw.fixar.batch.frame import FIELDS
from hw.fixar.batch.intake import Intake, write_layout
from hw.fixar.config import FixarConfig
from hw.learner.records import observation_granules, record_granules, record_words
from sim.model.arith.quantize import quantize
from sim.model.fixar.numbers import encode

#: Config, bits of a beat.
CASES = {
    # An observation's end and the next one's beginning in one step; records inside beats.
    "side 16, 3 cores": (dict(observation=11, action=3, side=16, cores=3, batch=14), 512),
    # More than a word; the action ends in one.
    "side 16, 2 cores": (dict(observation=17, action=6, side=16, cores=2, batch=9), 256),
    "side 4, 1 core": (dict(observation=6, action=3, side=4, cores=1, batch=5), 128),
    # Words that have features of the action alone, and fields that share a granule.
    "side 4, 2 cores": (dict(observation=1, action=5, side=4, cores=2, batch=7), 512),
    # A number of each field, and a sample a core.
    "smallest": (dict(observation=1, action=1, side=4, cores=2, batch=2), 128),
}
CORNERS = (0.0, -0.0, 1e-30, 2047.9999, 2048.0, 1e9, -2048.0, -2048.1, -1e30, 2.0**-21, -(2.0**-21))


def numbers(shape, rng, spread):
    """Most within the range of codes or a little beyond; corners, and numbers far outside."""
    usual = (rng.standard_normal(shape) * spread).astype(np.float32)
    corners = np.array(CORNERS, np.float32)
    return np.where(rng.random(shape) < 0.1, rng.choice(corners, shape), usual)


def cells_of(config, values, half, shift, bits):
    """uint32 [features, batch] cells, and how many codes were clipped."""
    cells, clipped = encode(values.astype(np.float64), half, shift, True, bits)
    if not half:
        return values.astype(np.uint32), 0
    codes = cells.words.astype(np.int64).astype(np.uint32) & 0xFFFF
    return codes << 16 | codes, clipped


def writes_of(config, fields, half, shift, bits):
    """``[core, bits]`` of every write in order, and the codes that were clipped."""
    layout, side, clipped = write_layout(config), config.side, 0
    words = {}
    for name, values in fields.items():
        first = 0 if name == "action" else config.action
        cells, beyond = cells_of(config, values.T, half, shift, bits)
        clipped += beyond
        features = -(-(first + len(cells)) // side) * side
        frame = np.zeros((features, len(values)), np.uint32)
        frame[first : first + len(cells)] = cells
        words[name] = frame.reshape(-1, side, len(values))
    writes = []
    for b in range(len(values)):
        core, j = b % config.cores, b // config.cores
        place = dict(t=j // 2, halves=1 << j % 2) if half else dict(t=j, halves=3)
        for name, frame in words.items():
            kind = dict(valid=1, acts=name == "action", next=name == "next_obs")
            for word, data in enumerate(frame[:, :, b]):
                bits, _ = packed(layout, dict(**kind, **place, word=word, data=data))
                writes.append([core, bits])
    return writes, clipped


def batch_of(
    config, data_width, count, rng, *, half=False, shift=0, bits=16, acting=False, spread=8, sign=0
):
    """What the bench needs of a batch."""
    size = observation_granules(config) if acting else 1 + record_granules(config)
    words = rng.integers(0, 1 << 32, (count, 4 * size), dtype=np.uint32)
    fields, saturations = {}, 0
    for name in FIELDS[:1] if acting else FIELDS:
        offset, length = record_words(config)[name]
        values = numbers((count, length), rng, spread)
        if sign:
            values = np.float32(sign) * (np.abs(values) + 1)
        offset += 0 if acting else 4
        words[:, offset : offset + length] = values.view(np.uint32)
        raw, clipped = quantize(values, config.arithmetic.activation)
        fields[name] = raw
        saturations += int(np.count_nonzero(clipped))
    writes, clipped = writes_of(config, fields, half, shift, bits)
    seen, number = (
        np.concatenate([x.ravel() for x in fields.values()]),
        config.arithmetic.activation,
    )
    data = words.tobytes() + b"\xff" * (-4 * words.size % (data_width // 8))
    step = data_width // 8
    return dict(
        acting=int(acting),
        half=int(half),
        shift=shift,
        cut=(1 << 16 - bits) - 1,
        count=count,
        rows=[int.from_bytes(data[at : at + step], "little") for at in range(0, len(data), step)],
        writes=writes,
        saturations=0 if acting else saturations + clipped,
        low=number.high if acting else int(seen.min()),
        high=number.low if acting else int(seen.max()),
    )


@pytest.mark.parametrize("name", CASES)
def test_intake(simulate, name):
    values, data_width = CASES[name]
    config, rng = FixarConfig(hidden=(4,), **values), np.random.default_rng(1)
    most, cores, batches = config.batch, config.cores, []
    half, acting = dict(half=True), dict(acting=True)
    for count, options in (
        (most, dict()),
        (1, dict(spread=1000)),
        (most, half | dict(shift=16, spread=1500)),
        (most - 1, half | dict(shift=11)),
        (most, half | dict(shift=9, bits=8, spread=12)),
        (most, half | dict(shift=7, bits=11)),
        (most, dict(bits=8)),
        (most, acting),
        (1, half | dict(shift=0, spread=0.1)),
        (min(most, cores + 1), acting | half | dict(shift=12)),
        (min(most, 2 * cores), half | dict(shift=1)),
        (1, acting | half | dict(shift=5)),
        (cores, dict(spread=3000)),
    ):
        batches.append(batch_of(config, data_width, count, rng, **options))
    # All of one sign: neither limit is a zero of nobody.
    for sign in (1, -1):
        batches.append(batch_of(config, data_width, 2, rng, sign=sign))
    unit = Intake(config, data_width)
    simulate(
        unit,
        "fixar.batch.intake_bench",
        cores=cores,
        words=data_width // 32,
        latency=unit.LATENCY,
        steps=[unit.steps, unit.acting_steps],
        batches=batches,
    )

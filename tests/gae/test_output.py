"""hw.gae.output against the planes of results in memory, and moments as they are."""

import json

import numpy as np
import pytest
from gae.slots import kernel_config, packed
from marks import long_but

from hw.gae.output import Output
from hw.gae.records import MOMENTS

CONFIGS = {
    # A plane a beat: a part of it, all of it.
    "1 row": dict(data_width=128, rows=1, result_width=32),
    "16 rows": dict(data_width=128, rows=16, result_width=8),
    # The last of three beats holds 3 rows.
    "19 rows": dict(data_width=128, rows=19, result_width=16),
    "33 rows": dict(data_width=256, rows=33, result_width=8),
    # The widest memory: both MOMENTS are two beats.
    "64 rows": dict(data_width=512, rows=64, result_width=8),
}


def pull(config, slots, rng):
    """Results of ``slots`` as they come, and the beats that they are."""
    gae, beat_bytes = config.gae, config.engine.beat_bytes
    width, limit = gae.result_width, gae.result_limit
    numbers = rng.integers(-limit, limit, (slots, 2, gae.rows), f"i{width // 8}", True)
    numbers[rng.random(numbers.shape) < 0.2] = rng.choice([-limit, -1, limit])
    results, beats = [], []
    for planes in numbers:
        results.append(packed(planes.T.reshape(-1), width))  # a row's two side by side
        for plane in planes:
            raw = plane.astype(f"<i{width // 8}").tobytes()
            raw += bytes(-len(raw) % beat_bytes)
            parts = [raw[k : k + beat_bytes] for k in range(0, len(raw), beat_bytes)]
            beats += [int.from_bytes(part, "little") for part in parts]
    assert len(beats) == slots * sum(config.slot_beats["results"])
    return dict(pulling=1, results=results, beats=beats)


def statistics(moments, beat_bytes):
    raw = moments.to_bytes(2 * MOMENTS.size, "little")
    parts = [raw[k : k + beat_bytes] for k in range(0, len(raw), beat_bytes)]
    beats = [int.from_bytes(part, "little") for part in parts]
    return dict(pulling=0, results=[], beats=beats)


@pytest.mark.parametrize("name", long_but(["1 row", "16 rows", "19 rows"], CONFIGS))
def test_output(simulate, tmp_path, name):
    """PULL of one slot and of more, STATISTICS before, between, twice, and at the end."""
    config, rng = kernel_config(**CONFIGS[name]), np.random.default_rng(1)
    runs = []
    for slots in (0, 1, 4, 0, 0, 2, 1, 3, 0):
        # Moments that are there are of no concern to a PULL.
        moments = int.from_bytes(rng.bytes(2 * MOMENTS.size), "little")
        run = pull(config, slots, rng) if slots else statistics(moments, config.engine.beat_bytes)
        runs.append(run | dict(moments=moments))
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(runs))
    simulate(
        Output(config),
        "gae.output_bench",
        runs=str(file),
        latency=Output.LATENCY,
        interval=Output.INTERVAL,
    )

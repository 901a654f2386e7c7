"""row_update: rows of parameters against the twin, at every pace."""

import json

import numpy as np
import pytest
from fa3c.memory.numbers import USUAL, as_rows, normals, packed_coefficients, patterns, updated

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.rows import ROW

#: RUs -> rows: more than may be inside.
COUNTS = {1: 10, 2: 14, 8: 40, 16: 70}


@pytest.mark.parametrize(
    "rms_units", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 8, 16))]
)
def test_rows(simulate, tmp_path, rms_units):
    config, rng = Fa3cConfig(rms_units=rms_units), np.random.default_rng(rms_units)
    count = COUNTS[rms_units]
    half = count // 2 * ROW
    operands = [
        np.concatenate(
            [normals(rng, half), patterns(rng, half), np.abs(normals(rng, 4 * ROW, -3, 3))]
        )
        for _ in range(3)
    ]
    # hw_arrays 5: a row whose first or last word of the squares, or of theta, is infinite.
    end = count * ROW
    operands[0][[end, end + 2 * ROW - 1]] = 1e20
    operands[2][[end + 2 * ROW, end + 4 * ROW - 1]] = np.inf
    rows = dict(zip(("gradient", "squares", "theta"), operands, strict=True))
    new = dict(zip(("new_squares", "new_theta"), updated(USUAL, *operands), strict=True))
    rows |= new
    infinite = {name: ~np.isfinite(x.reshape(-1, ROW)).all(axis=1) for name, x in new.items()}
    assert [infinite[name][-4:].tolist() for name in new] == [
        [True] * 2 + [False] * 2,
        [False] * 2 + [True] * 2,
    ]
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                coefficients=packed_coefficients(USUAL),
                infinite={name: int(x.sum()) for name, x in infinite.items()},
                rows={name: [f"{row:x}" for row in as_rows(x)] for name, x in rows.items()},
            )
        )
    )
    unit = RowUpdate(config)
    simulate(
        unit,
        "fa3c.memory.row_update_bench",
        vectors=str(file),
        config=dict(rms_units=rms_units),
        interval=unit.interval,
        latency=unit.LATENCY,
    )

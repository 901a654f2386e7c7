"""hw.fa3c.unit.tlu: patches against their transposes."""

import json

import numpy as np
import pytest
from fa3c.numbers import as_int, numbers
from pauses import SOLID, SOLID_TOO

from hw.fa3c.unit.tlu import Tlu

#: Pauses of rows that come, of rows that are taken. A patch and 7 clocks: the next one begins
#: while the one before leaves alone; a patch and 30 clocks: it is gone by then.
GAPS = {
    "both": (0.3, 0.6),
    "seldom": (0.9, 0.3),
    "patch by patch": ([7, 16], 0),
    "one alone": ([30, 16], 0.3),
    "long": (SOLID, SOLID_TOO),
}


def run(simulate, directory, patches, gaps, clocks=None):
    values = numbers((patches, 16, 16), np.random.default_rng(patches))
    path = directory / "words.json"
    rows, turned = (
        [f"{as_int(row):x}" for patch in each for row in patch]
        for each in (values, values.transpose(0, 2, 1))
    )
    path.write_text(json.dumps(dict(inputs=dict(i=rows), expected=turned)))
    simulate(
        Tlu(),
        "stream.unit_bench",
        words=str(path),
        clocks=clocks,
        seed=1,
        gaps=gaps,
    )


_SOON = ("both", "one alone")
_LATER = [name for name in GAPS if name not in _SOON]


@pytest.mark.parametrize("names", [_SOON, pytest.param(_LATER, marks=pytest.mark.long)])
def test_patches(simulate, tmp_path, names):
    """Also the last one leaves, whole."""
    run(simulate, tmp_path, 7, [GAPS[name] for name in names])


@pytest.mark.parametrize("patches", [pytest.param(1, marks=pytest.mark.long), 4])
def test_pace(simulate, tmp_path, patches):
    """A row in and a row out every clock."""
    found = Tlu.estimate()
    assert (found.latency, found.interval) == (16, 1)
    run(simulate, tmp_path, patches, [(0, 0)], [16 + row for row in range(16 * patches)])

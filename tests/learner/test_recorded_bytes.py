"""Fixed-point kernels do to the byte what they did when ``recorded`` was written; sums of REPORT,
whose order is free, to 1e-5."""

import numpy as np
import pytest
from learner.recorded import CASES, FOLDER, SUMS, file_of, recorded, run


def differing(found, expected, batches):
    """What differs in the bits of an array, for a reader; None if nothing does."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    bits = f"u{found.dtype.itemsize}"
    places = np.argwhere(np.atleast_1d(found).view(bits) != np.atleast_1d(expected).view(bits))
    if not len(places):
        return None
    first = tuple(places[0])
    where = f"{len(places)} of {found.size}, first at {list(map(int, first))}"
    if found.shape == (batches.sum(),):
        where += f" (iteration {np.searchsorted(batches.cumsum(), first[0], 'right')})"
    return f"{where}: {np.atleast_1d(found)[first]}, not {np.atleast_1d(expected)[first]}"


@pytest.mark.parametrize("name", CASES)
def test_the_same_bytes_as_recorded(name):
    found, expected = run(name), recorded(name)
    assert found.keys() == expected.keys()
    assert len(expected["batches"]) == 208 and expected["td"].size == expected["batches"].sum()
    sums = [f"sums_{kind}" for kind in SUMS]
    wrong = []
    for key in (key for key in expected if key not in sums):
        if text := differing(found[key], expected[key], expected["batches"]):
            wrong.append(f"{key}: {text}")
    assert not wrong, "\n".join([f"{len(wrong)} arrays differ", *wrong[:8]])
    for key in sums:
        # Of values, some are below zero: their sum may be near it.
        slack = 1e-5 * np.abs(expected[key]).max() if key == "sums_value" else 0
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-5, atol=slack, err_msg=key)


def test_what_is_recorded_says_something():
    """All that a kernel clips, in one run or another; numbers that move; no file without a case."""
    runs = {name: recorded(name) for name in CASES}
    assert {path.name for path in FOLDER.iterdir()} == {file_of(name).name for name in CASES}
    assert (sum(arrays["saturations"][-1] for arrays in runs.values()) > 0).all()
    for arrays in runs.values():
        assert np.isfinite(arrays["td"]).all() and (arrays["sums_loss"] > 0).all()
        for key, numbers in arrays.items():
            if "_online_" in key:
                assert (numbers[0] != numbers[-1]).mean() > 0.8, key

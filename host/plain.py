"""NumPy's numbers as Python's, without an import of NumPy: settings and rules need no array."""

import sys

__all__ = ["plain"]


def plain(value):
    """``value`` with NumPy's numbers and arrays, also in lists and tuples, as Python's numbers and
    tuples: sweeps give them (``rng.choice([32, 64])``), and JSON has none. np.float32 becomes the
    float that it is."""
    np = sys.modules.get("numpy")
    if np is None:  # not imported: no value is NumPy's
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
        return _tuples(value) if isinstance(value, list) else value
    if isinstance(value, (list, tuple)) and any(
        isinstance(x, (np.generic, np.ndarray)) for x in value
    ):
        return tuple(map(plain, value))
    return value


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

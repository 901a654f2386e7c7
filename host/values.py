"""A caller's values as NumPy arrays of the type that stores them: nothing is cast in silence.

A type holds a number if storing does not change it, where rounding a float to another float is no
change: an integer field holds 3.0, a float32 field holds 0.1 and does not hold 1e300. Integers are
exact or refused, as they may be identifiers: float32 does not hold 2**24 + 1. NaN and infinity are
refused in float fields, because no learner can train on them.
"""

import sys
from contextvars import Context

import numpy as np

from hw.errors import UsageError

__all__ = ["NUMBERS", "REAL", "all_true", "array_of", "cast", "check_finite", "held", "is_masked"]
__all__ += ["place_in", "put", "quietly"]

#: Kinds of dtypes that are numbers, or bools.
REAL, NUMBERS = "biuf", "biufc"
_SCALARS = frozenset([float, int, bool, *(np.dtype(code).type for code in "?bhilqBHILQefd")])

#: Most axes of an array.
_AXES = 64

#: A context in which NumPy reports no floating-point error.
_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")


def quietly(function, *arguments):
    """``function(*arguments)`` without a floating-point warning or error of NumPy, whatever
    ``np.seterr`` says: ``np.errstate``, which takes longer than the cast of a small array. The
    function must not call a caller's code, which would miss its own context variables."""
    return _QUIET.copy().run(function, *arguments)


def is_masked(values):
    """Whether a number of ``values`` is masked: what is below a mask means nothing."""
    return isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)


def array_of(name, values):
    """``values`` as an array. A tensor of torch, also in a list, is detached and copied to the CPU;
    a float type that NumPy lacks, such as bfloat16, becomes float32. UsageError, which calls the
    values ``name``, if they are not an array, or if a number is masked."""
    kind = type(values)
    if kind is np.ndarray:
        return values
    if kind in _SCALARS:
        return np.asarray(values)
    if is_masked(values):
        raise UsageError(f"{name} must be without masked numbers, not {kind.__name__}")
    first = values
    for _ in range(_AXES):  # a list may be in itself
        if not isinstance(first, (list, tuple)) or len(first) == 0:
            break
        first = first[0]
    tensor = getattr(sys.modules.get("torch"), "Tensor", ())  # (): torch was not imported
    try:
        return np.asarray(_without_tensors(values) if isinstance(first, tensor) else values)
    except (RuntimeError, TypeError, ValueError) as error:  # in the words of torch or NumPy
        [reason, *_] = str(error).splitlines()
        raise UsageError(
            f"{name} must be an array of numbers, not {kind.__name__}: {reason}"
        ) from None


def _without_tensors(values):
    """A tensor as an array; a list whose first number is a tensor as a list of arrays."""
    if isinstance(values, (list, tuple)):
        return [_without_tensors(value) for value in values]
    if not hasattr(values, "is_floating_point"):
        return values
    short = values.is_floating_point() and values.element_size() < 4
    return (values.float() if short else values).numpy(force=True)


def held(name, values, dtype):
    """``values`` as an array of ``dtype``; itself if it is one already. UsageError for a number
    that the dtype does not hold, with its place in ``values``, and for NaN and infinity."""
    given = array_of(name, values)
    found = cast(name, given, dtype)
    if found.dtype.kind in "fc":
        check_finite(name, found, given)
    return found


def cast(name, given, dtype):
    """As ``held`` for the array ``given``, but floats may be, or become, infinite or NaN."""
    if given.dtype == dtype:
        return given
    kind = np.dtype(dtype).kind
    if given.dtype.kind == kind and (kind == "f" or np.can_cast(given.dtype, dtype)):
        return quietly(given.astype, dtype)
    found = np.empty(given.shape, dtype)
    quietly(put, name, found, given)
    return found


def put(name, into, given):
    """Writes the array ``given`` to the array ``into``, and is called by ``quietly``. UsageError
    for a number that the dtype of ``into`` does not hold, except that a float may be, or become,
    infinite or NaN."""
    to, of = into.dtype.kind, given.dtype.kind
    if of not in (NUMBERS if to == "c" else REAL) and given.size:
        raise _refused(name, into.dtype, given, _real(given))
    into[...] = given
    if to in "fc" and of in "fc" or given.size == 1 and into.item() == given.item():
        return
    if to in "fc":  # as floats, 2**53 + 1 would equal 2**53
        right = into.real.astype(given.dtype) == given
    else:
        right = into == given
    if not all_true(right):
        raise _refused(name, into.dtype, given, right)


def _real(given):
    """Where an array of another kind than numbers has numbers: elements of an array of objects."""
    if given.dtype.kind != "O":
        return np.zeros(given.shape, bool)
    return np.array([np.asarray(value).dtype.kind in REAL for value in given.flat])


def check_finite(name, found, given):
    """UsageError if a number of ``found`` is infinite or NaN; ``given`` has it as it was before it
    was cast."""
    right = np.isfinite(found)
    if not all_true(right):
        raise _refused(name, found.dtype, given, right)


def all_true(bools):
    """Whether an array of bools is True everywhere: ``all``, several times as fast for few."""
    return 0 not in bools.tobytes() if bools.size < 4096 else bools.item(bools.argmin())


def place_in(shape, bools):
    """``(place, text)`` of the first False in ``bools``, which has as many elements as an array of
    ``shape``: the index of the element, and the end of an error's line that says where it is."""
    place = tuple(map(int, np.unravel_index(np.argmin(bools), shape)))
    if len(place) < 2:
        return place, "".join(f" at position {index}" for index in place)
    return place, f" at {list(place)}"


def _refused(name, dtype, given, right):
    """The UsageError for the first number of ``given`` where ``right`` is False."""
    place, at = place_in(given.shape, right)
    kind = given.dtype.kind
    if kind not in (NUMBERS if dtype.kind == "c" else REAL):
        value = given.item(place)
        return UsageError(f"{name} must be {_rule(dtype)}, not {value!r} of {given.dtype}{at}")
    value = given[place]
    infinite = dtype.kind in "fc" and kind in "fc" and not np.isfinite(value)
    return UsageError(f"{name} must be {'finite' if infinite else _rule(dtype)}, not {value}{at}")


def _rule(dtype):
    if dtype.kind == "b":
        return "True or False"
    if dtype.kind in "iu":
        return f"an integer in {np.iinfo(dtype).min}..{np.iinfo(dtype).max}"
    return f"a number that {dtype} holds"

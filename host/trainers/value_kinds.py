"""Whether a value of a trainer can change, and whether its attributes are its whole state."""

import dis
import enum
import functools
import inspect
import logging
import pathlib
import random
import re
import sys
import types
import weakref

import numpy as np

from host.algorithms.autodiff import torch

__all__ = ["FUNCTIONS", "PLAIN", "array_of", "assigned_by", "attributes_of", "equal", "has_state"]
__all__ += ["is_constant", "is_object", "is_short", "lent_by", "options_of", "overlaps_itself"]
__all__ += ["named_tuple", "never_changes", "numbered", "own_of"]
__all__ += ["random_state", "same", "slots_of", "written"]

PLAIN = frozenset((type(None), bool, int, float, str))
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
_CONSTANTS = (type, types.ModuleType, types.GenericAlias, np.ufunc, np.dtype, logging.Logger)
_CONSTANTS += (bytes, complex, range, slice, enum.Enum, re.Pattern, pathlib.PurePath, weakref.ref)


def array_of(tensor):
    """A copy of a tensor's numbers; of a type that NumPy lacks, such as bfloat16, as float32."""
    values = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (values.float() if is_short(values.dtype) else values).numpy().copy()


def is_short(dtype):
    """Whether ``dtype`` is a type of floats that NumPy lacks, whose numbers float32 holds."""
    return dtype.is_floating_point and dtype.itemsize < 4 and dtype != torch.float16


def overlaps_itself(tensor):
    """Whether numbers of a tensor share memory, as in an expanded one: such a tensor
    cannot be written."""
    return any(n > 1 and not step for n, step in zip(tensor.shape, tensor.stride(), strict=True))


@functools.cache
def _internals():
    """Names of the attributes that every module and every optimizer of torch has."""
    made = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    hidden = {*vars(torch.nn.Module()), *vars(made), "step"}  # a schedule sets ``step``
    return frozenset(hidden - {"training"})


def own_of(value):
    """``{name: attribute}`` of a module or an optimizer that a class outside torch adds to it."""
    if type(value).__module__.partition(".")[0] == "torch":
        return {}
    return {name: x for name, x in vars(value).items() if name not in _internals() | {"training"}}


def numbered(module):
    """``{name: tensor}``, the parameters and buffers of a module and its layers."""
    return dict(module.named_parameters()) | dict(module.named_buffers())


def options_of(module):
    """``{name: number or text}`` of a module whose class is torch's, such as ``p`` of Dropout."""
    if type(module).__module__.partition(".")[0] != "torch":
        return {}
    hidden = _internals() | {"training"}
    return {name: x for name, x in vars(module).items() if type(x) in PLAIN and name not in hidden}


def attributes_of(value):
    """``{name: attribute}`` of a trainer, or of an object of a Python class."""
    found = {name: getattr(value, name) for name in slots_of(value)}
    found |= getattr(value, "__dict__", {})
    if not isinstance(value, torch.nn.Module):
        return found
    found = {name: x for name, x in found.items() if name not in _internals()}
    return found | value._parameters | value._buffers | value._modules


def slots_of(value):
    """Names of the attributes of ``value`` that are in ``__slots__``, as Python keeps them: private
    ones begin with the class that has them."""
    found = []
    for kind in type(value).__mro__:
        names, owner = vars(kind).get("__slots__", ()), kind.__name__.lstrip("_")
        for name in (names,) if isinstance(names, str) else names:
            private = owner and name.startswith("__") and not name.endswith("__")
            found.append(f"_{owner}{name}" if private else name)
    return [x for x in found if x not in ("__dict__", "__weakref__") and hasattr(value, x)]


def named_tuple(trainer, name):
    """The class of named tuples called ``name`` in the trainer's file, or None."""
    for kind in type(trainer).__mro__:
        found = vars(sys.modules.get(kind.__module__, object)).get(name)
        if isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields"):
            return found
    return None


@functools.cache
def assigned_by(kind):
    """Names of the attributes that methods of a class set."""
    codes = [
        method.__code__
        for each in kind.__mro__
        for method in map(inspect.unwrap, vars(each).values())
        if isinstance(method, types.FunctionType)
    ]
    names = set()
    while codes:
        code = codes.pop()
        names |= {x.argval for x in dis.get_instructions(code) if x.opname == "STORE_ATTR"}
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return {name for name in names if type(getattr(kind, name, None)) in PLAIN}


def random_state(x):
    """The state of a generator of random numbers; None if it is none."""
    if isinstance(x, np.random.Generator):
        return x.bit_generator.state
    if isinstance(x, np.random.BitGenerator):
        return x.state
    if isinstance(x, np.random.RandomState):
        return x.get_state(legacy=False)
    if type(x) is random.Random:
        return x.getstate()
    return x.get_state() if isinstance(x, torch.Generator) else None


def has_state(x):
    """Whether ``x`` saves itself, as schedules of torch do."""
    names = "state_dict", "load_state_dict"
    return all(callable(getattr(type(x), name, None)) for name in names) and hasattr(x, "__dict__")


def is_object(x):
    """Whether all of ``x`` is in attributes: its class is written in Python, and says nothing else
    of how it is copied."""
    kind, own = type(x), ("__setstate__", "__getnewargs__", "__getnewargs_ex__")
    if kind is types.SimpleNamespace:
        return True
    for name in ("__reduce_ex__", "__reduce__", "__getstate__"):
        if getattr(kind, name, None) is not getattr(object, name, None):
            return False
    if any(hasattr(kind, name) for name in own):
        return False
    try:
        _, _, _, items, pairs = object.__reduce_ex__(x, 2)
    except TypeError:
        return False
    return items is None and pairs is None


def never_changes(x):
    if type(x) in PLAIN or isinstance(x, (*_CONSTANTS, torch.dtype, torch.device)):
        return True
    if isinstance(x, (tuple, frozenset)):
        return all(map(never_changes, x))
    return _is_frozen(x) and all(map(never_changes, vars(x).values()))


def _is_frozen(x):
    rule = getattr(type(x), "__dataclass_params__", None)
    return rule is not None and rule.frozen and hasattr(x, "__dict__")


def is_constant(x):
    """Whether ``x`` never changes, except for values that a function keeps (``lent_by``)."""
    if isinstance(x, (*FUNCTIONS, torch.layout)):
        return True
    return not isinstance(x, tuple | frozenset) and never_changes(x)


def lent_by(x):
    """Values that a function keeps: defaults, closure, attributes, bound object; of a variable of a
    closure that it sets, such as a counter, the cell."""
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.FunctionType):
        cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
        full = [(name, cell) for name, cell in cells if _is_full(cell)]
        changed = _set_by(x.__code__)
        held = [cell if name in changed else cell.cell_contents for name, cell in full]
        named = (x.__kwdefaults__ or {}) | vars(x)
        counts = [vars(x)] if any(_counts(*each) for each in vars(x).items()) else []
        return [*held, *(x.__defaults__ or ()), *named.values(), *counts]
    if isinstance(x, FUNCTIONS):
        return [x.__self__, getattr(x, "__func__", None)]
    return []


def _counts(name, value):
    """Whether an attribute of a function may count its calls; torch's own marks do not."""
    return isinstance(value, int | float) and not name.startswith("_torch")


def _set_by(code):
    """Names of the variables of a closure that ``code`` sets, or a function within it."""
    inner = (_set_by(each) for each in code.co_consts if isinstance(each, types.CodeType))
    found = {x.argval for x in dis.get_instructions(code) if x.opname == "STORE_DEREF"}
    return found.union(*inner) & {*code.co_freevars}


def _is_full(cell):
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def same(one, other):
    """Whether two trees of plain values and arrays are the same, to the byte."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(x, other[name]) for name, x in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape) == (other.dtype, other.shape) and (
            one.tobytes() == other.tobytes()
        )
    return one == other or (one != one and other != other)


def equal(one, other):
    try:
        return bool(one == other)
    except Exception:  # whatever a class's own comparison raises
        return False


def written(x):
    """A name for a constant, which is the same in another process."""
    if isinstance(x, enum.Enum):
        return x.name
    name = getattr(x, "__qualname__", getattr(x, "__name__", None))
    return name if isinstance(name, str) else type(x).__name__

"""Numbers that a trainer's code can reach, and that may count its updates, wherever they are.

A trainer may count in an attribute, in a list or dict, in an object of its own, in an attribute of
its class, in a variable of a closure or in a global one. All are found, and can be set.
"""

import argparse
import io
import math
import pickle
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from host.algorithms.autodiff import torch
from host.trainers.value_kinds import slots_of
from hw.errors import UsageError

__all__ = ["Place", "Reach", "drawing_nothing"]

#: Numbers of an array, tensor or list that are looked at; more are data, not counters.
_FEW = 16
#: Longest list that is made.
_LONGEST = 200_000
#: Most objects of a trainer.
_OBJECTS = 100_000
#: Modules whose objects are no state of a trainer; those of site-packages are neither.
_LIBRARIES = {*sys.stdlib_module_names, "torch", "numpy", "gymnasium"}
_LIBRARIES |= {"hw", "system", "sim", "boards", "host", "rlfabric"}


class Place(NamedTuple):
    """A number that can be set.

    value : its present value; of a list that grows, its length.
    put : ``put(value)`` sets it.
    dtype : numpy's name of its type; None for numbers of Python.
    """

    value: Any
    put: Callable
    dtype: str | None = None

    def holds(self, value):
        """Whether ``value`` is exact in the number's type."""
        if self.dtype is None:
            return True
        with np.errstate(all="ignore"):
            return bool(np.array(value).astype(self.dtype).item() == value)


class Reach:
    """Everything that a trainer, or a class of trainers, reaches now.

    Attributes
    ----------
    places : ``{name: Place}``
        ``n`` is an attribute of the trainer, ``Trainer.n`` one of its class, ``n of step`` a
        variable that the function ``step`` keeps, ``n of file.py`` a global one, and ``len(rows)``
        the length of a list. Parameters of networks and the state of optimizers are left out.
    constants : set
        All these numbers, and those that are written in the code of its methods and functions.
    opaque : ``{name: what it is}``
        Objects whose state cannot be set: schedules of torch, and iterators.
    generators : ``{name: state}``
        Generators of random numbers of torch, ``random`` and ``numpy.random`` among them;
        ``state()`` returns bytes.

    UsageError if the trainer has too many objects.
    """

    def __init__(self, root):
        kind = root if isinstance(root, type) else type(root)
        self.places, self.constants, self.opaque = {}, set(), {}
        self.generators = {
            "torch": lambda: torch.get_rng_state().numpy().tobytes(),
            "random": lambda: pickle.dumps(random.getstate()),
            "numpy.random": lambda: pickle.dumps(np.random.get_state()),
        }
        self._seen, self._own = {}, kind.__module__.partition(".")[0]
        if root is not kind:
            self._visit("", root)
        self._class(kind)

    @property
    def numbers(self):
        """``{name: value}`` of all places."""
        return {name: place.value for name, place in self.places.items()}

    def _visit(self, name, value, put=None):
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            if math.isfinite(value):
                self.constants.add(value)
                if put is not None:
                    dtype = str(value.dtype) if isinstance(value, np.number) else None
                    self.places[name] = Place(value, lambda new: put(type(value)(new)), dtype)
            return
        if isinstance(value, type):
            self._class(value)
            return
        if value is None or isinstance(value, bool | str | bytes) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if len(self._seen) > _OBJECTS:
            raise UsageError(f"a trainer must have at most {_OBJECTS} objects to train on the card")
        for kinds, visit in _visits():
            if isinstance(value, kinds):
                visit(self, name or "trainer", value, put)
                break
        if not self._library(type(value).__module__) or isinstance(value, _open()):
            self._object(f"{name}." if name else "", value)
            self._class(type(value))

    def _library(self, module):
        top = module.partition(".")[0]
        if top == self._own:
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        return top in _LIBRARIES or not {"site-packages", "dist-packages"}.isdisjoint(
            Path(file).parts
        )

    def _object(self, prefix, value):
        attributes, learned = getattr(value, "__dict__", {}), ()
        if isinstance(value, torch.nn.Module):
            learned = "_parameters", "_buffers", "_modules"
            for name, each in (value._buffers | value._modules).items():
                self._visit(f"{prefix}{name}", each)
        elif isinstance(value, torch.optim.Optimizer):
            learned = "state", "param_groups", "defaults"
        for name, each in list(attributes.items()):
            if name not in learned:
                self._visit(f"{prefix}{name}", each, partial(attributes.__setitem__, name))
        for name in slots_of(value):
            self._visit(f"{prefix}{name}", getattr(value, name), partial(setattr, value, name))

    def _class(self, kind):
        for each in kind.__mro__:
            if id(each) in self._seen or self._library(each.__module__):
                continue
            self._seen[id(each)] = each
            for name, value in list(vars(each).items()):
                if isinstance(value, property):
                    for function in (value.fget, value.fset):
                        self._visit(name, function)
                elif not name.startswith("__") or callable(value):
                    value = getattr(value, "__func__", value)
                    self._visit(f"{each.__name__}.{name}", value, partial(setattr, each, name))

    def _function(self, name, function, _):
        if self._library(function.__module__ or ""):
            return
        named = function.__name__
        for variable, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            if cell != types.CellType():
                put = partial(setattr, cell, "cell_contents")
                self._visit(f"{variable} of {named}", cell.cell_contents, put)
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for number, default in enumerate(defaults):
            self._visit(f"default {number} of {named}", default)
        self._object(f"{named}.", function)
        names, constants = _written(function.__code__)
        self.constants |= constants
        self._named(function.__globals__, names)

    def _named(self, variables, names):
        """Visits the ``names`` of a module, whose ``variables`` are a dict."""
        file = Path(str(variables.get("__file__") or "a program")).name
        for name in sorted(names & variables.keys()):
            value = variables[name]
            if isinstance(value, types.ModuleType):
                if not self._library(value.__name__) and id(value) not in self._seen:
                    self._seen[id(value)] = value
                    self._named(vars(value), names)
            elif isinstance(value, type):
                self._class(value)
            else:
                self._visit(f"{name} of {file}", value, partial(variables.__setitem__, name))

    def _method(self, name, method, _):
        self._visit(f"{name}.__self__", method.__self__)
        self._visit(name, method.__func__)

    def _partial(self, name, value, _):
        for each in (value.func, value.args, value.keywords):
            self._visit(name, each)

    def _mapping(self, name, value, _):
        for key, each in list(value.items()):
            self._visit(f"{name}[{key!r}]", each, partial(value.__setitem__, key))

    def _list(self, name, value, _):
        for at, each in enumerate(list(value)[:_FEW]):
            self._visit(f"{name}[{at}]", each, partial(value.__setitem__, at))

        def stretch(length):
            length = max(0, min(int(length), _LONGEST))
            value.extend([value[-1]] * (length - len(value)) if value else ())
            while len(value) > length:
                value.pop()

        self.places[f"len({name})"] = Place(len(value), stretch)

    def _tuple(self, name, value, put):
        for at, each in enumerate(value[:_FEW]):
            self._visit(f"{name}[{at}]", each, put and partial(_replace, value, at, put))

    def _array(self, name, value, _):
        if value.size <= _FEW and value.dtype.kind in "iuf" and value.flags.writeable:
            for at, number in enumerate(value.flat):
                label = f"{name}[{at}]" if value.ndim else name
                put = partial(value.flat.__setitem__, at)
                self._typed(label, number.item(), put, str(value.dtype))

    def _tensor(self, name, value, _):
        dtype = str(value.dtype).removeprefix("torch.")
        learned = value.requires_grad or isinstance(value, torch.nn.Parameter)
        learned = learned or not value.is_contiguous() or value.is_complex()
        if learned or value.numel() > _FEW or dtype in ("bool", "bfloat16"):
            return
        flat = value.detach().view(-1)
        for at, number in enumerate(flat.tolist()):
            label = f"{name}[{at}]" if value.ndim else name
            self._typed(label, number, partial(flat.__setitem__, at), dtype)

    def _typed(self, name, number, put, dtype):
        if math.isfinite(number):
            self.constants.add(number)
            self.places[name] = Place(number, put, dtype)

    def _schedule(self, name, *_):
        self.opaque[name] = "a schedule of torch"

    def _iterator(self, name, value, _):
        spent = isinstance(value, types.GeneratorType) and value.gi_frame is None
        if not spent and not isinstance(value, io.IOBase):
            self.opaque[name] = "an iterator, whose state cannot be set"

    def _generator(self, name, value, _):
        self.generators[name] = {
            np.random.Generator: lambda: pickle.dumps(value.bit_generator.state),
            np.random.RandomState: lambda: pickle.dumps(value.get_state()),
            torch.Generator: lambda: value.get_state().numpy().tobytes(),
        }.get(type(value), lambda: pickle.dumps(value.getstate()))


@contextmanager
def drawing_nothing(trainer, method):
    """A context manager: UsageError if a generator of random numbers has changed within it."""
    generators = Reach(trainer).generators
    before = {name: state() for name, state in generators.items()}
    yield
    for name, state in generators.items():
        if state() != before[name]:
            raise UsageError(
                f"{method} must draw no random numbers to train on the card, not those of {name}"
            )


def _replace(value, at, put, new):
    parts = [new if number == at else each for number, each in enumerate(value)]
    put(type(value)._make(parts) if hasattr(value, "_make") else type(value)(parts))


def _written(code):
    """``(names, numbers)`` that are written in a function's ``code``, and in those within it."""
    names, numbers, parts = set(code.co_names), set(), list(code.co_consts)
    for part in parts:
        if isinstance(part, types.CodeType):
            inner = _written(part)
            names |= inner[0]
            numbers |= inner[1]
        elif isinstance(part, tuple | frozenset):
            parts.extend(part)  # the loop goes on over these
        elif isinstance(part, int | float) and not isinstance(part, bool) and math.isfinite(part):
            numbers.add(part)
    return names, numbers


def _open():
    """Library types whose objects carry a user's own attributes."""
    return types.SimpleNamespace, argparse.Namespace, torch.nn.Module, torch.optim.Optimizer


def _visits():
    """``(types, method)`` of the objects that hold more than attributes."""
    return (
        (torch.optim.lr_scheduler.LRScheduler, Reach._schedule),
        (torch.Tensor, Reach._tensor),
        (np.ndarray, Reach._array),
        ((np.random.Generator, np.random.RandomState, torch.Generator), Reach._generator),
        (random.SystemRandom, lambda *_: None),
        (random.Random, Reach._generator),
        (MutableMapping, Reach._mapping),
        ((list, deque), Reach._list),
        (tuple, Reach._tuple),
        (types.FunctionType, Reach._function),
        (types.MethodType, Reach._method),
        (partial, Reach._partial),
        (types.ModuleType, lambda *_: None),
        (Iterator, Reach._iterator),
    )

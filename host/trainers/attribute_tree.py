"""A trainer's attributes as a tree of plain values and arrays, or why one cannot be saved.

``Walk`` writes a value as it is if it is plain (None, bool, int, float, str), else as a dict whose
first key is its kind, which ``host.trainers.restoration`` reads:

| kind | content |
|---|---|
| tensor, array, scalar | its numbers; of a tensor also whether it has a gradient |
| list, tuple, deque, set, frozenset, dict | its elements |
| module | training flags, buffers and attributes that its state_dict leaves out; options of torch's
  layers and requires_grad that are not as in ``first`` |
| optimizer | paths of its parameters, and attributes that its class adds |
| random | state of a generator of random numbers |
| state | ``state_dict()`` of another object that has one, such as a schedule of torch |
| object | attributes of an object of a Python class |
| constant | name of a function, class, module or other value that never changes |
| same | path of the place where the same object was found first |

A module's numbers are saved by ``ModuleState``, an optimizer's by ``optimizer_state``. Modules,
optimizers, generators, objects and constants must be what they were when the trainer was made: the
values of a file are put into them, and only containers, arrays and tensors are made anew.
"""

import enum
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import NamedTuple

import numpy as np

from host.algorithms.autodiff import torch
from host.trainers.value_kinds import (
    FUNCTIONS,
    PLAIN,
    array_of,
    assigned_by,
    attributes_of,
    equal,
    has_state,
    is_constant,
    is_object,
    is_short,
    lent_by,
    named_tuple,
    never_changes,
    numbered,
    options_of,
    own_of,
    random_state,
    same,
    written,
)
from hw.errors import UsageError

__all__ = ["Walk"]

_SEQUENCES = {list: "list", set: "set", frozenset: "frozenset", deque: "deque"}
_MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
_RULE = (
    "must be a module, optimizer, tensor, array, number, text, generator of random numbers, plain "
    "container or object of these, or have state_dict and load_state_dict"
)


class TreeParts(NamedTuple):
    """A module as it was: ``kinds``, name of each layer -> class; ``known`` and ``left``, name of
    each number that its state_dict has, and has not -> (shape, dtype); ``options``, name of each
    layer of torch -> its plain attributes; ``needs``, name of each parameter and buffer ->
    requires_grad."""

    kinds: dict
    known: dict
    left: dict
    options: dict
    needs: dict


def _layout(x):
    """How an array or a tensor lies in memory."""
    return x.shape, x.dtype, x.strides if isinstance(x, np.ndarray) else x.stride()


def _shapes(tensors):
    return {name: (value.shape, value.dtype) for name, value in tensors.items()}


class Walk:
    """One walk over a trainer's attributes.

    Parameters
    ----------
    trainer : the user's object
    first : Walk, optional
        The walk that was done when the trainer was made.
    numbers : bool
        Whether numbers of tensors and arrays are copied; if not, ``tree`` has no numbers.

    Attributes
    ----------
    tree : dict
        Name of each attribute -> its value, as ``checkpoint.save`` takes it.
    modules, optimizers, tensors : dict
        Path -> object: the modules with numbers, the optimizers, and the tensors in no module.
    objects : dict
        Path -> object, of all objects that were found, each at its first path.

    UsageError, with the path, if an attribute can be neither saved nor left out without a loss: it
    is of a kind that is not in the table; it was not there, or another, in ``first`` though it must
    be; it shares memory with another tensor; or an optimizer has a parameter that is in no
    attribute.
    """

    def __init__(self, trainer, first=None, *, numbers=True):
        self.trainer, self._first, self._numbers = trainer, first, numbers
        self.objects, self._paths = {"self": trainer}, {id(trainer): "self"}
        self.modules, self.optimizers, self.tensors, self.places = {}, {}, {}, {}
        self.fixed, self.names, self._loose = {}, {}, False
        self._inner, self._memory, self._lent, self._hidden = set(), [], [], []
        self.parts, self._begun, self._overlaps = {}, set(), {}
        self.tree = self._attributes(trainer, "", attributes_of(trainer))
        self._check_lent()
        self._check_optimizers()
        self.shared = self._check_memory()
        if not (self.modules or self._memory or self._kinds("state")):
            raise UsageError(
                f"{type(trainer).__name__} must have a module, a tensor or an array that learns "
                "among its attributes, not none"
            )
        if first is not None and (gone := first.modules.keys() - self.modules.keys()):
            raise UsageError(f"{min(gone)} must be the module that it was in __init__, not another")

    def _kinds(self, *kinds):
        return [path for path, (kind, *_) in self.fixed.items() if kind in kinds]

    @property
    def lossy(self):
        """The paths of what checkpoints and policies of before have not: all but modules that are
        attributes, optimizers that are attributes, and plain values."""
        arrays = (path for path, x in self.objects.items() if isinstance(x, np.ndarray))
        nested = (path for path in (*self.modules, *self.optimizers) if not path.isidentifier())
        return [*self.tensors, *arrays, *nested, *self._kinds("state", "random")]

    def _attributes(self, x, prefix, found):
        """The tree of ``found``, ``{name: attribute}`` of the object ``x``."""
        self.names[prefix] = found.keys()
        if self._first is not None:
            known = self._first.names.get(prefix, ())
            for name in found:
                if name not in known and name not in assigned_by(type(x)):
                    raise UsageError(
                        f"{prefix}{name} must be set in __init__ (None is enough), to be saved"
                    )
        return {name: self._value(value, prefix + name) for name, value in found.items()}

    def _value(self, x, path):
        if type(x) in PLAIN:
            return x
        if isinstance(x, np.generic):
            return {"scalar": np.asarray(x)}
        if is_constant(x):
            self._lent += [(path, part) for part in lent_by(x)]
            saved = self._fix("constant", x, path, written(x))
            return saved | ({"value": x.value} if isinstance(x, enum.Flag) else {})
        if not self._loose:
            if id(x) in self._begun:
                raise UsageError(
                    f"{path} must not be the tuple {self._paths[id(x)]}, which it is in, to be "
                    "saved"
                )
            if id(x) in self._paths and not (id(x) in self._inner and path.isidentifier()):
                return {"same": self._paths[id(x)]}
            self._know(x, path)
            self._inner.discard(id(x))
        for kind, saved in (
            (torch.nn.Module, self._module),
            (torch.optim.Optimizer, self._optimizer),
            (torch.Tensor, self._tensor),
        ):
            if isinstance(x, kind):
                return saved(x, path)
        if type(x) is np.ndarray and not x.dtype.hasobject:
            if not self._loose and x.size:
                self._memory.append(("cpu", *np.lib.array_utils.byte_bounds(x), path))
            return {"array": x.copy() if self._numbers else None}
        if (state := random_state(x)) is not None:
            return self._fix("random", x, path, self._copied(state, path))
        if type(x) in _SEQUENCES or type(x) in _MAPPINGS or isinstance(x, tuple):
            return self._container(x, path)
        if has_state(x):
            self._hidden += [(f"{path}.{name}", each) for name, each in vars(x).items()]
            return self._fix("state", x, path, self._copied(x.state_dict(), f"{path}.state_dict()"))
        if is_object(x):
            return self._fix("object", x, path, self._attributes(x, f"{path}.", attributes_of(x)))
        raise UsageError(f"{path} {_RULE}, not {type(x).__name__}, to be saved")

    def _copied(self, state, path):
        """The tree of a state that is made for this walk, and is no attribute."""
        before, self._loose = self._loose, True
        try:
            return self._value(state, path)
        finally:
            self._loose = before

    def _know(self, x, path):
        if id(x) not in self._paths:
            self.objects[path], self._paths[id(x)] = x, path

    def _fix(self, kind, x, path, saved):
        """``{kind: saved}`` of an object that must be there from the beginning."""
        if self._loose:
            raise UsageError(f"{path} {_RULE}, not {type(x).__name__}, to be saved")
        self.fixed[path] = kind, x
        if self._first is not None:
            before, known = self._first.fixed.get(path, (None, None))
            alike = type(known) is type(x)
            if kind == "constant" and not isinstance(x, enum.Enum):
                alike = known is x or (alike and equal(known, x))
            if before != kind or not alike:
                raise UsageError(
                    f"{path} must be what __init__ has made it, to be saved, not "
                    f"{saved if kind == 'constant' else type(x).__name__} that came later"
                )
        return {kind: saved}

    def _tensor(self, x, path):
        if x.grad_fn is not None or x.layout != torch.strided or x.is_quantized:
            what = "a graph of gradients" if x.grad_fn is not None else f"layout {x.layout}"
            raise UsageError(f"{path} must be a plain tensor (detach it), not one with {what}")
        if not self._loose:
            self.tensors[path] = x
            self._remember(x, path)
        saved = {"tensor": array_of(x) if self._numbers else None}
        saved |= {"dtype": str(x.dtype)} if is_short(x.dtype) else {}
        saved |= {"requires_grad": True} if x.requires_grad else {}
        return saved | ({"parameter": True} if isinstance(x, torch.nn.Parameter) else {})

    def _remember(self, x, path):
        if x.numel() and x.device.type != "meta":
            reach = sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)) + 1
            begin = x.data_ptr()
            self._memory.append((str(x.device), begin, begin + reach * x.element_size(), path))

    def _module(self, x, path):
        own, flags, options = {}, [], {}
        for name, part in x.named_modules():
            place = f"{path}.{name}" if name else path
            if id(part) not in self._paths:
                self._inner.add(id(part))
            self._know(part, place)
            flags.append(part.training)
            options[name] = options_of(part)
            if added := own_of(part) or self._changed(path, name, options[name]):
                own[name] = part, f"{place}.", added
        numbers = x.named_parameters, x.named_buffers
        for name, value in (pair for each in numbers for pair in each(remove_duplicate=False)):
            if isinstance(value, torch.nn.parameter.UninitializedTensorMixin):
                raise UsageError(f"{path}.{name} must have a shape in __init__, not be lazy")
            if id(value) not in self._paths:
                self._remember(value, f"{path}.{name}")
            self._know(value, f"{path}.{name}")
        known = x.state_dict()
        if odd := [name for name, value in known.items() if not torch.is_tensor(value)]:
            raise UsageError(f"{path}.{odd[0]} must be a tensor to be saved, not extra state")
        if known:
            self.modules[path] = x
        left = {name: value for name, value in x.named_buffers() if name not in known}
        needs = {name: value.requires_grad for name, value in numbered(x).items()}
        kinds = {name: type(part) for name, part in x.named_modules()}
        self._check_parts(x, path, TreeParts(kinds, _shapes(known), _shapes(left), options, needs))
        saved = {
            "training": flags,
            "buffers": {name: array_of(value) for name, value in left.items() if self._numbers},
            "attributes": {name: self._attributes(*each) for name, each in own.items()},
        }
        first = self._first_parts(path)
        if first and first.needs != needs:
            saved["requires_grad"] = needs
        return self._fix("module", x, path, saved)

    def _first_parts(self, path):
        """The TreeParts that the module at ``path`` had in the first Walk, or None."""
        return self._first.parts.get(path) if self._first else None

    def _changed(self, path, name, options):
        """Those ``options`` of the part ``name`` of a module that are not what they were first."""
        known = self._first_parts(path)
        before = known.options.get(name, options) if known else options
        return {each: x for each, x in options.items() if not same(x, before.get(each))}

    def _check_parts(self, x, path, parts):
        """A module can be restored only into the layers and shapes that __init__ has made."""
        self.parts[path] = parts
        known = self._first_parts(path)
        for mine, its in zip(parts[:3], known[:3] if known else (), strict=False):
            if mine != its:
                names = [each for each in {**its, **mine} if mine.get(each) != its.get(each)]
                raise UsageError(
                    f"{'.'.join(filter(None, (path, names[0])))} must have the layers and shapes "
                    "that __init__ has made, to be saved, not others"
                )

    def _optimizer(self, x, path):
        self.optimizers[path], self.places[path] = x, []  # which are known at the walk's end
        own = self._attributes(x, f"{path}.", own_of(x))
        saved = {"parameters": self.places[path], "attributes": own}
        return self._fix("optimizer", x, path, saved)

    def _container(self, x, path):
        if isinstance(x, tuple):
            return self._tuple(x, path)
        if type(x) in _SEQUENCES:
            kind = _SEQUENCES[type(x)]
            saved = {kind: self._elements(x, path)}
            return saved | ({"maxlen": x.maxlen} if kind == "deque" else {})
        pairs = []
        for key, value in x.items():
            at = f"{path}[{key!r}]"
            if type(key) not in PLAIN and not isinstance(key, (tuple, np.generic)):
                raise UsageError(f"{path} must have plain keys to be saved, not {key!r}")
            pairs.append([self._copied(key, f"{at} (key)"), self._value(value, at)])
        saved = {"dict": pairs}
        if type(x) is not dict:
            saved["type"] = type(x).__name__
        if type(x) is defaultdict:
            saved["default"] = self._value(x.default_factory, f"{path}.default_factory")
        return saved

    def _elements(self, x, path):
        if PLAIN.issuperset(map(type, x)):
            return list(x)
        return [self._value(value, f"{path}[{k}]") for k, value in enumerate(x)]

    def _tuple(self, x, path):
        if not self._loose:
            self._begun.add(id(x))
        saved = {"tuple": self._elements(x, path)}
        self._begun.discard(id(x))
        if type(x) is tuple:
            return saved
        named = type(x) is torch.Size or named_tuple(self.trainer, type(x).__name__) is type(x)
        if not named:
            raise UsageError(f"{path} {_RULE}, not {type(x).__name__}, to be saved")
        return saved | {"type": type(x).__name__}

    def _check_lent(self):
        """What functions have must be constant, or be somewhere among the attributes."""
        seen = set()
        while self._lent:
            path, x = self._lent.pop()
            if id(x) in seen or id(x) in self._paths or never_changes(x):
                continue
            seen.add(id(x))
            if isinstance(x, FUNCTIONS):
                self._lent += [(path, part) for part in lent_by(x)]
            elif isinstance(x, tuple):
                self._lent += [(path, part) for part in x]
            else:
                what = "variable" if isinstance(x, types.CellType) else type(x).__name__
                raise UsageError(
                    f"{path} must be a function of attributes, not one that keeps a {what} of its "
                    "own (make that an attribute too)"
                )

    def _check_optimizers(self):
        for path, x in self._hidden:
            if isinstance(x, torch.optim.Optimizer) and id(x) not in self._paths:
                raise UsageError(f"{path} must be an attribute of the trainer too, to be saved")
        for path, optimizer in self.optimizers.items():
            groups = [group["params"] for group in optimizer.param_groups]
            for k, group in enumerate(groups):
                for each in group:
                    if id(each) not in self._paths:
                        raise UsageError(
                            f"{path} must have parameters of attributes, which are saved, not one "
                            f"of shape {list(each.shape)} in group {k} that no attribute has"
                        )
            self.places[path] += [[self._paths[id(each)] for each in group] for group in groups]
            if self._first is not None and self._first.places[path] != self.places[path]:
                raise UsageError(f"{path} must have the parameters of __init__, not others")

    def _check_memory(self):
        """Pairs of paths whose memory overlaps; those that came later, or overlap otherwise than
        in the arrays that __init__ makes, are refused."""
        pairs, last, begins = set(), None, {place[3]: place[1] for place in self._memory}
        for place in sorted(self._memory):
            if last and place[0] == last[0] and place[1] < last[2]:
                pair = last[3], place[3]
                pairs.add(pair)
                offset = begins[pair[1]] - begins[pair[0]]
                self._overlaps[pair] = offset, *(_layout(self.objects[path]) for path in pair)
            if not last or place[0] != last[0] or place[2] > last[2]:
                last = place
        known = self._first._overlaps if self._first is not None else self._overlaps
        if new := [pair for pair, place in self._overlaps.items() if known.get(pair) != place]:
            one, other = min(new)
            raise UsageError(f"{other} must not share memory with {one}, to be saved (clone it)")
        return pairs

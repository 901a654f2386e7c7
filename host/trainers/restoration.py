"""Puts the values of a file, as ``host.trainers.attribute_tree`` wrote them, into a trainer.

Objects that the trainer has now stay the same objects, so that optimizers, functions and schedules
go on to refer to them. Nothing of the file is run or imported, and no attribute is set that the
trainer has not now and that no method of its class sets.
"""

import enum
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import contextmanager

import numpy as np

from host.algorithms.autodiff import torch
from host.checkpoint import CheckpointError
from host.trainers.attribute_tree import Walk
from host.trainers.value_kinds import (
    PLAIN,
    assigned_by,
    attributes_of,
    is_short,
    named_tuple,
    numbered,
    options_of,
    overlaps_itself,
    own_of,
    written,
)

__all__ = ["load_numbers", "restore", "taking"]

_MAPPINGS = {each.__name__: each for each in (dict, OrderedDict, Counter, defaultdict)}
#: kinds of values; each has a method of ``_Restored``
_KINDS = frozenset(
    "tensor array scalar list tuple deque set frozenset dict module optimizer random state object "
    "constant same".split()
)


def restore(trainer, tree, device="cpu", first=None):
    """Sets the attributes of ``trainer`` to ``tree``, the tree of a Walk; new tensors are on
    torch's ``device``. Modules are as in ``first``, the Walk when the trainer was made, where the
    tree does not say how they differ. CheckpointError, with the path, if the trainer has no place
    for a value."""
    live = Walk(trainer, numbers=False)
    with taking():
        for path, parts in (first.parts if first else {}).items():
            kind, module = live.fixed.get(path, (None, None))
            if kind == "module":
                _reset(module, parts)
        _Restored(live, device).attributes(trainer, "", tree, attributes_of(trainer))


def _reset(module, parts):
    """Sets options and requires_grad of a module as in ``parts``."""
    for name, options in parts.options.items():
        vars(module.get_submodule(name)).update(options)
    for name, value in numbered(module).items():
        value.requires_grad_(parts.needs.get(name, value.requires_grad))


@contextmanager
def taking():
    """What torch raises for a wrong state becomes a CheckpointError of one line."""
    try:
        yield
    except RuntimeError as error:
        raise CheckpointError(
            "checkpoint must hold the state of this trainer, not of another "
            f"({' '.join(str(error).split())})"
        ) from error


def load_numbers(trainer, numbers):
    """Sets the attributes of ``trainer`` to ``numbers``, as ``numbers_of`` returns them.
    CheckpointError, with the name, if one is no attribute, or is of another kind."""
    found = attributes_of(trainer)
    for name, value in numbers.items():
        check_name(name, trainer, found)
        now = found.get(name)
        if isinstance(now, int | float) and type(now) not in PLAIN:
            value = type(now)(value)
        elif type(now) not in PLAIN or not isinstance(value, int | float):
            raise _wrong(name, f"a {type(now).__name__} as it is now", value)
        vars(trainer)[name] = value


def check_name(name, owner, found, prefix=""):
    """CheckpointError unless a file may set the attribute ``name`` of the object ``owner``, which
    has the attributes ``found`` now."""
    if name not in found and name not in assigned_by(type(owner)):
        raise CheckpointError(
            f"{prefix}{name} must be an attribute of {type(owner).__name__}, or the checkpoint be "
            "without it"
        )


def check_names(owner, state, prefix):
    """``check_name`` for all names in ``state``, a dict for the object ``owner``, and in the dicts
    in it for objects that ``owner`` has, such as the schedules of a sequence of schedules."""
    found = vars(owner)
    for name, value in state.items():
        check_name(name, owner, found, prefix)
        now, path = found.get(name), f"{prefix}{name}"
        pairs = [(path, now, value)]
        if isinstance(now, list | tuple) and isinstance(value, list | tuple):
            pairs = [
                (f"{path}[{k}]", *each) for k, each in enumerate(zip(now, value, strict=False))
            ]
        for place, inner, saved in pairs:
            if isinstance(saved, dict) and hasattr(inner, "__dict__"):
                check_names(inner, saved, f"{place}.")


def _wrong(path, wanted, saved):
    kind = next(iter(saved), "") if isinstance(saved, dict) else type(saved).__name__
    return CheckpointError(f"{path} must be {wanted} in the checkpoint, not {kind}")


def _short(saved, path):
    """The type of floats that a tensor had."""
    found = getattr(torch, str(saved["dtype"]).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype) or not is_short(found):
        raise _wrong(path, "a tensor of floats", saved)
    return found


class _Restored:
    def __init__(self, live, device):
        self._live, self._device, self._done, self._loose = live, device, {}, False

    def attributes(self, owner, prefix, tree, found):
        """Sets the attributes of ``owner``, which are ``found`` now, to ``tree``."""
        if not isinstance(tree, dict):
            raise _wrong(prefix, "a dict", tree)
        for name in tree:
            check_name(name, owner, found, prefix)
        for name, saved in tree.items():
            path = prefix + name
            value, now = self._value(saved, path), found.get(name)
            if name in found and value is now and type(now) not in PLAIN:
                continue
            alias = isinstance(saved, dict) and "same" in saved or isinstance(value, enum.Enum)
            if path in self._live.fixed and value is not None and not alias:
                raise _wrong(path, f"the {self._live.fixed[path][0]} that it is now", saved)
            setter = setattr if isinstance(owner, torch.nn.Module) else object.__setattr__
            setter(owner, name, value)
        for name in found.keys() - tree.keys():
            delattr(owner, name)

    def _value(self, saved, path):
        if type(saved) in PLAIN:
            return saved
        if not isinstance(saved, dict) or not saved:
            raise _wrong(path, "a value that was saved", saved)
        kind = next(iter(saved))
        read = getattr(self, f"_{kind}", None) if kind in _KINDS else None
        if read is None:
            raise _wrong(path, "a value that was saved", saved)
        value = read(saved, path)
        if not self._loose:
            self._done[path] = value
        return value

    def _now(self, path):
        """The object that is at ``path`` now."""
        return None if self._loose else self._live.objects.get(path)

    def _fixed(self, kind, path, saved):
        found, x = self._live.fixed.get(path, (None, None))
        if self._loose or found != kind:
            raise _wrong(path, f"a {found}" if found else "absent", saved)
        return x

    def _same(self, saved, path):
        place = saved["same"]
        if place in self._done:
            return self._done[place]
        if place not in self._live.objects:
            raise _wrong(path, "the same object as another attribute", saved)
        return self._live.objects[place]

    def _scalar(self, saved, path):
        return np.asarray(saved["scalar"])[()]

    def _array(self, saved, path):
        new, now = np.array(saved["array"]), self._now(path)
        fits = isinstance(now, np.ndarray) and (now.shape, now.dtype) == (new.shape, new.dtype)
        if not fits or not now.flags.writeable:
            return new
        now[...] = new
        return now

    def _tensor(self, saved, path):
        new, now = torch.from_numpy(np.array(saved["tensor"])), self._now(path)
        new = new.to(_short(saved, path)) if "dtype" in saved else new
        needs, wrapped = bool(saved.get("requires_grad")), bool(saved.get("parameter"))
        writable = torch.is_tensor(now) and not overlaps_itself(now)
        if writable and (now.shape, now.dtype) == (new.shape, new.dtype):
            if wrapped == isinstance(now, torch.nn.Parameter):
                with torch.no_grad():
                    now.copy_(new)
                return now.requires_grad_(needs)
        new = new.to(now.device if torch.is_tensor(now) else self._device)
        return torch.nn.Parameter(new, needs) if wrapped else new.requires_grad_(needs)

    def _module(self, saved, path):
        module, state = self._fixed("module", path, saved), saved["module"]
        parts = dict(module.named_modules())
        if len(parts) != len(state["training"]):
            raise _wrong(path, f"a module of {len(parts)} parts", saved)
        for part, flag in zip(parts.values(), state["training"], strict=True):
            part.training = bool(flag)
        buffers = dict(module.named_buffers())
        for name, value in state["buffers"].items():
            if name not in buffers:
                raise _wrong(f"{path}.{name}", "absent", saved)
            with torch.no_grad():  # it may have a gradient
                buffers[name].copy_(torch.from_numpy(np.array(value)))
        for name, tree in state["attributes"].items():
            if name not in parts:
                raise _wrong(f"{path}.{name}", "absent", saved)
            place = f"{path}.{name}" if name else path
            options = options_of(parts[name])
            now = own_of(parts[name]) or {each: options[each] for each in tree if each in options}
            self.attributes(parts[name], f"{place}.", tree, now)
        numbers = numbered(module)
        for name, needs in state.get("requires_grad", {}).items():
            if name not in numbers:
                raise _wrong(f"{path}.{name}", "absent", saved)
            numbers[name].requires_grad_(bool(needs))
        return module

    def _optimizer(self, saved, path):
        optimizer, state = self._fixed("optimizer", path, saved), saved["optimizer"]
        if state["parameters"] != self._live.places[path]:
            raise _wrong(path, "an optimizer of the same parameters", saved)
        self.attributes(optimizer, f"{path}.", state["attributes"], own_of(optimizer))
        return optimizer

    def _constant(self, saved, path):
        now = self._fixed("constant", path, saved)
        if isinstance(now, enum.Flag) and "value" in saved:
            return type(now)(saved["value"])
        if isinstance(now, enum.Enum):
            return type(now)[saved["constant"]]
        if saved["constant"] != written(now):
            raise _wrong(path, f"{written(now)} as it is now", saved["constant"])
        return now

    def _random(self, saved, path):
        x, state = self._fixed("random", path, saved), self._copied(saved["random"], path)
        if isinstance(x, np.random.Generator):
            x.bit_generator.state = state
        elif isinstance(x, np.random.BitGenerator):
            x.state = state
        elif isinstance(x, np.random.RandomState):
            x.set_state(state)
        elif isinstance(x, torch.Generator):
            x.set_state(state)
        else:
            x.setstate(state)
        return x

    def _state(self, saved, path):
        x, state = self._fixed("state", path, saved), self._copied(saved["state"], path)
        if isinstance(x, torch.optim.lr_scheduler.LRScheduler):
            check_names(x, state, f"{path}.")  # it sets whatever it is given
        try:
            x.load_state_dict(state)
        except Exception as error:  # whatever a class of the user's raises
            raise CheckpointError(
                f"{path} must have a state that its load_state_dict takes in the checkpoint, not "
                f"one at which it raises {type(error).__name__}: {error}"
            ) from error
        return x

    def _object(self, saved, path):
        x = self._fixed("object", path, saved)
        self._done[path] = x
        self.attributes(x, f"{path}.", saved["object"], attributes_of(x))
        return x

    def _copied(self, saved, path):
        before, self._loose = self._loose, True
        try:
            return self._value(saved, path)
        finally:
            self._loose = before

    def _elements(self, values, path):
        return [self._value(value, f"{path}[{k}]") for k, value in enumerate(values)]

    def _list(self, saved, path):
        now = self._now(path)
        new = now if type(now) is list else []
        self._done[path] = new
        new[:] = self._elements(saved["list"], path)
        return new

    def _deque(self, saved, path):
        now = self._now(path)
        new = now if type(now) is deque and now.maxlen == saved["maxlen"] else None
        new = deque(maxlen=saved["maxlen"]) if new is None else new
        self._done[path] = new
        values = self._elements(saved["deque"], path)
        new.clear(), new.extend(values)
        return new

    def _set(self, saved, path):
        now, values = self._now(path), self._elements(saved["set"], path)
        if type(now) is not set:
            return set(values)
        now.clear(), now.update(values)
        return now

    def _frozenset(self, saved, path):
        return frozenset(self._elements(saved["frozenset"], path))

    def _tuple(self, saved, path):
        values, name = self._elements(saved["tuple"], path), saved.get("type")
        if name is None:
            return tuple(values)
        kind = torch.Size if name == "Size" else named_tuple(self._live.trainer, name)
        if kind is None:
            raise _wrong(path, "a tuple of the trainer's file", saved)
        return kind(values) if kind is torch.Size else kind._make(values)

    def _dict(self, saved, path):
        kind, now = _MAPPINGS[saved.get("type", "dict")], self._now(path)
        new = now if type(now) is kind else kind()
        self._done[path] = new
        if kind is defaultdict:
            new.default_factory = self._value(saved["default"], f"{path}.default_factory")
        pairs = []
        for key, value in saved["dict"]:
            key = self._copied(key, f"{path} (key)")
            pairs.append((key, self._value(value, f"{path}[{key!r}]")))
        new.clear()
        for key, value in pairs:
            new[key] = value
        return new

"""The state of a trainer's modules as vectors, of its optimizers, gradients and counters as arrays.
All other attributes: ``host.trainers.attribute_tree``."""

import numpy as np

from host.algorithms.autodiff import torch
from host.trainers.attribute_tree import Walk
from host.trainers.value_kinds import array_of

__all__ = ["ModuleState", "load_optimizer", "modules_of", "numbers_of", "optimizer_state"]
__all__ += ["gradients_of", "load_gradients", "optimizers_of"]


def modules_of(trainer):
    """``{path: torch.nn.Module}``, the modules with numbers of a trainer: attributes, and those in
    lists, dicts and objects."""
    return Walk(trainer, numbers=False).modules


def optimizers_of(trainer):
    """``{path: torch.optim.Optimizer}``, the optimizers of a trainer."""
    return Walk(trainer, numbers=False).optimizers


def gradients_of(walk):
    """``{path: array}``, the gradients that tensors of a Walk have at present."""
    leaves = {path: x for path, x in walk.objects.items() if torch.is_tensor(x) and x.is_leaf}
    return {path: array_of(x.grad) for path, x in leaves.items() if x.grad is not None}


def load_gradients(walk, gradients):
    """Sets the gradients that ``gradients_of`` returned; other tensors have none then."""
    for path, x in walk.objects.items():
        if torch.is_tensor(x) and x.is_leaf:
            saved = gradients.get(path)
            x.grad = None if saved is None else torch.from_numpy(np.array(saved)).to(x)


def numbers_of(trainer):
    """``{name: number}``, the trainer's attributes that are numbers, such as counters of steps."""
    return {
        name: x
        for name, x in getattr(trainer, "__dict__", {}).items()
        if isinstance(x, int | float)
    }


class ModuleState:
    """A module of a trainer, as a policy's network that is saved.

    module : torch.nn.Module
    parameters : float32 [count], a copy of all numbers of the module's ``state_dict``; in the type
        that holds them all if one is of more than 32 bits, or an integer of more than 24.
    """

    def __init__(self, module):
        self.module = module

    @property
    def parameters(self):
        values = [value.detach().cpu() for value in self._state.values()]
        kind = torch.float32
        for value in values:
            if value.dtype.is_floating_point or value.dtype.is_complex:
                kind = torch.promote_types(kind, value.dtype)
            elif value.dtype == torch.int64 and value.numel() and value.abs().max() > 1 << 24:
                kind = torch.promote_types(kind, torch.float64)
        return torch.cat([value.to(kind).ravel() for value in values]).numpy()

    @property
    def _state(self):
        return self.module.state_dict()

    def load(self, numbers):
        """Sets the module's numbers from a vector, as ``parameters`` returns it."""
        ends = np.cumsum([value.numel() for value in self._state.values()])[:-1]
        parts = zip(self._state.values(), np.split(np.asarray(numbers), ends), strict=True)
        with torch.no_grad():
            for value, part in parts:
                value.copy_(torch.from_numpy(part.reshape(tuple(value.shape))))

    def state_dict(self):
        """The module's numbers in their own types."""
        return {name: array_of(value) for name, value in self._state.items()}

    def load_state_dict(self, state):
        self.module.load_state_dict(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        )


def optimizer_state(optimizer):
    """The state of a torch optimizer, its tensors as arrays."""
    return _as_arrays(optimizer.state_dict())


def load_optimizer(optimizer, state):
    """Sets the state that ``optimizer_state`` returned, also after JSON, whose keys are texts."""
    pairs = ((int(key) if str(key).isdigit() else key, x) for key, x in state["state"].items())
    moments = {key: _as_tensors(value) for key, value in pairs}
    groups = _as_tensors(state["param_groups"])
    for group, now in zip(groups, optimizer.param_groups, strict=False):
        for name in group.keys() & now.keys():
            if isinstance(now[name], tuple) and isinstance(group[name], list):
                group[name] = tuple(group[name])
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def _as_arrays(value):
    if isinstance(value, dict):
        return {key: _as_arrays(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_arrays(each) for each in value]
    return array_of(value) if torch.is_tensor(value) else value


def _as_tensors(value):
    if isinstance(value, dict):
        return {key: _as_tensors(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_tensors(each) for each in value]
    is_array = isinstance(value, np.ndarray | np.generic)
    return torch.from_numpy(np.array(value)) if is_array else value

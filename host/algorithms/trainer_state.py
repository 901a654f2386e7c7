"""The state of a trainer: its networks as vectors, its optimizers and counters as arrays."""

import numpy as np

from host.algorithms.autodiff import torch

__all__ = ["ModuleState", "load_optimizer", "modules_of", "numbers_of", "optimizer_state"]
__all__ += ["optimizers_of"]


def _attributes(trainer):
    """``{name: value}``, without a second name of the same object."""
    found = {**vars(trainer), **vars(trainer).get("_modules", {})}
    first = {}
    for name, value in found.items():
        first.setdefault(id(value), name)
    return {name: value for name, value in found.items() if first[id(value)] == name}


def modules_of(trainer):
    """``{name: torch.nn.Module}``, the trainer's attributes that are modules with numbers."""
    found = _attributes(trainer).items()
    return {name: x for name, x in found if isinstance(x, torch.nn.Module) and x.state_dict()}


def optimizers_of(trainer):
    """``{name: torch.optim.Optimizer}``, the trainer's attributes that are optimizers."""
    found = _attributes(trainer).items()
    return {name: x for name, x in found if isinstance(x, torch.optim.Optimizer)}


def numbers_of(trainer):
    """``{name: number}``, the trainer's attributes that are numbers, such as counters of steps."""
    return {name: x for name, x in vars(trainer).items() if isinstance(x, int | float)}


class ModuleState:
    """A module of a trainer, as a policy's network that is saved.

    parameters : float32 [count], a copy of all numbers of the module's ``state_dict``.
    """

    def __init__(self, module):
        self.module = module

    @property
    def parameters(self):
        parts = [value.detach().cpu().float().ravel() for value in self._state.values()]
        return torch.cat(parts).numpy()

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
        return {name: value.cpu().numpy().copy() for name, value in self._state.items()}

    def load_state_dict(self, state):
        self.module.load_state_dict(
            {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        )


def optimizer_state(optimizer):
    """The state of a torch optimizer, its tensors as arrays."""
    return _as_arrays(optimizer.state_dict())


def load_optimizer(optimizer, state):
    """Sets the state that ``optimizer_state`` returned, also after JSON, whose keys are texts."""
    moments = {int(key): _as_tensors(value) for key, value in state["state"].items()}
    optimizer.load_state_dict({"state": moments, "param_groups": state["param_groups"]})


def _as_arrays(value):
    if isinstance(value, dict):
        return {key: _as_arrays(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_arrays(each) for each in value]
    return value.cpu().numpy().copy() if torch.is_tensor(value) else value


def _as_tensors(values):
    return {
        name: torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray | np.generic) else x
        for name, x in values.items()
    }

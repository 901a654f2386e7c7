"""A trainer whose random draws are refused, or given as a kernel draws them."""

import math
from contextlib import nullcontext

from host.algorithms.autodiff import torch
from host.proof.reachable_numbers import drawing_nothing
from host.trainers.trainer import TrainerPolicy, TrainerUpdater
from hw.errors import UsageError
from sim.model.arith.noise import gaussian

__all__ = ["WatchedPolicy", "WatchedUpdater", "given_normals"]


class WatchedPolicy(TrainerPolicy):
    """Refuses a trainer that draws random numbers, inside ``seeded``, which takes draws back."""

    def _called(self, rows):
        with drawing_nothing(self.trainer, "get_action"):
            return super()._called(rows)


class WatchedUpdater(TrainerUpdater):
    """Refuses a trainer that draws random numbers, but for ``noise``, a shape: these normal numbers
    are then the kernel's for the update."""

    noise = None

    def step(self, batch, clock):
        self._seed = clock.updates + 1  # as in ``steps_of``
        return super().step(batch, clock)

    def _called(self, tensors):
        given = given_normals(self._numbers) if self.noise else nullcontext()
        with drawing_nothing(self.trainer, "update_policy"), given:
            return super()._called(tensors)

    def _numbers(self, shape):
        if shape != self.noise or self._seed is None:
            raise UsageError(
                f"update_policy must draw normal numbers {list(self.noise)} once to train on the "
                f"card, not {list(shape)}{' again' if self._seed is None else ''}"
            )
        seed, self._seed = self._seed, None
        return torch.from_numpy(gaussian(seed, math.prod(shape)).reshape(shape) * 2.0**-16)


def given_normals(numbers):
    """A context manager within which torch's normal numbers are given and its generator stands
    still: ``numbers(shape)`` returns a tensor of standard normal numbers. What torch draws in
    another way is drawn as ever."""

    class Given(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function not in (torch.randn, torch.randn_like, torch.normal, torch.Tensor.normal_):
                return function(*args, **kwargs)
            kwargs.pop("generator", None)
            if function is torch.randn:
                return _filled(torch.empty(*args, **kwargs))
            if function is torch.randn_like:
                return _filled(torch.empty_like(*args, **kwargs))
            if function is torch.Tensor.normal_:
                return _scaled(*args, **kwargs)
            return _drawn(*args, **kwargs)

    def _filled(tensor):
        return tensor.copy_(numbers(tuple(tensor.shape)))

    def _scaled(tensor, mean=0.0, std=1.0):
        return tensor.copy_(_filled(torch.empty_like(tensor)) * std + mean)

    def _drawn(mean, std=1.0, size=None, **options):
        shapes = [each.shape for each in (mean, std) if torch.is_tensor(each)]
        shape = torch.broadcast_shapes(*shapes) if size is None else size
        return _filled(torch.empty(shape, **options)) * std + mean

    return Given()

"""host.proof.reachable_numbers: a counter is found wherever a trainer keeps it."""

import random
from collections import deque
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from host.proof.reachable_numbers import Reach

KINDS = (
    *[(kind,) for kind in (object, dict, list, tuple, deque, nn.ReLU, random.Random)],
    *[(partial, abs), (np.ndarray, 3), (torch.Tensor, [0.5]), (nn.Parameter, torch.ones(1))],
    (torch.optim.SGD, [torch.zeros(1)], 0.1),
)
#: Names that torch gives to learned numbers, among others.
NAMES = "n", "state", "defaults", "param_groups"


def own(kind, *given, **attributes):
    """An object of a class of the user's own, based on ``kind``."""
    made = type("Own", (kind,), {"__module__": __name__})(*given)
    vars(made).update(attributes)
    return made


def buffered(module, **options):
    module.register_buffer("n", torch.tensor(41), **options)
    return module


def own_module(part):
    made = own(nn.Module)
    made.x = part
    return made


#: Where a counter is -> a trainer that has it, and how the trainer reads it.
PLACES = {
    **{
        f"{name} of a trainer that is a {kind.__name__}": (
            lambda kind=kind, name=name: own(kind, **{name: 41}),
            lambda t, name=name: vars(t)[name],
        )
        for kind in (object, nn.Module, dict)
        for name in NAMES
    },
    **{
        f"{name} of an own {kind.__name__}": (
            lambda kind=kind, given=given, name=name: own(
                object, x=own(kind, *given, **{name: 41})
            ),
            lambda t, name=name: vars(t.x)[name],
        )
        for kind, *given in KINDS
        for name in (NAMES if kind is not torch.optim.SGD else NAMES[:1])
    },
    "item of a trainer that is a dict": (lambda: own(dict, {"n": 41}), lambda t: t["n"]),
    "buffer": (lambda: buffered(own(nn.Module)), lambda t: t.n),
    "buffer left out": (lambda: buffered(own(nn.Module), persistent=False), lambda t: t.n),
    "buffer of a module": (lambda: own(object, x=buffered(nn.ReLU())), lambda t: t.x.n),
    "buffer of a module of a trainer that is one": (
        lambda: own_module(nn.Sequential(buffered(nn.ReLU()))),
        lambda t: t.x[0].n,
    ),
    "class": (lambda: own(object, x=type("Own", (), {"n": 41})), lambda t: t.x.n),
}


@pytest.mark.parametrize("where", PLACES)
def test_a_counter_is_found_wherever_it_is(where):
    """In one place, which can be set."""
    make, read = PLACES[where]
    trainer = make()
    assert read(trainer) == 41
    [place] = [each for each in Reach(trainer).places.values() if each.value == 41]
    place.put(50_000)
    assert read(trainer) == 50_000


def test_numbers_that_are_learned_are_no_counters():
    """Parameters and the state of optimizers, of torch and of own classes."""
    layer = nn.Linear(2, 2)
    for kind in (torch.optim.Adam, type("Own", (torch.optim.Adam,), {"__module__": __name__})):
        optimizer = kind(layer.parameters(), lr=0.25)
        layer(torch.ones(2)).sum().backward(), optimizer.step()
        trainer = own(nn.Module)
        trainer.q, trainer.optimizer = layer, optimizer
        values = {place.value for place in Reach(trainer).places.values()}
        assert not values & {0.25, 1.0, *layer.weight.ravel().tolist(), *layer.bias.tolist()}

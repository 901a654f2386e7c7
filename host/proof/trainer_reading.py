"""Which algorithm of ours a user's trainer could be: its networks, optimizers and numbers are read.

The reading believes what the trainer says; ``host.proof.kernel_proof`` tries whether its steps are
so.
"""

import math
from dataclasses import dataclass

import numpy as np

from host.algorithms.autodiff import torch
from host.proof.reachable_numbers import Reach
from host.proof.torch_layers import read_layers
from host.trainers.module_state import modules_of, optimizers_of
from hw.errors import UsageError
from hw.learner.config import check_hidden

__all__ = ["Network", "Reading", "contract_numbers", "read"]

#: torch's optimizer -> ours, and name of its number -> the agent's field.
_OPTIMIZERS = {
    "Adam": ("adam", {"eps": "optimizer_epsilon"}),
    "RMSprop": ("rmsprop", {"eps": "optimizer_epsilon", "alpha": "decay"}),
    "SGD": ("sgd", {"momentum": "momentum"}),
}
#: The agent's field -> its type, what is assumed without an attribute, and the attribute's names.
_CONTRACT = {
    "gamma": (float, 0.99, "gamma"),
    "target_tau": (float, 1.0, "tau", "polyak"),
    "target_interval": (int, 1, "target_interval", "target_update"),
}
#: The same of a trainer with two critics, whose targets move with the actor.
_DELAYED = {
    **{field: _CONTRACT[field] for field in ("gamma", "target_tau")},
    "policy_delay": (int, 2, "policy_delay", "policy_freq"),
    "target_noise": (float, 0.2, "target_noise", "policy_noise"),
    "target_noise_clip": (float, 0.5, "target_noise_clip", "noise_clip"),
}
#: What the card's optimizers have not.
_WITHOUT = ("weight_decay", "amsgrad", "centered", "nesterov", "dampening", "maximize")


@dataclass(frozen=True)
class Network:
    """A network of a trainer: names of the attributes that are its online module, its target and
    the optimizer of the online module."""

    online: str
    target: str
    optimizer: str


@dataclass(frozen=True)
class Reading:
    """What a trainer seems to be.

    algorithm : str
        dqn, ddpg or td3.
    networks : dict
        Our name of each network -> Network, in the order of the card.
    agent : dict
        Fields of the algorithm's config: networks, optimizer, gamma, and targets. Loss and
        ``double`` are not read.
    assumed : dict
        The contract's names of a number that the trainer has not -> what is assumed for it.
    """

    algorithm: str
    networks: dict
    agent: dict
    assumed: dict

    @property
    def interval(self):
        """Updates from one step of the targets to the next."""
        return self.agent.get("policy_delay") or self.agent["target_interval"]


def read(trainer, spec):
    """The Reading of ``trainer``, an object of a user's class, for a Spec.

    A module is in training if an optimizer has its parameters; its target is the one module of the
    same layers that is in no optimizer and, of several, has equal parameters. One in training is
    DQN's, two are DDPG's and three TD3's, the actor being the one that ends in tanh, and the critic
    that it ascends the first. The attributes ``gamma``, ``tau`` or ``polyak``, and
    ``target_interval`` or ``target_update`` are believed; without them they are 0.99, 1 and 1. With
    two critics, in place of the latter, ``policy_delay`` or ``policy_freq``, ``target_noise`` or
    ``policy_noise``, and ``target_noise_clip`` or ``noise_clip`` are: 2, 0.2 and 0.5. UsageError,
    which names the place, for all others.
    """
    for name, what in Reach(trainer).opaque.items():
        raise UsageError(f"{name} must be absent to train on the card, not {what}")
    modules, optimizers = modules_of(trainer), optimizers_of(trainer)
    layers = {name: read_layers(module, name) for name, module in modules.items()}
    owners = {name: _owner(name, module, optimizers) for name, module in modules.items()}
    trained = [name for name, owner in owners.items() if owner]
    found = {
        name: Network(name, _target(name, modules, layers, owners), owners[name])
        for name in trained
    }
    algorithm, networks = _named(found, layers, spec)
    chosen = [layers[each.online] for each in networks.values()]
    agent = _numbers(networks, optimizers) | _layers(networks, chosen)
    numbers, assumed = contract_numbers(trainer, algorithm), {}
    for field, (kind, default, *names) in _contract(algorithm).items():
        found = [numbers[name] for name in names if name in numbers]
        agent[field] = kind(found[0] if found else default)
        if not found:
            assumed[" or ".join(names)] = default
    return Reading(algorithm, networks, agent, assumed)


def _owner(name, module, optimizers):
    """The name of the optimizer that has the module's parameters; None if there is none."""
    mine = {id(each) for each in module.parameters()}
    for owner, optimizer in optimizers.items():
        theirs = {id(x) for group in optimizer.param_groups for x in group["params"]}
        if mine <= theirs:
            return owner
        if mine & theirs:
            raise UsageError(
                f"{owner} must have all parameters of {name} to train on the card, not some"
            )
    return None


def _target(name, modules, layers, owners):
    found = [
        other
        for other, owner in owners.items()
        if owner is None and layers[other].shapes == layers[name].shapes
    ]
    if len(found) > 1:  # of two critics
        own = [*modules[name].parameters()]
        found = [
            other for other in found if all(map(torch.equal, own, modules[other].parameters()))
        ]
    if len(found) != 1:
        raise UsageError(
            f"{name} must have one target, a module of its layers that is in no optimizer, to "
            f"train on the card, not {len(found)}"
        )
    return found[0]


def _named(found, layers, spec):
    """(algorithm, {our name: Network}) of the modules in training."""
    size, count = spec.size, spec.action_count
    if spec.discrete:
        names, wanted = {"q": next(iter(found), None)}, {"q": (size, count, "linear")}
        algorithm = "dqn"
    else:
        ends = {"linear": [], "tanh": []}
        for name in found:
            ends.setdefault(layers[name].activations[-1], []).append(name)
        critics = ("critic", "critic_2")[: max(1, len(ends["linear"]))]
        names = dict(zip(critics, ends["linear"] or [None], strict=False))
        names["actor"] = next(iter(ends["tanh"]), None)
        wanted = dict.fromkeys(critics, (size + count, 1, "linear"))
        wanted["actor"] = size, count, "tanh"
        algorithm = "ddpg" if len(critics) == 1 else "td3"
    if len(found) != len(names) or None in names.values():
        rule = "one network, DQN's"
        if not spec.discrete:
            rule = "one critic or two and an actor that ends in tanh"
        raise UsageError(
            f"networks in training must be {rule}, to train on the card, not "
            f"{', '.join(found) or 'none'}"
        )
    for ours, name in names.items():
        each = layers[name]
        has = each.linears[0].in_features, each.linears[-1].out_features, each.activations[-1]
        if has != wanted[ours]:
            inputs, outputs, last = wanted[ours]
            raise UsageError(
                f"{name} must be of {inputs} inputs, {outputs} outputs and {last} at its end to "
                f"train on the card, not {has[0]}, {has[1]} and {has[2]}"
            )
    return algorithm, {ours: found[name] for ours, name in names.items()}


def _layers(networks, chosen):
    """hidden and activation, which a card's networks have in common."""
    first = next(iter(networks.values())).online
    hidden, kinds = chosen[0].hidden, {x for each in chosen for x in each.activations[:-1]}
    for network, each in zip(networks.values(), chosen, strict=True):
        name = network.online
        check_hidden(each.hidden, where=" on the card", name=f"{name}.hidden")
        if each.hidden != hidden:
            raise UsageError(
                f"{name} must have the hidden layers {hidden} of {first} to train on the card, not "
                f"{each.hidden}"
            )
    if len(kinds) != 1:
        raise UsageError(
            f"{first} must have one activation in all hidden layers to train on the card, not "
            f"{' and '.join(sorted(kinds))}"
        )
    return {"hidden": hidden, "activation": kinds.pop()}


def _numbers(networks, optimizers):
    """The agent's fields of the optimizers."""
    read = {each.optimizer: _optimizer(each.optimizer, optimizers) for each in networks.values()}
    (first, common), *others = read.items()
    critics = {each.optimizer for ours, each in networks.items() if ours != "actor"}
    for name, values in others:
        for field, value in values.items():
            own = field == "learning_rate" and name not in critics
            if not own and value != common.get(field):
                raise UsageError(
                    f"{name} must have {field} {common.get(field)!r} as {first} to train on the "
                    f"card, not {value!r}"
                )
    if "actor" not in networks:
        return common
    return common | {"actor_learning_rate": read[networks["actor"].optimizer]["learning_rate"]}


def _optimizer(name, optimizers):
    optimizer = optimizers[name]
    kind, groups = type(optimizer).__name__, optimizer.param_groups
    if kind not in _OPTIMIZERS or type(optimizer) is not getattr(torch.optim, kind):
        known = ", ".join(_OPTIMIZERS)
        kind += "" if kind not in _OPTIMIZERS else " of another class"
        raise UsageError(f"{name} must be one of {known} to train on the card, not {kind}")
    if len(groups) != 1:
        raise UsageError(
            f"{name} must have one group of parameters to train on the card, not {len(groups)}"
        )
    [group] = groups
    ours, fields = _OPTIMIZERS[kind]
    without = _WITHOUT if kind == "SGD" else (*_WITHOUT, "momentum")
    for number in without:
        if group.get(number):
            raise UsageError(
                f"{name} must be without {number} to train on the card, not with {group[number]!r}"
            )
    found = {field: float(group[number]) for number, field in fields.items()}
    if "betas" in group:
        found |= dict(zip(("beta1", "beta2"), map(float, group["betas"]), strict=True))
    return {"optimizer": ours, "learning_rate": float(group["lr"]), **found}


def _contract(algorithm):
    return _DELAYED if algorithm == "td3" else _CONTRACT


def contract_numbers(trainer, algorithm):
    """``{name: number}`` of the attributes that the contract of an ``algorithm`` knows; one that is
    no number, as a method of the same name, is none."""
    names = [name for _, _, *names in _contract(algorithm).values() for name in names]
    found = {name: _number(getattr(trainer, name, None)) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _number(value):
    """``value`` as a finite int or float; None if it is none."""
    if torch.is_tensor(value) or isinstance(value, np.generic | np.ndarray):
        size = value.numel() if torch.is_tensor(value) else value.size
        value = value.item() if size == 1 else None
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and math.isfinite(value) else None

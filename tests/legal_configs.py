"""Random configs that each design allows, and small enough to be generated in a moment.

A field's values are ``VALUES``: what its config must decide lies on both sides of a rule, and a
draw that breaks one is drawn again. Sizes that cost nothing, such as the depth of a memory, reach
their ends; those that multiply what is written stay small.
"""

import random
from dataclasses import fields, is_dataclass, replace

from hw.designs import DESIGNS
from hw.fa3c.config import LAYOUTS, ROLES
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.block.layer_config import KINDS
from hw.nn.activation import ACTIVATIONS
from hw.nn.optimizer_config import OPTIMIZERS
from hw.stream.ram import RAM_STYLES

__all__ = ["FIXED", "VALUES", "legal_config"]


def _one_of(*values):
    return lambda rng: rng.choice(values)


def _some(low, high, *values):
    """A tuple of ``low`` to ``high`` of ``values``."""
    return lambda rng: tuple(rng.choice(values) for _ in range(rng.randint(low, high)))


def _convolutions(rng):
    kernels = [rng.randint(1, 4) for _ in range(rng.randint(0, 2))]
    return tuple((rng.choice([1, 16, 17]), k, rng.randint(1, k)) for k in kernels)


def _formats(prefix, most):
    """Signed formats of at most ``most`` bits."""
    return {
        f"{prefix}.signed": _one_of(True),
        f"{prefix}.integer": _one_of(1, 2, 4, 8, most),
        f"{prefix}.fraction": _one_of(0, 1, 8, 10, 14, most - 4, most - 1),
    }


def _words(networks):
    """Words of so many networks, or, now and then, None: most words break a rule and are drawn
    again. Inputs of all networks but the last are outputs of the last."""

    def one(rng, layers):
        return [rng.choice([1, 1, 1, 2, 3, 4]) for _ in range(layers + 1)]

    def words(rng):
        layers = rng.randint(2, 3)
        lists = [one(rng, layers) for _ in range(networks)]
        for first in lists[:-1]:
            first[0] = lists[-1][-1]
        found = tuple(map(tuple, lists))
        return None if rng.random() < 0.1 else found if networks > 1 else found[0]

    return words


_ENGINE = {
    "engine.data_width": _one_of(32, 64, 128, 256, 512),
    "engine.depth": _one_of(1, 2, 64, 65, 256, 65536),
    "engine.burst_beats": _one_of(1, 2, 16, 64, 256),
    "engine.bursts": _one_of(1, 2, 3, 64, 1024),
    "engine.style": _one_of(*RAM_STYLES),
}
_REPLAY = {
    "replay.capacity": _one_of(2, 3, 16, 17, 64, 65, 1000, 4096, 1 << 18, (1 << 24) - 1, 1 << 24),
    "replay.fanout": _one_of(2, 4, 8, 16),
    "replay.priority_width": _one_of(4, 5, 16, 24, 32),
    "replay.priority_fraction": _one_of(0, 1, 4, 16, 31),
}
_LEARNER = {
    "learner.observation": _one_of(1, 2, 3, 4, 9, 512),
    "learner.action": _one_of(1, 2, 3, 5, 256),
    "learner.hidden": _some(1, 2, 1, 2, 3, 5, 8, 65),
    "learner.batch": _one_of(1, 2, 3, 4, 8, 64, 1024, 4096),
    "learner.optimizer": _one_of(*OPTIMIZERS),
}
_BLOCKS = _LEARNER | {
    "learner.hidden_activation": _one_of(*ACTIVATIONS),
    "learner.lanes": _one_of(1, 1, 2),
    "learner.multipliers": _one_of(1, 2, 3, 4, 32),
    "learner.update_units": _one_of(0, 1, 2, 3, 512),
    "learner.loss_unit": _one_of("pipeline", "program"),
    "learner.arithmetic.kind": _one_of(*KINDS),
    **_formats("learner.arithmetic.weight", 27),
    **_formats("learner.arithmetic.activation", 18),
    **_formats("learner.arithmetic.gradient", 18),
}

#: Of each design, what draws the value of a field from a generator: ``f(rng)``. A flag needs none.
VALUES = {
    "replay": _ENGINE | _REPLAY,
    "gae": _ENGINE
    | {
        "gae.rows": _one_of(1, 2, 3, 5),
        "gae.depth": _one_of(2, 3, 64, 65, 1024, 4096, 1 << 16),
        "gae.lookahead": _one_of(1, 2, 3),
        "gae.code_width": _one_of(8, 16, 32),
        "gae.result_width": _one_of(8, 16, 32),
    },
    "dqn": _ENGINE | _REPLAY | _BLOCKS | {"learner.words": _words(1)},
    "ddpg": _ENGINE | _REPLAY | _BLOCKS | {"learner.words": _words(2)},
    "td3": _ENGINE | _REPLAY | _BLOCKS | {"learner.words": _words(3)},
    "fixar": _ENGINE
    | _REPLAY
    | _LEARNER
    | {
        "learner.cores": _one_of(1, 2, 3),
        "learner.side": _one_of(4, 8),
        "learner.port_words": _one_of(1, 1, 2),
    },
    "a3c": _ENGINE
    | {
        "height": _one_of(1, 2, 5, 8),
        "width": _one_of(1, 3, 6, 9),
        "channels": _one_of(1, 2, 4, 17),
        "input_exponent": _one_of(-64, -8, 0, 64),
        "convolutions": _convolutions,
        "hidden": _some(0, 2, 1, 16, 17),
        "outputs": _one_of(2, 3, 16, 17),
        "lanes": _one_of(1, 1, 2, 4),
        "layout": _one_of(*LAYOUTS),
        "global_masters": _one_of(1, 2),
        "local_masters": _one_of(2, 4, 8),
        "units": _some(1, 2, *ROLES),
        "batch": _one_of(1, 2, 8),
        "steps": _one_of(1, 3, 16, 32),
        "agents": _one_of(1, 2, 8, 256),
        "snapshots": _one_of(1, 2, 32),
        "tasks": _one_of(1, 2, 65, 256),
        "rms_units": _one_of(1, 2, 4),
        "drain_words": _one_of(1, 2, 4, 16),
        "parameter_rows": _one_of(64, 65, 1024, 1 << 16),
    },
}


_LATER = "learner.algorithm", "learner.clip_norm", "play"

#: Fields that keep the default's value: those that have one legal value, and those that are later
#: than the configs whose numbers are frozen.
FIXED = {
    **dict.fromkeys(ALGORITHMS, _LATER),
    "td3": (*_LATER, "learner.loss_unit"),
    "fixar": ("learner.arithmetic", "play"),
}


def legal_config(name, seed):
    """Number ``seed`` of the random configs of a design."""
    config, design = DESIGNS[name].config_type(), DESIGNS[name]
    if "learner.algorithm" in FIXED.get(name, ()):
        config = replace(config, learner=replace(config.learner, algorithm=name))
    config = _drawn(config, "", name, random.Random(f"{name} {seed}"))
    design.check(config)
    return config


def _drawer(name, place):
    """What draws the value of a field."""
    if place not in VALUES.get(name, ()):
        raise LookupError(
            f'{name}: no values of the field {place}: add "{place}": _one_of(...), with values on '
            f"both sides of its rules, to VALUES[{name!r}] in tests/legal_configs.py"
        )
    return VALUES[name][place]


def _drawn(config, prefix, name, rng):
    """A config of the class of ``config``, whose parts are legal by themselves."""
    for _ in range(10_000):
        values = {}
        for field in fields(config):
            place, like = prefix + field.name, getattr(config, field.name)
            if place in FIXED.get(name, ()):
                values[field.name] = like
            elif is_dataclass(like):
                values[field.name] = _drawn(like, f"{place}.", name, rng)
            elif isinstance(like, bool) and place not in VALUES.get(name, ()):
                values[field.name] = rng.random() < 0.5
            else:
                values[field.name] = _drawer(name, place)(rng)
        try:
            return type(config)(**values)
        except ValueError:
            pass
    raise RuntimeError(f"{name} must have a legal {prefix or 'config'} among so many draws")

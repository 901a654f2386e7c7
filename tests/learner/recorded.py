"""Recorded runs of fixed-point kernels: everything that no later change of the learner may change.

Six kernels learn on card ``model``, whose twin equals the hardware bit for bit. Their results lie
in ``tests/reference/learner``, one file for each kernel, and ``test_recorded_bytes.py`` compares
them to the byte. In fixed point every sum is exact and is rounded once, so the results depend on
no number of lanes, multipliers or update units, on no order of additions and on no place in a
memory. For that reason parameters are kept as tensors [outputs, inputs]: how an image lies in a
buffer is the layer's own affair.

Sums of REPORT (``sums_*``) are the exception. They are binary32, and the order of their additions
is the loss unit's own, so they are compared to 1e-5 of themselves. The terms of the sum of values
have both signs, so that sum is compared to 1e-5 of the largest one of its run.

usage: python -m tests.learner.recorded --write
writes the files anew, from a commit whose learner is known to be right.
"""

import sys
import warnings
from functools import partial
from math import prod
from pathlib import Path
from unittest import mock

import numpy as np

if __name__ == "__main__":  # as pytest's ``pythonpath`` has it
    sys.path.insert(0, str(Path(__file__).parent.parent))

from learner.modelled import kernel_config, opened

from host.learner.hyperparameters import hyperparameter_records
from host.learner.learning_replay import LearningReplay
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.parameters.parameter_image import sections
from sim.model.learner.network.trainer import Trainer

__all__ = ["CASES", "FOLDER", "SUMS", "file_of", "recorded", "run"]

FOLDER = Path(__file__).parent.parent / "reference" / "learner"

_WIDE = Arithmetic(kind="fixed")
#: Formats in which weights, activations and gradients are clipped.
_NARROW = Arithmetic(kind="fixed", weight=SQ(1, 15), activation=SQ(3, 9), gradient=SQ(1, 12))

_kernel = partial(kernel_config, capacity=100)

CASES = {
    "dqn adam": _kernel(
        "dqn", observation=4, action=2, hidden=(64,), batch=64, lanes=2, multipliers=32,
        update_units=8, double=False, optimizer="adam", arithmetic=_WIDE,
    ),
    "dqn double": _kernel(
        "dqn", observation=4, action=3, hidden=(32, 24), batch=32, lanes=8, multipliers=16,
        update_units=3, double=True, optimizer="adam", arithmetic=_NARROW,
    ),
    "dqn rmsprop": _kernel(
        "dqn", observation=7, action=5, hidden=(19, 13), hidden_activation="tanh", batch=21,
        lanes=1, multipliers=9, update_units=2, double=True, optimizer="rmsprop", arithmetic=_WIDE,
    ),
    "dqn sgd": _kernel(
        "dqn", observation=9, action=1, hidden=(17, 12, 8, 11), batch=28, lanes=4, multipliers=7,
        update_units=1, double=False, optimizer="sgd", arithmetic=_NARROW,
    ),
    "ddpg adam": _kernel(
        "ddpg", observation=8, action=2, hidden=(24, 16), batch=32, lanes=2, multipliers=16,
        update_units=4, optimizer="adam", arithmetic=_WIDE,
    ),
    "ddpg sgd": _kernel(
        "ddpg", observation=5, action=3, hidden=(14,), hidden_activation="tanh", batch=23,
        lanes=1, multipliers=5, update_units=2, optimizer="sgd", arithmetic=_NARROW,
    ),
}  # fmt: skip

#: Sums over a batch in REPORT, in whatever order.
SUMS = ("loss", "td", "value")
_CAPACITY, _FILL = 90, 70
#: Launches: the command, and how many iterations it has; 200 of them learn.
_LAUNCHES = (("learn", 1), ("learn", 29), ("train", 8), ("learn", 70), ("learn", 100))
#: Experiences that an iteration stores.
_INSERTS = 2


def file_of(name):
    return FOLDER / f"{name.replace(' ', '_')}.npz"


def recorded(name):
    """The arrays of a case, by name."""
    with np.load(file_of(name)) as arrays:
        return dict(arrays)


def run(name):
    """Learns as the case says; the same arrays.

    td : TD errors of all iterations, one after the other; ``batches`` has their numbers.
    saturations, position, weight : of the REPORTs. sums_loss, sums_td, sums_value too.
    status_<field> : after the last launch, clocks left out.
    priorities : of the experiences at the end. actions : ACT on 5 observations.
    <network>_<layer>_<set>_weights [launches, outputs, inputs], .._biases [launches, outputs] :
        after each launch; raw integers, of moments binary32.
    """
    config, numbers = CASES[name], _Numbers(1 + list(CASES).index(name))
    errors, train = [], Trainer.train

    def listen(*arguments, **options):
        result = train(*arguments, **options)
        errors.append(result.td)
        return result

    with (
        mock.patch.object(Trainer, "train", listen),
        warnings.catch_warnings(),
        opened(config) as kernel,
    ):
        warnings.simplefilter("ignore", RuntimeWarning)  # of what is clipped: it is meant to be
        buffer = LearningReplay(kernel, capacity=_CAPACITY, seed=11, alpha=0.7)
        buffer.initialize(_fresh(config.learner, numbers))
        buffer.add(**_experiences(config, numbers, _FILL))
        reports, parameters = [], []
        for first, (command, count) in zip(_begins(), _LAUNCHES, strict=True):
            size = _batch(config.learner, len(parameters))
            steps = _steps(config.learner, first, count, size)
            experiences = count * (_INSERTS if command == "learn" else size)
            sent = _experiences(config, numbers, experiences)
            learned = getattr(buffer, command)(steps, experiences=sent, batch_size=size)
            reports.append(learned.reports)
            parameters.append(_tensors(config.learner, buffer.state_dict()["parameters"]))
        reports, status = np.concatenate(reports), buffer.status
        seen = numbers.between(5, config.learner.observation)
        return {
            "td": np.concatenate(errors),
            "batches": np.array([len(error) for error in errors], np.int32),
            **{name: reports[name] for name in ("saturations", "position", "weight")},
            **{f"sums_{name}": reports[name] for name in SUMS},
            **{
                f"status_{name}": np.asarray(status[name])
                for name in status.dtype.names
                if not name.endswith("_cycles")
            },
            "priorities": buffer.priorities(),
            "actions": buffer.act(seen),
            **{key: np.stack([each[key] for each in parameters]) for key in parameters[0]},
        }


class _Numbers:
    """Random numbers that are the same on every machine: bits of SFC64, and no function of them."""

    def __init__(self, seed):
        self._bits = np.random.SFC64(seed)

    def integers(self, count, *shape):
        """Of 0 .. count - 1."""
        raw = self._bits.random_raw(prod(shape)).reshape(shape)
        return (raw >> 32).astype(np.int64) % count

    def between(self, *shape):
        """Of -1 .. 1, whole units of 2**-20."""
        return (self.integers(1 << 21, *shape) - (1 << 20)) / (1 << 20)


def _fresh(learner, numbers):
    return {
        network: [
            (
                numbers.between(layer.outputs, layer.inputs) * 2 / np.sqrt(layer.inputs),
                numbers.between(layer.outputs) / 2,
            )
            for layer in layers
        ]
        for network, layers in learner.networks.items()
    }


def _experiences(config, numbers, count):
    result = {}
    for field, (dtype, shape) in config.fields.items():
        if np.dtype(dtype).kind == "u":
            result[field] = numbers.integers(config.learner.action, count)
        else:
            result[field] = numbers.between(count, *shape)
    result["obs"], result["next_obs"] = 3 * result["obs"], 3 * result["next_obs"]
    result["reward"] = 2 * result["reward"]
    result["discount"] = np.where(numbers.integers(5, count), 0.9, 0)
    return result


def _begins():
    """The number of each launch's first iteration."""
    first = 0
    for _, count in _LAUNCHES:
        yield first
        first += count


def _batch(learner, launch):
    """All of a batch, a half, a quarter, and again, in whole lanes."""
    return max(learner.lanes, (learner.batch >> launch % 3) // learner.lanes * learner.lanes)


def _steps(learner, first, count, size):
    """Steps ``first`` .. of the optimizer, with every coefficient in play and no two alike: clipped
    TD errors and others, a target that follows, stays, and is copied."""
    k = np.arange(first, first + count)
    rate = np.stack([0.01 - k / 32768, 0.004 + k / 65536], axis=1)
    values = dict(first_decay=0.9, first_gain=0.1, second_decay=0.99, second_gain=0.01, floor=1e-4)
    if learner.optimizer == "sgd":
        values, rate = dict(first_decay=0.875, first_gain=1), 4 * rate
    elif learner.optimizer == "rmsprop":
        values = dict(second_decay=0.9, second_gain=0.1, floor=0.01)
    else:  # Adam's bias corrections, by products: the same on every machine
        first_power, second_power = (
            np.cumprod(np.full(first + count, decay))[first:] for decay in (0.9, 0.99)
        )
        rate = rate * (np.sqrt(1 - second_power) / (1 - first_power))[:, None]
    blend = np.where(k % 5 == 4, 0, np.where(k % 24 == 23, 1, 1 / 32))
    return hyperparameter_records(
        count,
        scale=1 / size,
        beta=0.25 + k / 512,
        clip=np.where(k % 7 == 6, np.inf, 1),
        rate=rate,
        blend=np.stack([blend, blend / 2], axis=1),
        keep=np.stack([1 - blend, 1 - blend / 2], axis=1),
        **values,
    )


def _tensors(learner, image):
    """Weights and biases of all sets, by name."""
    result = {}
    for section in sections(learner):
        part = image.view(np.uint8)[section.offset : section.offset + section.size]
        place = f"{section.network}_{section.position}_{section.parameter_set}"
        moment = section.parameter_set in ("first", "second")
        arrays = section.layer.unpack(part.view("<f4" if moment else "<i4"))
        result |= {
            f"{place}_{kind}": x for kind, x in zip(("weights", "biases"), arrays, strict=True)
        }
    return result


def _write():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        np.savez_compressed(file_of(name), **run(name))
        print(f"{file_of(name).name}\t{file_of(name).stat().st_size} bytes")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    _write()

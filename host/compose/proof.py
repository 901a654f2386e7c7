"""Whether a user's trainer does the steps of a kernel: it is tried, and compared with the twins.

What is compared are TD errors and the changes of weights, not weights: with Adam a gamma of 0.97
instead of 0.99 moves no weight by more than 4e-5 of the largest one, but changes by 7e-3 of the
largest change.
"""

from dataclasses import fields
from itertools import product

import numpy as np

from host.algorithms.config import Clock, ReplayConfig
from host.algorithms.dqn import DQNConfig
from host.algorithms.exploration import EpsilonConfig, NoiseConfig
from host.algorithms.fixar import FixarDDPGConfig
from host.compose.recording import recorded
from host.learners.card import steps_of
from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.fixar.config import FixarConfig
from hw.learner.config import LearnerConfig
from sim.model.fixar.learner import FixarTrainer
from sim.model.learner.network.trainer import Trainer

__all__ = ["differences", "prove"]

#: Largest difference of TD errors and of changes, as a share of the largest number; of fixar's
#: changes in the root of squares, since its numbers are rounded to 2^-28.
_LIMIT, _ROUNDED_LIMIT = 1e-4, 2e-2
_ULP = 2.0**-23
_LOSSES = ("huber", "squared", "mse")


def prove(reading, agent, spec, record=None):
    """The kernels that train as a trainer does: a list of (design, config of the agent).

    Parameters
    ----------
    reading : Reading
    agent : TrainerConfig
        The config of the trainer's agent.
    spec : Spec
    record : Recording, optional
        What the trainer did; None: it is recorded now.

    Returns
    -------
    list
        For DQN one pair with design dqn. For DDPG ddpg, if the actor ascends the critic as it was
        before the critic's step, else fixar. The configs have loss and ``double`` that were found.

    UsageError if no kernel does so; its text has the first quantity that differs of the best match,
    and why a kernel cannot be tried.
    """
    record = record or recorded(reading, agent, spec)
    if reading.algorithm == "dqn":
        kinds = [("dqn", {"double": double}) for double in (False, True)]
    else:
        kinds = [
            ("ddpg", {"lagged_critic": True}),
            ("fixar", {"lagged_critic": False, "precision": "fixed32"}),
        ]
    tried, refused = [], {}
    for loss, (design, values) in product(_LOSSES, kinds):
        try:
            config = _config(reading, record, agent, {"loss": loss, **values})
            all_of = differences(record, reading, design, config, spec)
            words = [words for words, difference, limit in all_of if not difference <= limit]
        except UsageError as error:
            refused[design] = error
            continue
        tried.append((words, design, config))
    if not tried:
        raise next(iter(refused.values()))
    found = {design: config for words, design, config in reversed(tried) if not words}
    if not found:
        words, *_ = min(tried, key=lambda each: len(each[0]))
        name = {"dqn": "DQN", "ddpg": "DDPG"}[reading.algorithm]
        others = "".join(f"; kernel {design}: {error}" for design, error in refused.items())
        raise UsageError(
            f"update_policy must be {name}'s step to train on the card, not one whose "
            f"{words[0]}{others}"
        )
    for design, config in found.items():
        _check_actions(record, reading, design, config, spec)
    return list(found.items())


def _config(reading, record, agent, values):
    """The config of our agent with the numbers that were read, and those of the trainer's run."""
    kind, explores = (
        (DQNConfig, EpsilonConfig) if reading.algorithm == "dqn" else (FixarDDPGConfig, NoiseConfig)
    )
    names = {each.name for part in (ReplayConfig, explores) for each in fields(part)}
    own = {name: getattr(agent, name) for name in names}
    if "done" in record.takes:
        own["gamma"] = reading.agent["gamma"]
    if "weights" not in record.takes:
        own |= {"beta_start": 0.0, "beta_end": 0.0}
    return kind(**{"max_gradient_norm": None, **reading.agent, **own, **values})


class _Twin:
    """The twin of a kernel's learner for the numbers of torch.

    rounded : whether its parameters are in fixed point.
    """

    def __init__(self, design, config, spec):
        sizes = dict(observation=spec.size, action=spec.action_count, hidden=config.hidden)
        sizes |= dict(batch=config.batch_size, optimizer=config.optimizer)
        self.design, self.rounded = design, design == "fixar"
        if self.rounded:
            self._trainer = FixarTrainer(FixarConfig(**sizes))
            self._one = 2.0**self._trainer.config.arithmetic.weight.fraction
            return
        sizes |= dict(algorithm=design, hidden_activation=config.activation)
        if design == "dqn":
            sizes["double"] = config.double
        self._one = 1
        self._trainer = Trainer(LearnerConfig(arithmetic=Arithmetic(kind="float32"), **sizes))

    def train(self, step, config, taken):
        """TD errors, and ``{network: [{set: (weights, biases)}]}`` after a Step, from the numbers
        before it. ``config`` is the agent's; ``taken`` is what the trainer takes."""
        self.fill(step.before, config)
        batch = step.batch
        weights = batch["weights"] if "weights" in taken else np.ones_like(batch["weights"])
        discount = batch["discount"]
        if "done" in taken:
            discount = np.where(discount == 0, 0, np.float32(config.gamma)).astype(np.float32)
        [values] = steps_of(config, Clock(updates=step.updates), 1)
        result = self._trainer.train(batch | {"discount": discount}, None, weights, values)
        return result.td, {
            name: [
                {each: tuple(part / self._one for part in layer[each]) for each in _COMPARED}
                for layer in layers
            ]
            for name, layers in self._trainer.parameters.items()
        }

    def act(self, obs):
        return self._trainer.act(obs)

    def fill(self, numbers, config):
        """Sets the parameters to ``numbers``, as those before or after a Step."""
        # The card's moments are those of half of mse, for the network with the loss.
        first = next(iter(numbers))
        shares = {"first": config.loss_scale, "second": config.loss_scale**2}
        for name, layers in numbers.items():
            for theirs, own in zip(layers, self._trainer.parameters[name], strict=True):
                for each, pair in own.items():
                    share = shares.get(each, 1) if name == first else 1
                    for part, values in zip(pair, theirs.get(each, (0, 0)), strict=True):
                        if each in _COMPARED and self.rounded:
                            part[...] = np.rint(values * self._one)
                        else:
                            part[...] = values / np.float32(share)


_COMPARED = ("online", "target")


def differences(record, reading, design, config, spec):
    """Yields (words, difference, limit) of all that is compared of the steps of a Recording with
    those of kernel ``design`` for ``config``, an agent's. UsageError if the kernel has no such
    networks."""
    twin = _Twin(design, config, spec)
    for number, step in enumerate(record.steps, 1):
        td, after = twin.train(step, config, record.takes)
        for what, difference, limit in _compared(step, td, after, reading, twin.rounded):
            yield f"{what} differ by {difference:.1e} (step {number})", difference, limit


def _compared(step, td, after, reading, rounded):
    """Yields (words, difference, limit) of all that a step has."""
    if step.td is not None:
        yield "TD errors", _largest(abs(td), abs(step.td)), _LIMIT
    for each in _COMPARED:
        for ours, layers in step.before.items():
            network = reading.networks[ours]
            name = network.online if each == "online" else network.target
            for k, layer in enumerate(layers):
                wanted, found = (
                    [
                        new - old
                        for new, old in zip(numbers[ours][k][each], layer[each], strict=True)
                    ]
                    for numbers in (after, step.after)
                )
                pair = (np.concatenate([part.ravel() for part in x]) for x in (wanted, found))
                words = f"changes of {name}, layer {k + 1},"
                if rounded:
                    yield words, _in_root(*pair), _ROUNDED_LIMIT
                else:
                    largest = max(abs(part).max() for part in layer[each])
                    yield words, _largest(*pair, _ULP * largest), _LIMIT


def _largest(wanted, found, allowed=0.0):
    """The largest difference, less what is ``allowed``, as a share of the largest number."""
    difference = max(abs(wanted - found).max() - allowed, 0.0)
    return difference and difference / max(abs(wanted).max(), abs(found).max())


def _in_root(wanted, found):
    """The root of the sum of squared differences, as a share of that of the numbers."""
    scale = max(np.linalg.norm(wanted), np.linalg.norm(found))
    return scale and np.linalg.norm(wanted - found) / scale


def _check_actions(record, reading, design, config, spec):
    """UsageError unless the trainer's actions after the last step are those of its network."""
    twin = _Twin(design, config, spec)
    twin.fill(record.steps[-1].after, config)
    outputs = twin.act(record.obs)
    if spec.discrete:
        what, wrong = "argmax of", record.actions != outputs.argmax(1)
    else:
        limit = _ROUNDED_LIMIT if twin.rounded else _LIMIT
        what, wrong = "outputs of", (abs(record.actions - outputs) > limit).any(1)
    if wrong.any():
        name = list(reading.networks.values())[-1].online
        raise UsageError(
            f"get_action must be the {what} {name} to train on the card, not another for "
            f"{wrong.sum()} of {len(wrong)} observations"
        )

"""Whether a user's trainer does the steps of a kernel: it is tried, and compared with the twins.

Compared are TD errors and the changes of weights, not weights: with Adam a gamma of 0.97
instead of 0.99 moves no weight by more than 4e-5 of the largest one, but changes by 7e-3 of the
largest change. A change is measured by the largest one of its tensor, however small that is.
"""

from dataclasses import fields, replace
from itertools import product

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.config import LOSSES, Clock, ReplayConfig
from host.algorithms.ddpg import DDPGUpdater
from host.algorithms.deterministic import DeterministicPolicy
from host.algorithms.dqn import DQNConfig
from host.algorithms.exploration import EpsilonConfig, NoiseConfig
from host.algorithms.td3 import TD3Config
from host.fixar.fixar_ddpg import FixarDDPGConfig
from host.learner.card_learner import steps_of
from host.learner.policy_weights import flat, layers_of, set_weights
from host.proof.step_recording import Recording
from hw.arith.arithmetic import Arithmetic
from hw.errors import UsageError
from hw.fixar.config import FixarConfig
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS
from sim.model.fixar.learner import FixarTrainer
from sim.model.learner.network.trainer import Trainer

__all__ = ["differences", "limits", "prove"]

#: Largest difference of TD errors, changes and actions, as a share of the largest number.
LIMIT = 1e-4
#: The same of fixar's twin, in the root of squares, since its numbers are rounded to 2^-28.
_ROUNDED_LIMIT = 2e-2
_ULP = 2.0**-23
_NAMES = {"dqn": "DQN", "ddpg": "DDPG", "td3": "TD3"}
#: Algorithm -> configs of the agent, and of how it explores.
_KINDS = {
    "dqn": (DQNConfig, EpsilonConfig),
    "ddpg": (FixarDDPGConfig, NoiseConfig),
    "td3": (TD3Config, NoiseConfig),
}
#: Factors of observations, rewards and weights of the last steps -> the limit of changes there: of
#: a unit that saturates little is left but rounding.
_EXTREMES = {(100, 1e4, 1): 5e-2, (1, 1e-3, 0.03): LIMIT}


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
        For DQN one pair with design dqn, for TD3 one with td3. For DDPG ddpg, if the actor ascends
        the critic as it was before the critic's step, else fixar. The configs have loss and
        ``double`` that were found.

    UsageError if no kernel does so, at first or with the trainer's counters far on; its text has
    the first quantity that differs of the best match, to what counters were set, and why a kernel
    cannot be tried. Numbers that trainers share, such as class attributes, are as before.
    """
    record = record or Recording(reading, agent, spec)
    try:
        found, refused = _matches(record, reading, agent, spec), []
        for design, config in list(found.items()):
            try:
                _go_on(record, reading, _References(design, config, spec))
            except UsageError as error:
                refused.append(error)
                del found[design]
        if not found:
            raise refused[0]
        return list(found.items())
    finally:
        record.restore()


def limits(record, design):
    """A sentence that says how far the proof of a Recording for kernel ``design`` goes."""
    obs, rewards, _ = max(_EXTREMES)
    return (
        f"kernel {design} trains in place of the trainer: proved to {LIMIT:g} on {record.count} "
        f"updates, its counters set to {record.places} values; not seen: what depends on time, "
        "files, other processes, code that is not Python, a count that no number of its code "
        f"names, or on observations over {obs:g} and rewards over {rewards:g}"
    )


def _matches(record, reading, agent, spec):
    """``{design: config}`` of the kernels that do the first steps of a Recording."""
    if reading.algorithm == "dqn":
        kinds = [("dqn", {"double": double}) for double in (False, True)]
    elif reading.algorithm == "td3":
        kinds = [("td3", {})]
    else:
        kinds = [
            ("ddpg", {"lagged_critic": True}),
            ("fixar", {"lagged_critic": False, "precision": "fixed32"}),
        ]
    tried, refused = [], {}
    for loss, (design, values) in product(LOSSES, kinds):
        try:
            config = _config(reading, record, agent, {"loss": loss, **values})
            all_of = list(differences(record, reading, design, config, spec))
            words = _deviations(all_of)
        except UsageError as error:
            refused[design] = error
            continue
        tried.append((words, design, config, len(words) / len(all_of)))
    if not tried:
        raise next(iter(refused.values()))
    found = {design: config for words, design, config, _ in reversed(tried) if not words}
    if not found:
        words, *_ = min(tried, key=lambda each: each[-1])
        others = "".join(f"; kernel {design}: {error}" for design, error in refused.items())
        raise _refusal(reading, record, words[0], others)
    return found


def _go_on(record, reading, references):
    """Compares what the trainer does with its counters far on, and with extreme numbers. UsageError
    if it differs."""
    references.check_actions(record.acts, reading)
    for start in record.starts():
        for in_phase in (False, True) if record.wraps else (False,):
            steps = record.window(start, in_phase=in_phase)
            words = references.deviations(steps or (), record.takes, reading)
            if not words:
                break
        _check(record, reading, references, words)
    for steps in record.acting_windows():
        _check(record, reading, references, references.deviations(steps, record.takes, reading))
    _check(record, reading, references, references.deviations(record.ends(), record.takes, reading))
    for factors, limit in _EXTREMES.items():
        steps = record.extreme(*factors)
        words = references.deviations(steps, record.takes, reading, limit)
        _check(record, reading, references, words)


def _check(record, reading, references, words):
    if words:
        raise _refusal(reading, record, words[0], record.set_to)
    references.check_actions(record.acts, reading, record.set_to)


def _refusal(reading, record, words, more=""):
    """The UsageError of a quantity that differs, as ``words`` say. If it depends on a number of the
    contract that the trainer has not, the text says so."""
    targets = any(f" of {each.target}, " in words for each in reading.networks.values())
    matters = {"gamma"} if "done" in record.takes else set()
    matters |= {"tau or polyak", "target_interval or target_update"} if targets else set()
    if reading.algorithm == "td3":
        matters |= {names for names in reading.assumed if names != "gamma"}
    for names, value in reading.assumed.items():
        if names in matters:
            more += f"; the trainer has no number {names}, so {value:g} was assumed"
    return UsageError(
        f"update_policy must be {_NAMES[reading.algorithm]}'s step to train on the card, not one "
        f"whose {words}{more}"
    )


def _config(reading, record, agent, values):
    """The config of our agent with the numbers that were read, and those of the trainer's run."""
    kind, explores = _KINDS[reading.algorithm]
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
        self._config, self.rounded = config, design == "fixar"
        self._record = HYPERPARAMETERS
        if self.rounded:
            self._trainer = FixarTrainer(FixarConfig(**sizes))
            self._one = 2.0**self._trainer.config.arithmetic.weight.fraction
            return
        sizes |= dict(algorithm=design, hidden_activation=config.activation)
        if design == "dqn":
            sizes["double"] = config.double
        self._one = 1
        self._trainer = Trainer(LearnerConfig(arithmetic=Arithmetic(kind="float32"), **sizes))
        self._record = self._trainer.config.step_record

    def train(self, batch, clock):
        """TD errors, and ``{network: [{set: (weights, biases)}]}`` after a gradient step."""
        [values] = steps_of(self._config, clock, 1, self._record)
        result = self._trainer.train(batch, None, batch["weights"], values)
        return result.td, {
            name: [
                {each: tuple(part / self._one for part in layer[each]) for each in _COMPARED}
                for layer in layers
            ]
            for name, layers in self._trainer.parameters.items()
        }

    def act(self, obs):
        """The outputs of the network that acts."""
        return self._trainer.act(obs)

    def fill(self, numbers, _):
        """Sets the parameters to ``numbers``, as those before or after a Step."""
        # The card's moments are those of half of mse, for networks with the loss.
        scale = self._config.loss_scale
        shares = {"first": scale, "second": scale**2}
        for name, layers in numbers.items():
            for theirs, own in zip(layers, self._trainer.parameters[name], strict=True):
                for each, pair in own.items():
                    share = 1 if name == "actor" else shares.get(each, 1)
                    for part, values in zip(pair, theirs.get(each, (0, 0)), strict=True):
                        if each in _COMPARED and self.rounded:
                            part[...] = np.rint(values * self._one)
                        else:
                            part[...] = values / np.float32(share)


class _Unrounded:
    """The algorithm of kernel fixar in binary32, as ``--learner cpu`` has it; as _Twin. Its limit
    is that of numbers that are not rounded."""

    rounded = False

    def __init__(self, config, spec):
        self._policy = DeterministicPolicy(replace(config, precision="float32"), spec)
        self._updater = DDPGUpdater(self._policy)

    def train(self, batch, clock):
        td, _ = self._updater.update(batch, clock)
        targets = {name: each.target_parameters for name, each in self._updater.networks.items()}
        found = layers_of(self._policy)
        for name, network in self._policy.networks.items():
            online = network.parameters.copy()
            network.parameters[...] = targets[name].numpy()
            target = layers_of(self._policy)[name]
            found[name] = [
                {"online": mine, "target": tuple(part.copy() for part in theirs)}
                for mine, theirs in zip(found[name], target, strict=True)
            ]
            network.parameters[...] = online
        return td, found

    def act(self, obs):
        return self._policy.act(obs, greedy=True)

    def fill(self, numbers, updates):
        set_weights(self._policy, numbers)
        for name, trained in self._updater.networks.items():
            layers = numbers[name]
            vectors = {
                each: torch.from_numpy(flat([{"online": layer[each]} for layer in layers]))
                for each in layers[0]
            }
            trained.target_parameters.copy_(vectors["target"])
            names = _MOMENTS[trained.config.optimizer]
            state = {names[each]: vectors[each] for each in names if each in vectors}
            if state and trained.config.optimizer != "sgd":
                state["step"] = torch.tensor(float(updates))
            trained.optimizer.state[trained.parameters] = state


_COMPARED = ("online", "target")
#: Optimizer -> set of parameters -> torch's name of the moment.
_MOMENTS = {
    "adam": {"first": "exp_avg", "second": "exp_avg_sq"},
    "rmsprop": {"second": "square_avg"},
    "sgd": {"first": "momentum_buffer"},
}


class _References:
    """The reference for a trainer, for a kernel's ``design`` and the ``config`` of an agent."""

    def __init__(self, design, config, spec):
        self.config, self.spec = config, spec
        self.twin = _Twin(design, config, spec)
        self.exact = _Unrounded(config, spec) if self.twin.rounded else self.twin

    def deviations(self, steps, takes, reading, limit=LIMIT):
        """The words of all that differs by too much, in steps that were recorded; ``limit`` is that
        of changes."""
        return _deviations(_differences(self.exact, self.config, steps, takes, reading, limit))

    def check_actions(self, acts, reading, more=""):
        """UsageError unless the acting network gives the actions of all Acts."""
        outputs = []
        for act in acts:
            self.exact.fill(act.numbers, 0)
            outputs.append(self.exact.act(act.obs))
        outputs = np.concatenate(outputs)
        actions = np.concatenate([act.actions for act in acts])
        if self.spec.discrete:
            what, component = "argmax of", ""
            lacks = outputs.max(1) - outputs[np.arange(len(actions)), actions]
            wrong = ~(lacks <= LIMIT * abs(outputs).max())
        else:
            off = ~(abs(actions - outputs) <= LIMIT * abs(outputs).max(0))
            what, wrong = "outputs of", off.any(1)
            component = f" in component {off.any(0).argmax()}"
        if wrong.any():
            name = list(reading.networks.values())[-1].online
            raise UsageError(
                f"get_action must be the {what} {name} to train on the card, not another"
                f"{component} for {wrong.sum()} of {len(wrong)} observations{more}"
            )


def differences(record, reading, design, config, spec):
    """Yields (words, difference, limit) of all that is compared of the first steps of a Recording
    with those of kernel ``design`` for ``config``, an agent's. UsageError if the kernel has no such
    networks."""
    references = _References(design, config, spec)
    for each in dict.fromkeys((references.exact, references.twin)):
        yield from _differences(each, config, record.steps, record.takes, reading)


def _deviations(found):
    return [words for words, difference, limit in found if not difference <= limit]


def _differences(reference, config, steps, takes, reading, limit=LIMIT):
    for number, step in enumerate(steps, 1):
        reference.fill(step.before, step.updates)
        batch = dict(step.batch)
        if "weights" not in takes:
            batch["weights"] = np.ones_like(batch["weights"])
        if "done" in takes:
            ended = batch["discount"] == 0
            batch["discount"] = np.where(ended, 0, np.float32(config.gamma)).astype(np.float32)
        td, after = reference.train(batch, Clock(updates=step.updates))
        told = limit, reference.rounded
        for what, at, difference, most in _compared(step, td, after, reading, *told):
            yield f"{what} differ by {difference:.1e}{at} (step {number})", difference, most


def _compared(step, td, after, reading, limit, rounded):
    """Yields (words, place, difference, limit) of all that a step has."""
    if step.td is not None:
        difference, (row,) = _largest(abs(td), abs(step.td))
        yield "TD errors", f" in row {row}", difference, LIMIT
    for each in _COMPARED:
        for ours, layers in step.before.items():
            network = reading.networks[ours]
            name = network.online if each == "online" else network.target
            for k, layer in enumerate(layers):
                numbers = layer[each], after[ours][k][each], step.after[ours][k][each]
                words = f"changes of {name}, layer {k + 1},"
                for part, old, wanted, found in zip(("weight", "bias"), *numbers, strict=True):
                    changes = wanted - old, found - old
                    if rounded:
                        yield words, f", {part}", _in_root(*changes), _ROUNDED_LIMIT
                    else:
                        unsure = _ULP * np.maximum(abs(old), abs(found))
                        difference, place = _largest(*changes, unsure)
                        at = ", ".join(map(str, place))
                        yield words, f" at {part} [{at}]", difference, limit


def _largest(wanted, found, unsure=0.0):
    """``(difference, index)`` of the largest difference beyond what is ``unsure``, as a share of
    the largest number, however small that is."""
    with np.errstate(invalid="ignore"):  # of numbers that are not finite, NaN is the difference
        differences = np.maximum(abs(wanted - found) - unsure, 0.0)
        largest = max(abs(wanted).max(), abs(found).max())
        place = np.unravel_index(np.argmax(differences), differences.shape)
        return differences[place] and differences[place] / largest, place


def _in_root(wanted, found):
    """The root of the sum of squared differences, as a share of that of the numbers."""
    with np.errstate(invalid="ignore"):
        difference = np.linalg.norm(wanted - found)
        return difference and difference / max(np.linalg.norm(wanted), np.linalg.norm(found))

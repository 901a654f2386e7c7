"""A user's trainer as an Algorithm: a class in a file, ``FILE.py:CLASS``, whose own code learns.

The contract of the class is in ``host.trainers.contract``:

- It is made with ``(observation, action)`` and further arguments, which
  ``--set trainer.NAME=VALUE`` sets. Its networks and optimizers are its attributes, or in lists,
  dicts or objects that are. All attributes are saved, restored, moved to the run's device and sent
  to actors; one that cannot be is refused by its name (``host.trainers.attribute_tree``).
- What its methods draw from ``torch``, ``random`` and ``np.random`` follows the run's seed.
- ``get_action(obs)`` returns the greedy actions, integers from 0 or numbers in [-1, 1], for a
  float32 tensor [rows, observation]. If it does not return one for each row, it is called with
  one row [observation] after the other. The run adds its exploration.
- ``update_policy`` does a gradient step. Its arguments are tensors: ``obs`` and ``next_obs``
  [batch, observation]; ``action``, int64 [batch], or [batch, components] if it is continuous;
  ``reward``, ``weights`` (importance weights), and ``done`` (1 if the episode terminated, else 0)
  or ``discount`` (gamma^k, or 0 if the episode terminated), [batch]. All but ``action`` are
  float32. ``done`` is for a trainer with a gamma of its own, and needs n_step 1.
- It may return the batch's TD errors, [batch], from which priorities follow. If it returns None,
  every experience that was drawn has the same priority.
"""

import random
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass

import numpy as np
from gymnasium.spaces import Box, Discrete

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import ReplayConfig
from host.algorithms.ddpg import DDPGConfig
from host.algorithms.dqn import DQNConfig
from host.algorithms.exploration import EpsilonConfig, Noise, NoiseConfig, epsilon_greedy
from host.algorithms.policy import Policy
from host.modules import import_file
from host.trainers.attribute_tree import Walk
from host.trainers.contract import Experiences, calling, contract_of
from host.trainers.module_state import (
    ModuleState,
    gradients_of,
    load_gradients,
    load_optimizer,
    numbers_of,
    optimizer_state,
)
from host.trainers.restoration import load_numbers, restore, taking
from host.trainers.value_kinds import same
from hw.errors import UsageError

__all__ = ["TrainerConfig", "TrainerPolicy", "TrainerUpdater", "algorithm_of"]
__all__ += ["seeded", "trainer_algorithm"]

#: Entry of a snapshot with the attributes that are no modules; no module's name.
ATTRIBUTES = "(attributes)"


@dataclass(frozen=True, kw_only=True)
class TrainerConfig(EpsilonConfig, NoiseConfig, ReplayConfig):
    """Hyperparameters of a run with a trainer. All others are the trainer's own. A trainer has a
    subclass with a field ``trainer``, the config of its further arguments, and ``CONTRACT``."""

    CONTRACT = None

    n_step: int = 1

    def __post_init__(self):
        super().__post_init__()
        if self.gamma == 0:  # a discount of 0 says that the episode terminated
            raise UsageError(f"gamma must be above 0 for a trainer, not {self.gamma!r}")
        if self.CONTRACT and "done" in self.CONTRACT.takes:
            self.check_done()

    def check_done(self):
        """UsageError if ``done`` cannot be given: the trainer's gamma is that of one step."""
        if self.n_step != 1:
            raise UsageError(
                f"n_step must be 1 for a trainer that takes done, not {self.n_step!r} (discount is "
                "gamma^k)"
            )

    def made(self, spec):
        """The trainer for a Spec."""
        options = {each.name: getattr(self.trainer, each.name) for each in fields(self.trainer)}
        with calling("__init__", self.CONTRACT.kind):
            return self.CONTRACT.kind(spec.size, spec.action_count, **options)


class TrainerPolicy(Policy):
    """Acts by the trainer's ``get_action``, and explores as the run says: epsilon-greedy if actions
    are discrete, else by noise.

    Attributes
    ----------
    trainer : the user's object
    device : str
        torch's name of the device of its networks.
    """

    STEADY = False

    def __init__(self, config, spec, **seeds):
        self.trainer, self.device = None, "cpu"
        super().__init__(config, spec, **seeds)
        self._noise = Noise(config)
        # From the seed of exploration, whose own draws stay as they are.
        self._draws = np.random.default_rng(_words(self.rng.bit_generator.state))

    def make_networks(self, rng):
        with seeded(rng):
            self.trainer = self.config.made(self.spec)
        self._first = Walk(self.trainer, numbers=False)
        return {name: ModuleState(module) for name, module in self._first.modules.items()}

    def walk(self, *, numbers=True):
        """The Walk over the trainer's attributes as they are now. UsageError, with the attribute,
        if one cannot be saved."""
        found = Walk(self.trainer, self._first, numbers=numbers)
        for name, module in found.modules.items():
            self.networks[name].module = module
        return found

    def move(self, device):
        """Moves the trainer's modules and tensors to torch's ``device``, on which the policy acts
        then."""
        found = self._first
        if device != "cpu" and found.shared:
            one, other = min(found.shared)
            raise UsageError(f"{other} must not share memory with {one} on {device!r} (clone it)")
        for path, value in found.tensors.items():
            try:
                value.data = value.data.to(device)
            except RuntimeError as error:
                raise UsageError(
                    f"device must be cpu for a trainer with the tensor {path}, which cannot be "
                    f"moved in place, not {device!r}"
                ) from error
        for kind, module in found.fixed.values():
            if kind == "module":
                module.to(device)
        for optimizer in found.optimizers.values():
            if optimizer.state:  # such as the sums of Adagrad
                optimizer.load_state_dict(optimizer.state_dict())
        self.device = device

    @property
    def parameters(self):
        self.walk(numbers=False)
        return super().parameters

    @property
    def snapshot(self):
        """The vectors of the modules, and all other attributes as the entry ``ATTRIBUTES``."""
        tree = self.walk().tree
        return super().parameters | {ATTRIBUTES: tree}

    def load_snapshot(self, snapshot):
        """As ``snapshot``. One of before, without ATTRIBUTES, is refused if the trainer has more
        than modules and plain values."""
        parameters = dict(snapshot)
        tree = parameters.pop(ATTRIBUTES, None)
        self.load_parameters(parameters)
        if tree is not None:
            restore(self.trainer, tree, self.device, self._first)
        elif lossy := self._first.lossy:
            raise UsageError(f"{lossy[0]} must be in a file of this trainer, not left out")

    def check_copy(self, copy, obs):
        copy.move(self.device)
        before = self.snapshot
        mine, its = (each.predict_by(obs, np.random.default_rng(0)) for each in (self, copy))
        if not same(before, self.snapshot):
            self.load_snapshot(before)
        self.check_equal(mine, its)

    def exploration_at(self, steps):
        at = self.config.epsilon_at if self.spec.discrete else self.config.noise_at
        return at(steps)

    def predict(self, obs):
        """The greedy actions [rows] or [rows, components] for obs [rows, size]."""
        return self.predict_by(obs, self._draws)

    def predict_by(self, obs, rng):
        """As ``predict``; what get_action draws follows from ``rng``."""
        rows, count = torch.as_tensor(self.flat(obs), device=self.device), len(obs)
        shape = (count,) if self.spec.discrete else (count, self.spec.action_count)
        by = seeded(rng, self.device)
        with by, torch.no_grad(), calling("get_action", type(self.trainer)):
            given = self._called(rows)
        if given.size != np.prod(shape):
            raise UsageError(
                f"get_action must give {list(shape)} numbers for {count} observations, not "
                f"{list(given.shape)}"
            )
        given = given.reshape(shape)
        actions = given.astype(np.int64 if self.spec.discrete else np.float32)
        last = self.spec.action_count - 1
        if self.spec.discrete:
            rule, right = (
                f"integers in 0..{last}",
                (actions == given) & (0 <= given) & (given <= last),
            )
        else:
            rule, right = "numbers in [-1, 1]", abs(given) <= 1
        if not right.all():
            raise UsageError(f"get_action must give {rule}, not {given[~right][0]}")
        return actions

    def _called(self, rows):
        given = _array(self.trainer.get_action(rows))
        if given.shape[:1] != (len(rows),):
            given = np.array([_array(self.trainer.get_action(row)) for row in rows])
        return given

    def choose(self, actions, *, greedy=False, steps=0):
        """``actions`` are the greedy ones, as ``predict`` returns them."""
        if greedy:
            return actions
        if self.spec.discrete:
            return epsilon_greedy(actions, self.exploration_at(steps), self.spec, self.rng)
        return self._noise.added(actions, steps, self.rng)

    def ended(self, which):
        self._noise.ended(which)

    def _take(self, parameters):
        for name, network in self.networks.items():
            network.load(parameters[name])

    def state_dict(self):
        state = super().state_dict() | self._noise.state_dict()
        state["parameters"][ATTRIBUTES] = self.walk().tree
        return state | {"draws": self._draws.bit_generator.state}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self._noise.load_state_dict(state)
        if "draws" in state:  # not in a checkpoint of before
            self._draws.bit_generator.state = state["draws"]


def _words(state):
    """Integers of a bit generator's state, as a seed."""
    return np.frombuffer(repr(state).encode(), np.uint8)


def _array(result):
    return result.cpu().numpy() if torch.is_tensor(result) else np.asarray(result)


class TrainerUpdater(Updater):
    """The gradient steps of a trainer: ``update_policy``.

    takes : frozenset, what of an experience the trainer took in its last step.

    UsageError if the trainer's tensors cannot be moved to ``device``.
    """

    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        self.trainer, self._contract = policy.trainer, policy.config.CONTRACT
        self.takes, self._checked = self._contract.takes, False
        if self.device != "cpu":
            policy.move(self.device)

    def trained(self, network):
        return network

    def update(self, batch, clock):
        errors = self.step(batch, clock)
        if errors is None:
            errors = np.ones(len(batch["reward"]), np.float32)
        return errors, {}

    def step(self, batch, clock):
        """As ``update``, but returns the TD errors alone, or None if the trainer returns none."""
        tensors = self.tensors(batch)
        tensors["done"] = (tensors["discount"] == 0).float()
        if self.spec.discrete:
            tensors["action"] = tensors["action"][:, 0]
        with seeded(self.rng, self.device), calling("update_policy", type(self.trainer)):
            errors = self._called(tensors)
        if not self._checked:  # what it has set in its first step can be saved, too
            self.policy.walk(numbers=False)
            self._checked = True
        if errors is None:
            return None
        count = len(tensors["reward"])
        if not torch.is_tensor(errors) or errors.numel() != count:
            shape = list(errors.shape) if torch.is_tensor(errors) else errors
            raise UsageError(
                f"update_policy must return a tensor of {count} TD errors or None, not {shape!r}"
            )
        return self.check_finite("td_errors", errors.reshape(count).float(), clock)

    def _called(self, tensors):
        arguments = self._contract.arguments
        if arguments is None:
            experiences = Experiences(tensors, {"done"} if self.config.n_step != 1 else ())
            errors = self.trainer.update_policy(experiences)
            self.takes = frozenset(experiences.asked)
            if "done" in self.takes:
                self.config.check_done()
            return errors
        named = {name: tensors[what] for name, what in arguments.items()}
        return self.trainer.update_policy(**named)

    def state_dict(self):
        """Networks, optimizers, gradients and numbers; other attributes are in the policy's."""
        found = self.policy.walk(numbers=False)
        optimizers = found.optimizers.items()
        return super().state_dict() | {
            "optimizers": {name: optimizer_state(each) for name, each in optimizers},
            "numbers": numbers_of(self.trainer),
            "gradients": gradients_of(found),
        }

    def load_state_dict(self, state):
        """Continues a saved state. Before it the policy must have been loaded."""
        with taking():
            super().load_state_dict(state)
            found = self.policy.walk(numbers=False)
            for name, each in found.optimizers.items():
                load_optimizer(each, state["optimizers"][name])
            load_numbers(self.trainer, state["numbers"])
            load_gradients(found, state.get("gradients", {}))


def trainer_algorithm(name):
    """The Algorithm of the trainer called ``name``, ``FILE.py:CLASS``, whose file is imported.
    UsageError if there is none; MissingTool without torch."""
    path, _, attribute = name.rpartition(":")
    torch.nn  # noqa: B018, before the file asks for it
    kind = getattr(import_file(path, "ALGO", name), attribute, None)
    if not isinstance(kind, type):
        raise UsageError(f"ALGO must name a class of {path}, not {name!r}")
    return algorithm_of(name, kind)


def algorithm_of(name, kind):
    """The Algorithm called ``name``, ``FILE.py:CLASS``, of a trainer's class ``kind``. UsageError
    if it is no trainer."""
    path, _, attribute = name.rpartition(":")
    contract = contract_of(kind, f"{attribute} ({path})")
    own = [("trainer", contract.options, contract.options())]
    config = make_dataclass(
        "TrainerConfig",
        own,
        bases=(TrainerConfig,),
        namespace={"CONTRACT": contract, "__doc__": TrainerConfig.__doc__},
        frozen=True,
        kw_only=True,
    )
    ours = {each.name for kind in (DQNConfig, DDPGConfig) for each in fields(kind)}
    known = {each.name for each in (*fields(config), *fields(contract.options))}
    return Algorithm(
        name=name,
        summary=f"the trainer {attribute} of {path}",
        config=config,
        policy=TrainerPolicy,
        updater=TrainerUpdater,
        actions=(Discrete, Box),
        columns={},
        left=frozenset(ours - known),
    )


@contextmanager
def seeded(rng, device="cpu"):
    """A context manager, in which draws of ``torch``, on the CPU and on ``device``, of ``random``
    and of ``np.random`` follow from the NumPy generator ``rng``, which draws one integer. At the
    end these generators are as they were before, so that draws elsewhere are the same."""
    device, seed = torch.device(device), int(rng.integers(1 << 63))
    elsewhere = [] if device.type == "cpu" else [device]
    own, numpys = random.getstate(), np.random.get_state(legacy=False)
    try:
        with torch.random.fork_rng(elsewhere, device_type=device.type):
            torch.default_generator.manual_seed(seed)
            if elsewhere:
                getattr(torch, device.type).manual_seed(seed)
            random.seed(seed)
            # Another key than that of ``random``, whose numbers would be the same.
            np.random.seed([seed & 0xFFFFFFFF, seed >> 32, 1])
            yield
    finally:
        random.setstate(own)
        np.random.set_state(numpys)

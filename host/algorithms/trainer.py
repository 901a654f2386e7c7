"""A user's trainer as an Algorithm: a class in a file, ``FILE.py:CLASS``, whose own code learns.

The contract of the class is that of ``host.algorithms.contract``:

- It is made with ``(observation, action)`` and further arguments, which
  ``--set trainer.NAME=VALUE`` sets. Its networks, ``torch.nn.Module``, and its optimizers are its
  attributes. The first weights follow the run's seed.
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

from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass

import numpy as np
from gymnasium.spaces import Box, Discrete

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import ReplayConfig
from host.algorithms.contract import Experiences, calling, contract_of
from host.algorithms.ddpg import DDPGConfig
from host.algorithms.dqn import DQNConfig
from host.algorithms.exploration import EpsilonConfig, Noise, NoiseConfig, epsilon_greedy
from host.algorithms.policy import Policy
from host.algorithms.trainer_state import (
    ModuleState,
    load_optimizer,
    modules_of,
    numbers_of,
    optimizer_state,
    optimizers_of,
)
from host.modules import import_file
from hw.errors import UsageError

__all__ = ["TrainerConfig", "TrainerPolicy", "TrainerUpdater", "algorithm_of"]
__all__ += ["trainer_algorithm"]


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

    def __init__(self, config, spec, **seeds):
        self.trainer, self.device = None, "cpu"
        super().__init__(config, spec, **seeds)
        self._noise = Noise(config)

    def make_networks(self, rng):
        with _seeded(rng):
            self.trainer = self.config.made(self.spec)
        return {name: ModuleState(module) for name, module in modules_of(self.trainer).items()}

    def move(self, device):
        """Moves the trainer's modules to torch's ``device``, on which the policy acts then."""
        for module in modules_of(self.trainer).values():
            module.to(device)
        self.device = device

    def exploration_at(self, steps):
        at = self.config.epsilon_at if self.spec.discrete else self.config.noise_at
        return at(steps)

    def predict(self, obs):
        """The greedy actions [rows] or [rows, components] for obs [rows, size]."""
        rows, count = torch.as_tensor(self.flat(obs), device=self.device), len(obs)
        shape = (count,) if self.spec.discrete else (count, self.spec.action_count)
        with torch.no_grad(), calling("get_action", type(self.trainer)):
            given = _array(self.trainer.get_action(rows))
            if given.shape[:1] != (count,):
                given = np.array([_array(self.trainer.get_action(row)) for row in rows])
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
        return super().state_dict() | self._noise.state_dict()

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self._noise.load_state_dict(state)


@contextmanager
def _seeded(rng, device="cpu"):
    """What torch draws in here, on the CPU and on ``device``, follows from the NumPy generator
    ``rng`` alone; what it draws elsewhere does not follow from this."""
    device, seed = torch.device(device), int(rng.integers(1 << 63))
    elsewhere = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(elsewhere, device_type=device.type):
        torch.default_generator.manual_seed(seed)
        if elsewhere:
            getattr(torch, device.type).manual_seed(seed)
        yield


def _array(result):
    return result.cpu().numpy() if torch.is_tensor(result) else np.asarray(result)


class TrainerUpdater(Updater):
    """The gradient steps of a trainer: ``update_policy``.

    takes : frozenset, what of an experience the trainer took in its last step.

    UsageError if ``device`` is not cpu, and the trainer has a tensor that is in none of its
    modules, which therefore cannot be moved.
    """

    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        self.trainer, self._contract = policy.trainer, policy.config.CONTRACT
        self.takes = self._contract.takes
        if self.device != "cpu":
            self._move()

    def trained(self, network):
        return network

    def _move(self):
        for name, value in vars(self.trainer).items():
            if torch.is_tensor(value):
                raise UsageError(
                    f"device must be cpu for a trainer with the tensor {name}, which is in no "
                    f"module, not {self.device!r}"
                )
        self.policy.move(self.device)

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
        with _seeded(self.rng, self.device), calling("update_policy", type(self.trainer)):
            errors = self._called(tensors)
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
            experiences = Experiences(tensors)
            errors = self.trainer.update_policy(experiences)
            self.takes = frozenset(experiences.asked)
            if "done" in self.takes:
                self.config.check_done()
            return errors
        named = {name: tensors[what] for name, what in arguments.items()}
        return self.trainer.update_policy(**named)

    def state_dict(self):
        """Networks, optimizers and numbers that are attributes of the trainer."""
        optimizers = optimizers_of(self.trainer)
        return super().state_dict() | {
            "optimizers": {name: optimizer_state(each) for name, each in optimizers.items()},
            "numbers": numbers_of(self.trainer),
        }

    def load_state_dict(self, state):
        super().load_state_dict(state)
        for name, each in optimizers_of(self.trainer).items():
            load_optimizer(each, state["optimizers"][name])
        vars(self.trainer).update(state["numbers"])


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

"""The base class of policies, NumPy networks that act on observations; and a policy that acts by
outputs which were computed elsewhere."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw.errors import UsageError

__all__ = ["InferredPolicy", "Policy"]


class Policy:
    """The base class of policies, which choose actions for observations by NumPy networks. A policy
    knows neither how it is trained, nor the environment, nor the time.

    A subclass has ``make_networks(rng)``, which returns a dict, name -> network, in the order of a
    learner on the card; and ``choose``, or an ``act`` of its own. ``ACTS`` is the name of the
    network that acts, whose outputs ``predict`` returns.

    Parameters
    ----------
    config : AgentConfig
    spec : Spec
        Observations and actions of the environment.
    weights, exploration : int, numpy.random.SeedSequence or numpy.random.Generator
        Seeds of the first weights, and of the random numbers of ``act``.

    Attributes
    ----------
    networks : dict
        Name -> network, all networks of this agent that learn. ``parameters`` of each network is
        one vector, which training changes in place.
    """

    ACTS = None
    #: Whether only gradient steps change the snapshot; acting may too, if it is the user's code.
    STEADY = True
    #: Gradient steps from one change of the weights to the next.
    weights_steps = 1
    #: Whether the policy has ``td_errors``.
    TD_ERRORS = False

    def __init__(self, config, spec, *, weights=0, exploration=0):
        self.config, self.spec = config, spec
        self.rng, self._dtype = np.random.default_rng(exploration), np.dtype(spec.dtype)
        self.networks = self.make_networks(np.random.default_rng(weights))

    def refreshed_every(self, steps: int) -> None:
        """A learner on the card keeps newer weights there: they come every ``steps`` gradient
        steps."""
        self.weights_steps = steps

    def make_networks(self, rng):
        """name -> network, its weights drawn from ``rng``."""
        raise NotImplementedError

    def act(self, obs, *, greedy=False, steps=0):
        """Chooses actions for obs [rows, ...]: integers [rows] counted from 0, or numbers [rows,
        components] in [-1, 1].

        greedy : True: the best known actions. False: with exploration
        steps : environment steps so far, on which the amount of exploration may depend
        """
        return self.choose(self.predict(obs), greedy=greedy, steps=steps)

    def choose(self, outputs, *, greedy=False, steps=0):
        """Chooses actions as ``act`` does, from ``outputs`` [rows, ...] of the network that
        acts."""
        raise NotImplementedError

    def exploration_at(self, steps):
        """How much ``act`` explores after ``steps`` environment steps: the chance of a random
        action, or the deviation of the noise. None if the policy has no such number."""

    def ended(self, which):
        """Must be called after episodes have ended: those of the rows where ``which``, bool [rows],
        is True. Noise that is correlated over time starts anew there."""

    def predict(self, obs):
        """The outputs of the network that acts for obs [rows, ...]."""
        return self.networks[self.ACTS].forward(self.flat(obs))

    def td_errors(self, records):
        """TD errors of new experiences by the networks of this policy, without target networks
        (CF'22 2.1.1): float32 [rows] for ``records`` [rows] of the fields of ``spec``. Only with
        ``TD_ERRORS``."""
        raise NotImplementedError

    def flat(self, obs):
        """``obs`` [rows, ...] as an array [rows, size] in the dtype of ``spec``; ValueError unless
        each row has the shape of ``spec``."""
        obs = np.asarray(obs, self._dtype)
        if not obs.ndim or obs.shape[1:] != self.spec.shape:
            wanted = ", ".join(["rows", *map(str, self.spec.shape)])
            raise UsageError(f"obs must be [{wanted}], not {list(obs.shape)}")
        return obs.reshape(len(obs), self.spec.size)

    def described(self):
        """The greedy action as layers: ``host.algorithms.layers.Described``. UsageError for a
        policy that has no such description, because its code is a user's."""
        raise UsageError(
            f"RUN must have a policy of rlfabric's own algorithms, not {type(self).__name__}: an "
            "export needs its layers (Policy.described)"
        )

    @property
    def parameters(self):
        """name -> array; ``load_parameters`` makes the same policy of these."""
        return {name: network.parameters for name, network in self.networks.items()}

    @property
    def snapshot(self):
        """What another policy of this agent needs to act as this one: the parameters; of a user's
        trainer more. ``load_snapshot`` takes it."""
        return self.parameters

    def load_snapshot(self, snapshot):
        self.load_parameters(snapshot)

    def check_copy(self, copy, obs):
        """UsageError unless ``copy``, a policy read from this one's file, acts greedily for obs
        [rows, ...] as this one, to the byte. Later actions are the same as without this call."""
        mine, its = (each.act(obs, greedy=True) for each in (self, copy))
        self.check_equal(mine, its)

    @staticmethod
    def check_equal(mine, its):
        """UsageError unless the actions ``its`` of a copy equal ``mine``, to the byte."""
        for row, (one, other) in enumerate(zip(mine, its, strict=True)):
            if one.tobytes() != other.tobytes():
                raise UsageError(
                    f"a policy must act from its file as it was judged, not with action {other} "
                    f"instead of {one} (observation {row}): not all of its state is in the file"
                )

    def load_parameters(self, parameters):
        own = self.parameters
        known = {name: list(mine.shape) for name, mine in own.items()}
        for name, array in parameters.items():
            if name not in own or own[name].shape != array.shape:
                raise UsageError(f"parameters must be {known}, not {name} {list(array.shape)}")
        for name in own.keys() - parameters.keys():
            raise UsageError(f"parameters must be {known}, not without {name}")
        self._take(parameters)

    def _take(self, parameters):
        for name, network in self.networks.items():
            network.parameters[...] = parameters[name]

    def state_dict(self):
        """Everything on which the next action depends."""
        return {
            "parameters": {name: array.copy() for name, array in self.parameters.items()},
            "rng": self.rng.bit_generator.state,
        }

    def load_state_dict(self, state):
        self.load_snapshot(state["parameters"])
        self.rng.bit_generator.state = state["rng"]


class InferredPolicy:
    """Acts as ``policy``, but by outputs that are computed elsewhere: on a card, or in an
    arithmetic that is not the policy's own. It has ``act``, ``choose`` and ``ended`` of a Policy.

    Parameters
    ----------
    policy : Policy
        Chooses actions from the outputs, with its own random numbers.
    infer : callable
        ``infer(obs)`` returns the outputs [rows, ...] of the network that acts for obs [rows,
        size].
    """

    def __init__(self, policy: Policy, infer: Callable[..., NDArray[np.float32]]) -> None:
        self.policy, self.infer, self.spec = policy, infer, policy.spec

    def act(self, obs: ArrayLike, *, greedy: bool = False, steps: int = 0) -> NDArray[np.generic]:
        """As ``Policy.act``."""
        return self.choose(self.infer(self.policy.flat(obs)), greedy=greedy, steps=steps)

    def choose(
        self, outputs: NDArray[np.float32], *, greedy: bool = False, steps: int = 0
    ) -> NDArray[np.generic]:
        """As ``Policy.choose``."""
        return self.policy.choose(outputs, greedy=greedy, steps=steps)

    def ended(self, which: NDArray[np.bool_]) -> None:
        """As ``Policy.ended``."""
        self.policy.ended(which)

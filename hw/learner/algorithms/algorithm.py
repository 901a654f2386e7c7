"""What an algorithm says to the learner: its networks, how samples go through them, and its loss.

A sample passes the networks from one to the next: each but the last is joined to the one behind it,
whose outputs are the loss's.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

from hw.errors import UsageError
from hw.nn.td_loss import TdLoss

__all__ = ["Algorithm", "Feed", "Join", "Network", "in_order"]

#: Networks at most: HYPERPARAMETERS have a pair of each rate.
_NETWORKS = 2


class Feed(NamedTuple):
    """The words of the field ``name`` of an experience become inputs of a network, from input
    ``first`` on, in these forward ``groups``."""

    name: str
    groups: tuple
    first: int


class Join(NamedTuple):
    """The outputs of the network ``source`` become inputs of another, from input ``first`` on.

    groups : the forward groups that take them, one for each group of the source.
    errors : the groups whose errors go back, one for each backward group of the source.
    """

    source: str
    groups: tuple
    first: int
    errors: tuple


class Network(NamedTuple):
    """A network of an algorithm.

    inputs, outputs, activation : sizes, and the activation of the output layer.
    weight_sources : the weights, "online" or "target", of each forward group: first the groups with
        a backward pass.
    backward_groups : how many groups, counted from the first, have a backward pass; the first of
        them gives gradients.
    feeds : Feed of each field that it reads.
    join : Join, or None.
    """

    inputs: int
    outputs: int
    activation: str
    weight_sources: tuple
    backward_groups: int
    feeds: tuple
    join: Join | None = None


class Algorithm(ABC):
    """One algorithm: all that tells it from another.

    Attributes
    ----------
    name, summary : str
    discrete : bool
        An action is one of ``action`` numbers, else ``action`` numbers in -1..1.
    acts : str
        The network whose outputs decide what the agent does.
    sizes : dict
        Observation and action of the task that its design is made for.
    options : tuple of str
        Fields of the LearnerConfig that are this algorithm's alone.
    loss : type
        The pipeline of the loss: a component with the ports, the latencies and the ``estimate`` of
        ``TdLoss``.
    numbers : tuple of str
        The activations that are kept of a sample's outputs until it is in the pipeline.
    """

    options = ()
    loss = TdLoss

    @abstractmethod
    def networks(self, config):
        """``{name: Network}`` of a LearnerConfig, in the order of the parameter image."""

    @abstractmethod
    def collect(self, m, kept, outputs, index, action, *, arithmetic):
        """Keeps what the loss takes of a sample's outputs, in a clock in which some come.

        kept : View with ``numbers``, registers
        outputs : output ``index`` of the last layer, an activation for each forward group
        action : of the experience, 32 bits
        """

    @abstractmethod
    def loss_numbers(self, sample):
        """``(q, bootstrap, value)`` of ``TdLoss``, from ``numbers``."""

    @abstractmethod
    def errors(self, gradient, own, *, arithmetic):
        """Errors of an output for each backward group; ``own``: it is the action's output."""

    def check(self, config):  # noqa: B027 -- most have none
        """ValueError if this algorithm has a rule that a LearnerConfig breaks."""

    def checked_networks(self, config):
        """``networks``, if the learner can have them: a chain of one or two."""
        networks = self.networks(config)
        sources = [each.join.source for each in networks.values() if each.join]
        if len(networks) > _NETWORKS or len({*sources} & {*networks}) != len(networks) - 1:
            raise UsageError(
                f"networks must be a chain of 1 to {_NETWORKS}, not {', '.join(networks)} of "
                f"{self.name} with joins from {', '.join(sources) or 'none'}"
            )
        acts = networks.get(self.acts)
        if acts is None or acts.join or acts.outputs != config.action:
            raise UsageError(
                "acts must be a network that reads observations and gives as many numbers as "
                f"there are actions, not {self.acts!r} of {self.name}"
            )
        return networks


def in_order(networks):
    """Names of ``{name: Network}`` as samples go: each behind the one whose outputs it takes."""
    names = []
    while len(names) < len(networks):
        names += [
            name
            for name, network in networks.items()
            if name not in names and (network.join is None or network.join.source in names)
        ]
    return names

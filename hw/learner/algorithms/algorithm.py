"""What an algorithm says to the learner: its networks, how samples go through them, and its loss.

A sample passes the networks from one to the next: each but the first takes outputs of the network
before it as inputs (its ``join``), and the loss takes the outputs of the last.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

from hw.errors import UsageError
from hw.nn.td_loss import TdLoss

__all__ = ["Algorithm", "Feed", "Join", "Network", "in_order"]

#: Networks at most: HYPERPARAMETERS have a pair of each rate.
_NETWORKS = 2


class Feed(NamedTuple):
    """Where a field of an experience goes in a network: the numbers of the field ``name`` become
    the inputs from input ``first`` on. DDPG's critic takes the action that is stored in the
    experience by a Feed, and the actor's outputs by a Join.

    groups : numbers of the forward groups that take these inputs.
    """

    name: str
    groups: tuple
    first: int


class Join(NamedTuple):
    """How a network takes the outputs of another network, whose name is ``source``, as inputs, from
    input ``first`` on. Its other inputs are fields of the experience, by a Feed.

    groups : numbers of the forward groups of this network that take them: group ``groups[k]`` takes
        the outputs of the source's group k.
    errors : numbers of the backward groups of this network whose input errors go back: group
        ``errors[k]`` to the source's backward group k.
    """

    source: str
    groups: tuple
    first: int
    errors: tuple


class Network(NamedTuple):
    """A network of an algorithm. A group is a forward pass of a sample with inputs of its own; all
    groups of a network run side by side.

    inputs, outputs, activation : sizes, and the activation of the output layer.
    weight_sources : for each group, the weights that it uses: "online" or "target". Groups with a
        backward pass come first.
    backward_groups : how many groups, counted from the first, have a backward pass; only the first
        gives weight gradients.
    feeds : a tuple with a Feed for each field of an experience that the network reads.
    join : a Join, if the network also takes the outputs of another network; else None.
    """

    inputs: int
    outputs: int
    activation: str
    weight_sources: tuple
    backward_groups: int
    feeds: tuple
    join: Join | None = None


class Algorithm(ABC):
    """A learning algorithm: its networks, and how its loss is made from the outputs of the last
    network. A subclass gives attributes and methods, and has a single object.

    Attributes
    ----------
    name, summary : str
        The name of the algorithm and of its design; one line about it.
    discrete : bool
        Whether an action is a choice, an integer in 0..action - 1. If not, an action is ``action``
        numbers in -1..1.
    acts : str
        Name of the network whose outputs decide what the agent does.
    sizes : dict
        Fields ``observation`` and ``action`` of the design's default config.
    options : tuple of str
        Fields of the LearnerConfig that no other algorithm uses.
    loss : type
        The pipeline of the loss: a component with the ports, the latencies and the ``estimate`` of
        ``TdLoss``. In fixed point its TD errors must be finite for rewards and discounts below
        2**100.
    numbers : tuple of str
        Names of the activations that are kept of a sample's outputs until the sample enters the
        pipeline.
    """

    options = ()
    loss = TdLoss

    @abstractmethod
    def networks(self, config):
        """``{name: Network}`` of a LearnerConfig, in the order of the parameter image."""

    @abstractmethod
    def collect(self, m, kept, outputs, first, own, *, arithmetic):
        """Adds to ``m`` what keeps the numbers of a sample's outputs that the loss takes. It is
        called for each lane, inside the condition that a word of outputs comes.

        kept : View of registers, with the fields ``numbers``
        outputs : for each forward group a list of activations, the outputs of the last layer in
            this word, without padding
        first : 1 if the word is the sample's first, a Value
        own : a list of Values, 1 for the output of the sample's action
        arithmetic : Arithmetic of the activations
        """

    @abstractmethod
    def loss_numbers(self, sample):
        """``(q, bootstrap, value)``, the inputs of ``TdLoss`` with these names, from the kept
        ``numbers`` of ``sample``."""

    @abstractmethod
    def errors(self, gradient, own, *, arithmetic):
        """A list with the error of one output for each backward group. ``gradient`` is the
        sample's, from the pipeline; ``own`` is 1 if the output belongs to the sample's action."""

    def check(self, config):  # noqa: B027 -- most have none
        """Raises UsageError, which is a ValueError, if ``config``, a LearnerConfig, breaks a rule
        of this algorithm."""

    def checked_networks(self, config):
        """``networks(config)``. UsageError unless they are a single network without a Join, or two
        networks, one with a Join from the other; and unless the network ``acts`` has no Join, so
        that it only reads experiences, and has ``config.action`` outputs."""
        networks = self.networks(config)
        sources = [each.join.source for each in networks.values() if each.join]
        own = any(each.join and each.join.source == name for name, each in networks.items())
        links = len({*sources} & {*networks})
        if own or len(networks) > _NETWORKS or links != len(networks) - 1:
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
    """The names in the dict ``networks``, ``{name: Network}``, in a sample's order: each network
    comes after the one whose outputs it takes."""
    names = []
    while len(names) < len(networks):
        names += [
            name
            for name, network in networks.items()
            if name not in names and (network.join is None or network.join.source in names)
        ]
    return names

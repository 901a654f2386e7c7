"""Base classes of learning algorithms: a plan of passes, and a loss rule for each sweep."""

from abc import ABC, abstractmethod
from types import MappingProxyType

from hw.errors import UsageError
from hw.learner.algorithms.plan import Plan
from hw.learner.records import HYPERPARAMETERS, STEP, record_words
from hw.nn.td_loss import TdLoss

__all__ = ["Algorithm", "LossRule"]


class LossRule(ABC):
    """Connects a sweep's loss pipeline to the networks of ``Plan.ends``: selects the outputs that
    the loss reads, and maps its gradients to errors of the outputs. Subclasses define the
    attributes and methods.

    Attributes
    ----------
    pipeline : type
        The pipeline of the loss: a component with the ports, the latencies and the ``estimate`` of
        ``TdLoss``, that takes a sample a clock. Its ``i`` has the fields "valid", "weight",
        "reward" and "discount", and a field for each key of ``inputs``. In the first sweep its TD
        errors leave the learner; in fixed point they must be finite for rewards and discounts below
        2**100.
    numbers : dict
        ``{network: names}`` of the activations that are kept of a sample's outputs until the sample
        enters the pipeline. No two names are equal.
    shifts : dict
        Empty, or ``{network: k}`` of each network that the sweep trains, and then the pipeline has
        a port ``shift``, an integer for each of its gradients. Gradient number k of the pipeline
        trains the network. Its shift is the STEP's for the first network with this k.
    """

    pipeline = TdLoss
    shifts = MappingProxyType({})

    @abstractmethod
    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        """Adds to ``m`` what keeps the numbers of a sample's outputs that the loss takes of a
        network. It is called for each lane, inside the condition that a word of outputs comes.

        kept : View of registers, with the fields ``numbers[network]``
        outputs : for each pass of the network in this sweep, in the order of ``Plan.paths``, a list
            of activations, the outputs of the last layer in this word, without padding
        first : 1 if the word is the sample's first, a Value
        own : a list of Values, 1 for the output of the sample's action
        arithmetic : Arithmetic of the activations
        """

    @abstractmethod
    def inputs(self, sample):
        """``{name: value}`` of the pipeline's inputs, from the kept numbers of ``sample``."""

    @abstractmethod
    def errors(self, network, gradient, own, *, arithmetic):
        """A list with the error of one output for each pass of a network with errors. ``gradient``
        is the sample's, from the pipeline; ``own`` is 1 if the output belongs to the sample's
        action."""


class Algorithm(ABC):
    """A learning algorithm: its networks, the passes of a sample through them, and its losses. A
    subclass gives attributes and methods, and has a single object.

    Attributes
    ----------
    name, summary : str
        The name of the algorithm and of its design; one line about it.
    discrete : bool
        Whether an action is a choice, an integer in 0..action - 1. If not, an action is ``action``
        numbers in -1..1.
    sizes : dict
        Fields ``observation`` and ``action`` of the design's default config.
    options : tuple of str
        Fields of the LearnerConfig that no other algorithm uses.
    record : Layout
        The record that an iteration reads: HYPERPARAMETERS, or STEP, which begins with the same
        fields, if sweeps may be left out, a pass is smoothed or errors are shifted.
    """

    options = ()
    record = HYPERPARAMETERS

    @abstractmethod
    def plan(self, config):
        """The Plan of a LearnerConfig."""

    def check(self, config):  # noqa: B027 -- most have none
        """Raises UsageError, which is a ValueError, if ``config``, a LearnerConfig, breaks a rule
        of this algorithm."""

    def checked_plan(self, config):
        """``plan(config)`` after ``Plan.check``; UsageError if the learner does not support it."""
        plan: Plan = self.plan(config)
        names = ("obs", "next_obs") if self.discrete else ("obs", "next_obs", "action")
        fields = {name: record_words(config)[name][1] for name in names}
        plan.check(self.name, fields, config.action)
        if (plan.smooths or plan.shifts) and self.record is not STEP:
            what = "smoothed passes" if plan.smooths else "shifted errors"
            raise UsageError(
                f"record must be STEP for {what}, not {self.record.name} of {self.name}"
            )
        return plan

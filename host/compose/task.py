"""What is to be trained: an algorithm in an environment, wherever its parts run."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from host.compose.equations import WORD_BYTES
from host.compose.mapping import Mapped
from host.runs.run_config import RunConfig, spec_of
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["RATIO", "Task", "with_ratio"]

#: Most gradient steps of a launch that every plan can do.
RATIO = 64


@dataclass(frozen=True)
class Task:
    """A training, without the devices on which its parts run.

    config : RunConfig
        The run, as its default learner would do it; plans change only where its parts are.
    uniform : bool
        Whether a replay memory draws every experience with the same probability, so that it needs
        no priorities.
    kernel : dict
        Fields of kernels that are generated, as of ``host.runs.start_run.run``.
    trainer : Mapped or None
        What a card does of the algorithm, if this is a user's trainer.
    """

    config: RunConfig
    uniform: bool
    kernel: dict
    trainer: Mapped | None = None

    @cached_property
    def spec(self):
        """The Spec of the environment, which is made once to find it out."""
        return spec_of(self.config)

    @property
    def family(self):
        """What the algorithm learns from: replay, rollouts or rounds."""
        return self.config.LEARNS_FROM

    @property
    def batch(self):
        """Experiences from which a gradient step learns; with a3c the steps of an agent."""
        return self.config.agent.batch_size

    def steps_of_update(self, updates):
        """Environment steps, of all actors together, for each gradient step, if a launch has
        ``updates`` gradient steps."""
        if self.family == "rounds":  # an agent is trained on its last steps
            return self.config.agent.batch_size
        return self.config.env_count * self.config.steps_per_launch / updates

    @property
    def words(self):
        """Words of four bytes of an experience, without padding."""
        sizes = (dtype.itemsize * prod(shape) for dtype, shape in self.spec.fields.values())
        return -(-sum(sizes) // WORD_BYTES)


def with_ratio(config, ratio):
    """``config``, an OffPolicyConfig, with ``ratio`` environment steps, of all actors together, for
    each gradient step.

    A launch keeps its steps if a whole number of gradient steps, up to 64, fits them; else it has
    one gradient step, and each environment takes ``ratio / env_count`` steps. UsageError if neither
    is possible.
    """
    check_range("ratio", ratio, 1, 1 << 16)
    steps, count = config.env_count * config.steps_per_launch, config.env_count
    if steps % ratio == 0 and steps // ratio <= RATIO:
        return replace(config, updates_per_launch=steps // ratio)
    if ratio % count == 0:
        return replace(config, steps_per_launch=ratio // count, updates_per_launch=1)
    raise UsageError(
        f"ratio must divide the {steps} steps of a launch, or be a multiple of {count} "
        f"(env_count), not {ratio}"
    )

"""What is to be trained: an algorithm in an environment, wherever its parts run; and the run in
which a card trains as a user's trainer does."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from host.agents.registry import find
from host.compose.assignment import WORD_BYTES
from host.proof.kernel_proof import limits, prove
from host.proof.step_recording import Recording
from host.proof.trainer_reading import read
from host.runs.blas_threads import single_threaded
from host.runs.run_config import RunConfig, spec_of
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["Mapped", "RATIO", "Task", "mapped", "with_ratio"]

#: Most gradient steps of a launch that every plan can do.
RATIO = 64


@dataclass(frozen=True)
class Mapped:
    """The part of a user's trainer that a card does.

    name : FILE.py:CLASS.
    config : the RunConfig with learner card; None if no kernel does the trainer's steps.
    refused : why there is none, as a sentence.
    kernel : fields of the kernel, as of Task: binary32, in which the steps were compared, unless
        the kernel has a format of its own.
    proof : the statement that was proved, with the limits of the proof, as a sentence.
    """

    name: str
    config: RunConfig | None = None
    refused: str = ""
    kernel: dict = field(default_factory=dict)
    proof: str = ""

    def card_config(self):
        """``config``; UsageError with ``refused`` if there is none."""
        if self.config is None:
            raise UsageError(self.refused)
        return self.config


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


def mapped(config, spec):
    """The Mapped of a trainer's run with ``config``, in an environment with a Spec. A trainer that
    returns no TD errors draws uniformly on the card: alpha is 0."""
    try:
        with single_threaded(with_torch=True):  # of such small products threads are no help
            reading = read(config.agent.made(spec), spec)
            record = Recording(reading, config.agent, spec)
            design, agent = prove(reading, config.agent, spec, record)[0]
    except UsageError as error:
        return Mapped(config.algo, refused=str(error))
    algorithm, own = find(reading.algorithm), design == reading.algorithm
    fields = {} if own else {**algorithm.designs[design], "design": design}
    if record.steps[0].td is None:
        fields["alpha"] = 0.0
    fields |= {"algo": algorithm.name, "learner": "card", "agent": agent}
    kernel = {"learner.arithmetic.kind": "float32"} if own else {}
    try:
        card = replace(config, **fields)
    except UsageError as error:
        return Mapped(config.algo, refused=str(error))
    return Mapped(config.algo, card, kernel=kernel, proof=limits(record, design))

"""The run in which a card trains as a user's trainer does."""

from dataclasses import dataclass, field, replace

from host.agents.registry import find
from host.proof.kernel_proof import limits, prove
from host.proof.step_recording import Recording
from host.proof.trainer_reading import read
from host.runs.blas_threads import single_threaded
from host.runs.run_config import RunConfig
from hw.errors import UsageError

__all__ = ["Mapped", "mapped"]


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

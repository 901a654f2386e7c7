"""The config of a training run, with the fields that all runs have; it does not name the card."""

from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Annotated

from host.actors.messages import check_shared
from host.agents.registry import ALGORITHMS
from host.algorithms.config import LearningConfig
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.rules import FINITE, POSITIVE, Choice, Flag, Integer, check_choice, check_fields
from host.settings import resolve, values_of
from host.summaries import LEARNERS
from hw.config import ConfigBase
from hw.designs import DESIGNS
from hw.errors import UsageError

__all__ = ["LEARNERS", "RunConfig", "spec_of"]

#: fields that may change when a run is resumed: they decide when it ends, and what it records
_FREE = (
    "steps",
    "until_solved",
    "threshold",
    "evaluation_steps",
    "log_interval_steps",
    "checkpoint_interval_steps",
    "checkpoint_interval_s",
)


_INTERVAL = Integer(1, 1 << 40)


def spec_of(config):
    """The Spec of a run's environment. One environment is made to find it out, and closed again."""
    with closing(make_envs(config.env, 1, config.algorithm)) as envs:
        return Spec.of(envs)


@dataclass(frozen=True, kw_only=True)
class RunConfig(ConfigBase):
    """The base class of configs of training runs, with the fields that all runs have. A subclass is
    for the algorithms whose ``learns_from`` equals the subclass's ``LEARNS_FROM``."""

    LEARNS_FROM = None
    #: The design whose table of fields holds for runs without a card.
    DESIGN = ""

    #: Learning algorithm.
    algo: str
    #: What trains: the CPU, or the card.
    learner: Annotated[str, Choice(tuple(LEARNERS))] = "cpu"
    #: Id of a gymnasium environment, or MODULE:ID; the algorithm must take its actions.
    env: str = "CartPole-v1"
    #: Environment steps of all actors together, rounded up to whole launches.
    steps: Annotated[int, Integer(1, 1 << 40)] = 200_000
    #: Stop once the environment is solved and a second evaluation confirms it.
    until_solved: Annotated[bool, Flag()] = False
    #: Mean return that counts as solved; None: the environment's own.
    threshold: Annotated[float | None, FINITE] = None
    #: Seed of everything random: weights, exploration, environments, draws, evaluation.
    seed: Annotated[int, Integer(0, (1 << 63) - 1)] = 0
    #: Environments that collect, stepped together.
    env_count: Annotated[int, Integer(1, 1 << 12)] = 8
    #: Processes that step the environments, ``env_count`` of them in all; 0: this process does.
    actors: Annotated[int, Integer(0, 256)] = 0
    #: With actors: fixed takes their messages in turn, so that equal seeds give equal bytes; free
    #: takes them as they come.
    actor_order: Annotated[str, Choice(("free", "fixed"))] = "free"
    #: Environment steps of all actors together from one greedy evaluation to the next. An
    #: evaluation follows the launch that passes a multiple of this number.
    evaluation_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Episodes of an evaluation; 0: nothing is evaluated, and the last policy is kept.
    evaluation_episodes: Annotated[int, Integer(0, 1 << 12)] = 20
    #: Environments of evaluations: copies, at most 8; or training, where no second instance of the
    #: environment may exist (env_count 1): it is played between two launches, and begins anew.
    evaluation_on: Annotated[str, Choice(("copies", "training"))] = "copies"
    #: Steps after which an episode of an evaluation is broken off if it has not ended before; none:
    #: 100 000, but 2000 as long as no episode has ended.
    evaluation_steps: Annotated[int | None, _INTERVAL] = None
    #: Environment steps from one row of progress.csv to the next; an evaluation has its own row.
    log_interval_steps: Annotated[int, _INTERVAL] = 800
    #: Environment steps from one checkpoint to the next.
    checkpoint_interval_steps: Annotated[int, _INTERVAL] = 40_000
    #: Seconds from one checkpoint to the next, if they pass before those steps.
    checkpoint_interval_s: Annotated[float, POSITIVE] = 60.0

    #: The agent's config; None: the algorithm's defaults.
    agent: LearningConfig | None = None

    def __post_init__(self):
        self._check_algo(self.algo)
        if self.agent is None:
            object.__setattr__(self, "agent", self.algorithm.config())
        check_fields(self)
        if type(self.agent) is not self.algorithm.config:
            raise UsageError(
                f"agent must be a {self.algorithm.config.__name__} for {self.algo}, "
                f"not {self.agent!r}"
            )
        if not isinstance(self.env, str) or not self.env:
            raise UsageError(f"env must be the id of a gymnasium environment, not {self.env!r}")
        self._check_evaluation()
        if self.learner not in self.algorithm.learners:
            raise UsageError(
                f"learner must be {' or '.join(self.algorithm.learners)} for {self.algo}, "
                f"not {self.learner!r}"
            )

    def _check_evaluation(self):
        if self.evaluation_episodes == 0 and (self.until_solved or self.threshold is not None):
            name = "until_solved" if self.until_solved else "threshold"
            raise UsageError(f"evaluation_episodes must be at least 1 with {name}, not 0")
        if self.evaluation_on == "training":
            if self.algorithm.learns_from == "rounds":
                raise UsageError("evaluation_on must be copies with rounds, not 'training'")
            for name, wanted in (("env_count", 1), ("actors", 0)):
                if (value := getattr(self, name)) != wanted:
                    raise UsageError(
                        f"{name} must be {wanted} with evaluation_on training, not {value!r}"
                    )

    @property
    def learns_from_step(self):
        """Environment steps that the run must have taken before its first gradient step."""
        return 0

    def in_run(self, steps=None):
        """This config with a length for every schedule of the agent, for a run of ``steps``
        environment steps; None: of the config's own ``steps``."""
        return replace(self, agent=self.agent.in_run(self.steps if steps is None else steps))

    @classmethod
    def algorithms(cls):
        """Names of the algorithms whose runs this class describes."""
        return [name for name, each in ALGORITHMS.items() if each.learns_from == cls.LEARNS_FROM]

    @classmethod
    def _check_algo(cls, algo):
        """ValueError, with the known names, unless this class describes runs of ``algo``."""
        known = isinstance(algo, str) and algo in ALGORITHMS  # imports nothing for other names
        if not known or ALGORITHMS[algo].learns_from != cls.LEARNS_FROM:
            check_choice("algo", algo, cls.algorithms())

    def _check_actors(self, places, what):
        """ValueError unless ``places``, the value of what is called ``what``, can be shared by the
        actors."""
        if self.actors:
            check_shared(self.actors, places, what)
        elif self.actor_order != "free":
            raise UsageError(f"actor_order must be free without actors, not {self.actor_order!r}")

    @property
    def actor_td_errors(self):
        """Whether actors compute the TD errors of new experiences."""
        return False

    def without_actors(self):
        """This config, of a run whose environments are stepped by its own process."""
        names = {"actors", "actor_order", "launches_per_message"}
        kept = {each.name: each.default for each in fields(self) if each.name in names}
        return replace(self, **kept)

    @property
    def message_steps(self):
        """Environment steps of an actor's message, at most."""
        return self.env_count

    @property
    def kernel(self):
        """Name of the design whose kernel the run needs; None if it needs no card."""
        return self.DESIGN

    @property
    def _table(self):
        training = DESIGNS[self.kernel or self.DESIGN].training
        return training.fields if training else ()

    @property
    def run_names(self):
        """``{kernel field: run field}`` of the fields that have one value in both, for errors."""
        return {each.kernel: each.run for each in self._table if not each.to_kernel}

    def decided(self, spec=None):
        """``{kernel field: value}`` that the run decides: by the design's table of fields, by the
        callable ``kernel`` of the algorithm, and by ``sizes``. Designs may fix some of them, such
        as the activation, which are then no fields of their config.

        ``spec`` is the Spec of the run's environment; None: the environment is made to find it out.
        """
        present, found = values_of(self), {}
        for each in self._table:
            value = present[resolve(self, each.run)]
            found[each.kernel] = each.to_kernel(value) if each.to_kernel else value
        if self.learner == "card" and (own := self.algorithm.kernel(self.agent)):
            config = DESIGNS[self.kernel].config_type()
            found |= {resolve(config, name): value for name, value in own.items()}
        return found | self.sizes(spec)

    def sizes(self, spec):
        """``{kernel field: value}`` of sizes that follow from the environment, or from several
        fields of the run; they replace values of the table."""
        return {}

    def kernel_values(self, spec=None):
        """``{field: value}`` for the config of the run's kernel, as ``host.settings.override``
        takes them. ``spec`` is as in ``decided``."""
        own = values_of(DESIGNS[self.kernel or self.DESIGN].config_type())
        return {name: value for name, value in self.decided(spec).items() if name in own}

    def check_kernel(self, wanted, found, room=()):
        """ValueError, with the run's name, for the first field of a kernel that does not suit.
        ``wanted`` and ``found`` are ``{kernel field: value}`` of the run and of the kernel; fields
        in ``room`` may be larger in the kernel."""
        for name, value in wanted.items():
            has, limit = found[name], name in room
            if has != value and not (limit and has > value):
                rule = f"at most {has}" if limit else repr(has)
                shown = self.run_names.get(name, name.rpartition(".")[2])
                raise UsageError(f"{shown} must be {rule} as in the kernel, not {value!r}")

    def stored_bytes(self, spec, kernel, board):
        """Bytes of the kernel's largest buffer, if the run decides them and ``board``, a Board, can
        join several memory banks for it; else None. ``kernel`` is the kernel's config."""
        return None

    @property
    def algorithm(self):
        return ALGORITHMS[self.algo]

    @classmethod
    def from_dict(cls, values):
        agent, algo = values.get("agent"), values.get("algo", cls.algo)
        cls._check_algo(algo)
        if isinstance(agent, dict):
            values = {**values, "agent": ALGORITHMS[algo].config.from_dict(agent)}
        return super().from_dict(values)

    def identity(self):
        """A dict of the fields, as JSON values, that a resumed run must share with its
        checkpoint. The default of ``evaluation_on`` is left out, as in checkpoints from before it
        was a field."""
        shared = {name: value for name, value in self.to_dict().items() if name not in _FREE}
        if self.evaluation_on == "copies":
            del shared["evaluation_on"]
        return shared

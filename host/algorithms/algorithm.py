"""The descriptor of a learning algorithm; it knows no environments, files or cards."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gymnasium.spaces import Box, Discrete, Space

from hw.errors import UsageError

__all__ = ["Algorithm", "by_table"]

_NAMES = {Discrete: "Discrete", Box: "one-dimensional, bounded Box"}


def by_table(config):
    """``Algorithm.kernel`` of an algorithm whose fields are all in the table of its design."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """The descriptor of a learning algorithm. The algorithm's file makes one object of this class,
    and ``host.agents.registry`` finds it.

    Dictionaries of defaults map fields of the run's config to values, and ``agent`` to a dictionary
    of the agent's fields. ``host.runs.preset`` applies them in this order, and later ones replace
    values of earlier ones: defaults; card and continuous, or else environments and
    card_environments; designs; presets.

    Attributes
    ----------
    name, summary : str
        The algorithm's name on the command line; one line about it.
    config : type
        The class of its hyperparameters, a subclass of AgentConfig.
    policy : type
        A subclass of Policy, which acts.
    updater : callable
        ``updater(policy, **options)`` returns an Updater, which does the gradient steps off the
        card; mostly this is a subclass of Updater.
    actions : tuple
        Classes of action spaces that the algorithm takes: Discrete, Box, or both.
    columns : dict
        Column of progress.csv that ``update`` measures -> a text: the quantity whose mean it is.
    learner : str
        Where it is trained by default: "card" or "cpu"; without ``kernel`` always on the CPU.
    learns_from : str
        "replay": from a replay memory; "rollouts": from one rollout at a time, with the card's
        advantages, in several epochs of minibatches, after which the rollout is dropped; "rounds":
        in rounds of inferences and trainings, in which the card acts too.
    images : bool
        Whether the algorithm takes observations of any shape as they are; if not, they are
        flattened.
    kernel : callable, optional
        ``kernel(config)`` returns ``{field: value}`` of the fields of the kernel's config that
        follow from the agent's, but are not in the table of the design, ``Training.fields`` of
        ``hw.shell.design``; ``by_table`` if there are none. None: no kernel has its name, and the
        card does not train it.
    designs : dict
        Name of a further design, besides the one of the algorithm's name, whose kernel trains it
        -> defaults with that kernel.
    defaults : dict
        Defaults of a run where they differ from those of the fields.
    card : dict
        Defaults if the card trains.
    continuous : dict
        Defaults if actions are a Box.
    environments : dict
        Environment's id, or ``NAMESPACE/`` for the other ids of this namespace (``namespace_of`` of
        ``host.environments.environment_id``) -> defaults there, and in the task with its physics
        (``host.environments.task_ids``), which stand instead of ``card`` and ``continuous``.
    card_environments : dict
        Environment's id -> defaults there if the card trains.
    presets : dict
        Name of a preset -> dictionary of the agent's fields.
    default_preset : str or None
        The preset of a run that names none; None: no preset.
    left : frozenset
        Names of other agents' fields that a request must not set, since a trainer decides them.
    """

    name: str
    summary: str
    config: type
    policy: type
    updater: Callable
    actions: tuple
    columns: dict
    learner: str = "card"
    learns_from: str = "replay"
    images: bool = False
    kernel: Callable | None = None
    designs: dict = field(default_factory=dict)
    defaults: dict = field(default_factory=dict)
    card: dict = field(default_factory=dict)
    continuous: dict = field(default_factory=dict)
    environments: dict = field(default_factory=dict)
    card_environments: dict = field(default_factory=dict)
    presets: dict = field(default_factory=dict)
    default_preset: str | None = None
    left: frozenset = frozenset()

    @property
    def learners(self) -> tuple[str, ...]:
        """Where it can be trained, the default first."""
        return ("card", "cpu") if self.kernel else ("cpu",)

    def check_actions(self, space: Space[object], env: str) -> None:
        """ValueError unless the algorithm takes ``space``, the action space of the environment
        called ``env``; a Box must have one dimension and bounds."""
        taken = isinstance(space, self.actions)
        if taken and isinstance(space, Box):
            taken = len(space.shape) == 1 and space.is_bounded()
        if not taken:
            kinds = " or ".join(_NAMES[each] for each in self.actions)
            raise UsageError(
                f"env must have a {kinds} action space for {self.name}, not {space} of {env!r}"
            )

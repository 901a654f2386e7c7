"""What there is to know of a learning algorithm, apart from environments, files and cards."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gymnasium.spaces import Box, Discrete

from hw.errors import UsageError

__all__ = ["Algorithm"]

_NAMES = {Discrete: "Discrete", Box: "one-dimensional, bounded Box"}


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One algorithm. Its file makes one of these, and ``host.algorithms.registry`` finds it.

    Dictionaries of defaults map fields of the run's config to values, ``agent`` to a dictionary of
    the agent's; ``host.train.preset`` lays them over each other in the order of the attributes.

    Attributes
    ----------
    name, summary : str
    config : type
        Of its hyperparameters: a subclass of AgentConfig.
    policy : type
        A subclass of Policy: what acts.
    updater : callable
        ``updater(policy, **options)`` gives an Updater, its gradient step off the card: mostly a
        subclass of it.
    actions : tuple
        Kinds of action spaces that it takes: Discrete, Box.
    columns : dict
        What ``update`` measures: columns of progress.csv, and what each is the mean of.
    learns_from : str
        "replay", a replay memory; "rollouts", each once, with the card's advantages; or "rounds" of
        inferences and trainings, in which the card acts too.
    images : bool
        Takes observations of any shape as they are; else they are flattened.
    kernel : callable, optional
        ``kernel(config)`` gives the fields of ``hw.learner.config.LearnerConfig``, or of another
        kernel's config, that are this algorithm's alone. None: there is no kernel of its name, and
        the card does not train it.
    designs : dict
        Kernel that trains it besides the one of its name -> what differs again with it.
    defaults : dict
        Of a run, where they differ from the fields' own.
    card : dict
        What differs again where the card trains.
    continuous : dict
        What differs again where actions are a Box.
    environments : dict
        Environment's id, or ``NAMESPACE/`` for all ids of it that have no own (``namespace_of`` of
        ``host.collect.environment_id``), -> what
        differs there, instead of ``card`` and ``continuous``.
    card_environments : dict
        Environment's id -> what differs there again where the card trains.
    presets : dict
        Name -> fields of the agent.
    default_preset : str or None
        That of a run that names none; None: nothing differs then.
    """

    name: str
    summary: str
    config: type
    policy: type
    updater: Callable
    actions: tuple
    columns: dict
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

    @property
    def learners(self):
        """Where it can be trained, the default first."""
        return ("card", "cpu") if self.kernel else ("cpu",)

    def check_actions(self, space, env):
        """ValueError unless it takes the action space of ``env``."""
        taken = isinstance(space, self.actions)
        if taken and isinstance(space, Box):
            taken = len(space.shape) == 1 and space.is_bounded()
        if not taken:
            kinds = " or ".join(_NAMES[each] for each in self.actions)
            raise UsageError(
                f"env must have a {kinds} action space for {self.name}, not {space} of {env!r}"
            )

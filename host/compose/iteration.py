"""How long a launch of a plan takes: our model beside PEARL's equation 7.

PEARL adds primitives that run beside each other. In a Python program one interpreter acts, packs,
begins launches and learns, one after the other, and only a card of silicon works beside it ::

    T = max(card + launch, acting + memory + learning)      the card works beside the rest
    T = card + launch + acting + memory + learning          it does not
    T = card + acting + memory + learning + threads         the twin, a thread of the program
"""

from dataclasses import asdict, dataclass

__all__ = ["IterationTime", "borrowed", "iteration"]

_ACTING = ("environments", "policy", "packing", "other")


@dataclass(frozen=True, kw_only=True)
class IterationTime:
    """Microseconds of a launch.

    acting : stepping environments, choosing actions, converting experiences.
    memory : a replay memory off the card, and the host's side of launches.
    learning : gradient steps off the card.
    card : what the card computes.
    launch : what starting it and transfers take.
    threads : what threads take more, or less, beside each other than one after the other.
    beside : whether the card works beside the rest.
    """

    acting: float
    memory: float
    learning: float
    card: float = 0.0
    launch: float = 0.0
    threads: float = 0.0
    beside: bool = False

    @property
    def software(self):
        """Microseconds of the interpreter."""
        return self.acting + self.memory + self.learning

    @property
    def whole(self):
        """Microseconds of the launch."""
        device = self.card + self.launch
        if self.beside:
            return max(device, self.software)
        return device + self.software + self.threads

    @property
    def bound_by(self):
        """The name of the largest part of what takes longest."""
        parts = asdict(self)
        device, software = ("card", "launch"), ("acting", "memory", "learning")
        if self.beside:
            names = device if self.card + self.launch > self.software else software
        else:
            names = device + software
        return max(names, key=parts.get)


def iteration(parts, *, run=None, card_us=None, launch_us=0.0, beside=False):
    """The IterationTime of a plan.

    parts, run : those of a Profile; ``run`` is None if it is not known.
    card_us : microseconds of the plan's launch on a card that is not the one of the profile, to
        which ``launch_us`` and ``beside`` belong; None: the card is that of the profile, which
        works in turn with the rest.
    """
    known = dict(
        acting=sum(parts[name] for name in _ACTING),
        memory=parts["memory"],
        learning=parts["learning"],
    )
    if card_us is None:
        threads = 0.0 if run is None else run - sum(parts.values())
        return IterationTime(**known, card=parts["device"], threads=threads)
    return IterationTime(**known, card=card_us, launch=launch_us, beside=beside)


def borrowed(plan, plans, profiles):
    """``{part: microseconds}`` for a Plan that has no profile, from those of other plans with the
    same parts: acting from any, the memory from one whose learner is off the card, and learning
    from one with a learner on the same kind of device. None if a part is in no profile.

    plans : sequence of Plan
    profiles : ``{name of a plan: Profile}``
    """
    if plan.learner == "card":  # a card that learns does all in one launch
        return None
    known = [each for each in plans if each.name in profiles and each.learner != "card"]
    memories = [each for each in known if each.rm == plan.rm]
    learners = [each for each in known if each.learner == plan.learner]
    if not memories or not learners:
        return None
    memory, learner = (profiles[each[0].name].parts for each in (memories, learners))
    return memory | {"learning": learner["learning"]}

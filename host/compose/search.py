"""The search for the best plan of a task on a machine: every pair of devices, by our model."""

from dataclasses import dataclass

from host.compose.assignment import (
    METRICS,
    WORD_BYTES,
    Refusal,
    best,
    storage_of,
    watts_of,
)
from host.compose.card_clocks import kernel_config, plan_clocks
from host.compose.iteration import IterationTime, borrowed, iteration
from host.compose.plans import Plan
from host.rules import check_choice
from hw.errors import UsageError
from hw.learner.parameters.parameter_image import set_bytes

__all__ = ["MEASURED", "PlanCandidate", "Composition", "compose"]

#: The source of a plan whose own profile is known.
MEASURED = "profile"


@dataclass(frozen=True, kw_only=True)
class PlanCandidate:
    """A plan on devices of a machine.

    rm, learner : names of devices; ``rm`` is None without a replay memory.
    devices : names of all devices of the plan, besides the cpu.
    plan : Plan
    iteration : IterationTime, or None if it is not known.
    batch, updates : experiences of a gradient step, and gradient steps of a launch.
    kernel : config of its kernel, or None.
    clocks : clocks of a launch on the card, None where the card is that of the profile.
    watts : of the cpu and the devices, each once; None if one is unknown.
    storage, traffic_us : where PEARL's Algorithm 1 places the data, and what its traffic takes;
        None without a replay memory.
    source : where the times come from.
    """

    rm: str | None
    learner: str
    devices: tuple
    plan: Plan
    iteration: IterationTime | None
    batch: int
    updates: float
    kernel: object
    clocks: float | None
    watts: float | None
    storage: str | None
    traffic_us: float | None
    source: str

    @property
    def iteration_us(self):
        """Microseconds of a gradient step; None if the time is not known."""
        return self.iteration and self.iteration.whole / self.updates

    @property
    def gps(self):
        """Gradient steps a second; None if the time is not known."""
        return self.iteration and 1e6 / self.iteration_us

    @property
    def eps(self):
        """Experiences a second, PEARL's measure: ``batch`` for each gradient step; None if the time
        is not known."""
        return self.gps and self.batch * self.gps

    @property
    def eps_per_watt(self):
        """None if the time or the watts are not known."""
        return self.eps and self.watts and self.eps / self.watts


@dataclass(frozen=True, kw_only=True)
class Composition:
    """The plans of a task on a machine.

    candidates : tuple of PlanCandidate, in the order of the machine's devices.
    refused : tuple of Refusal, of pairs that cannot run.
    choice : PlanCandidate
    """

    candidates: tuple
    refused: tuple
    choice: PlanCandidate


def compose(task, plans, machine, profiles, sizes, *, metric="throughput", acting=None):
    """The Composition of a Task on a Machine.

    The choice has the most gradient steps a second, or the most for each watt; of equal ones, to
    1e-9 us of a gradient step, the one with the least traffic, and then the first.

    Parameters
    ----------
    task : Task
    plans : sequence of Plan
        Those among which is searched.
    machine : Machine
    profiles : ``{name of a plan: Profile}``
    sizes : Sizes
        What a gradient step moves.
    metric : str
        "throughput" or "efficiency".
    acting : ActorTimes, optional
        What actors take, of a run with actors; profiles are without actors.

    UsageError if no plan's time is known, or if the metric is efficiency and watts are unknown.
    """
    check_choice("metric", metric, METRICS)
    found, refused = [], []
    for rm in machine.devices if task.family == "replay" else (None,):
        for learner in machine.devices:
            for plan in _suiting(plans, rm, learner):
                try:
                    _check(plan, rm, learner)
                    told = rm, learner, acting
                    found.append(_candidate(task, plan, plans, machine, profiles, sizes, *told))
                except UsageError as error:
                    refused.append(Refusal(rm and rm.name, learner.name, str(error)))
    known = [each for each in found if each.iteration]
    if not known:
        why = f": {refused[0].reason}" if refused else ""
        raise UsageError(f"a plan's time must be known, not none{why}")
    choice = best(machine, known, metric)
    return Composition(candidates=tuple(found), refused=tuple(refused), choice=choice)


def _suiting(plans, rm, learner):
    """The plans whose parts are on devices of these kinds."""
    kinds = rm and rm.kind, learner.kind
    return [plan for plan in plans if (plan.rm, plan.learner) == kinds]


def _check(plan, rm, learner):
    """UsageError if the plan cannot run on these devices."""
    if plan.refused:
        raise UsageError(plan.refused)
    if rm is not None and rm.kind == learner.kind and rm is not learner:
        raise UsageError(
            f"replay memory and learner must be on one {rm.kind}, not on {rm.name} and "
            f"{learner.name}"
        )


def _candidate(task, plan, plans, machine, profiles, sizes, rm, learner, acting):
    card = next((each for each in (rm, learner) if each and each.kind == "card"), None)
    if card is None and plan.design != "none":  # advantages, and gradient steps off the card
        card = machine.card
        if card is None:
            raise UsageError(f"a machine must have a card for kernel {plan.design}, not be without")
    parts, run, source, updates = _parts(plan, plans, profiles)
    if parts is not None and acting is not None:
        steps = task.steps_of_update(updates) * updates
        parts, run = acting.parts(parts, task.family, steps), None
    kernel = clocks = found = None
    if card is not None:
        kernel = kernel_config(task, plan, card.board)
    if parts is not None and card is not None and card.clock_mhz is not None:
        inserts = sizes.inserts * updates
        clocks = plan_clocks(task, plan, kernel, updates, inserts)
        launch = (card.launch_us or 0.0) + _moved_us(
            task, plan, machine, card, kernel, updates, inserts
        )
        beside = task.family != "rollouts"
        found = iteration(parts, card_us=clocks / card.clock_mhz, launch_us=launch, beside=beside)
    elif parts is not None:
        found = iteration(parts, run=run)
    devices = tuple(each.name for each in (rm, learner, card) if each is not None)
    storage = (None, None) if rm is None else storage_of(machine, sizes, rm.name, learner.name)
    return PlanCandidate(
        rm=rm and rm.name,
        learner=learner.name,
        devices=devices,
        plan=plan,
        iteration=found,
        batch=task.batch,
        updates=updates,
        kernel=kernel,
        clocks=clocks,
        watts=watts_of(machine, *devices),
        storage=storage[0],
        traffic_us=storage[1],
        source=source,
    )


def _parts(plan, plans, profiles):
    """``(parts, run, source, updates)`` of a plan; parts are None where they are not known, ``run``
    where no profile of its own has it."""
    if own := profiles.get(plan.name):
        return own.parts, own.run, MEASURED, own.updates
    others = [profile.updates for profile in profiles.values()]
    found = borrowed(plan, plans, profiles)
    source = "time unknown, no profile" if found is None else "profiles of other plans"
    return found, None, source, others[0] if others else 1.0


def _moved_us(task, plan, machine, card, kernel, updates, inserts):
    """Microseconds of a launch's transfers between the cpu and a card, in one transfer each way.

    To the card: new experiences if the replay memory is there, batches if only the learner is.
    Back: batches, or TD errors, with a word each, and weights. What ``a3c`` and ``gae`` move is not
    counted.
    """
    if task.family != "replay":
        return 0.0
    word, batch = WORD_BYTES, task.batch
    experience = task.words * word
    there = inserts * experience if plan.rm == "card" else updates * batch * (experience + word)
    back = updates * batch * word
    if plan.learner != "card":
        back = updates * batch * (experience + word)
        there += updates * batch * word
    elif plan.config.act != "card":
        back += set_bytes(kernel.learner) / plan.config.weights_interval
    cpu = machine.cpu.name
    return machine.transfer_us(cpu, card.name, there) + machine.transfer_us(card.name, cpu, back)

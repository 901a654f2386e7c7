"""Experiences a second of plans 1, 3 and 4 beside libraries: PEARL's Table IV.

::

    EPS = batch * gradient steps a second

All train DQN on CartPole-v1 with one network, batch, number of environments, and ratio of
environment steps to gradient steps, and act at random with the same chance. Time is the
processor's, of all threads; rounds take turns. The card is its twin, which computes on the
processor: so EPS of plans 3 and 4 say what the twin does, and not a card. For plan 4 there is a
prediction of a card too, by clocks.
"""

import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib.metadata import version
from statistics import median
from typing import NamedTuple

from bench import row
from bench.compose.libraries import LIBRARIES
from bench.compose.prediction import PLANS
from host.compose.assign import Sizes
from host.compose.plans import plan_of
from host.compose.profile import WARM, profile_of
from host.compose.search import compose
from host.compose.shipped import shipped
from host.compose.task import Task
from host.compose.trial import trial
from host.train.preset import preset
from host.train.threads import single_threaded

__all__ = ["Measured", "measured", "rows"]

BATCHES = (32, 512)
#: The card whose time is predicted: MHz, assumed, with the launch and the links of ``u200_host``.
CLOCK_MHZ = 250
ROUNDS, _RUN, _PROFILED = 5, 200, 80
#: Of a library's launches in a round, RLlib's being long.
_LIBRARY_RUN = {"RLlib": 20}
_ON_CARD = "4"
#: PEARL's Table IV, DQN-CartPole: EPS at the batch.
_PEARL = {
    "PEARL": {32: 7800, 512: 90300},
    "stable-baselines3": {32: 4600, 512: 58100},
    "RLlib": {32: 4100, 512: 50300},
}
_SOURCE = f"processor time, median of five rounds in turn, gymnasium {version('gymnasium')}"


class Measured(NamedTuple):
    """What was measured with one batch.

    eps : ``{plan or library: experiences a second}``
    candidate : the Candidate of plan 4 on a card, of ``host.compose.search``.
    """

    eps: dict
    candidate: object


def task_of(batch):
    """The Task: what stable-baselines3's DQN and rlfabric's ``dqn`` can both be."""
    config = preset("dqn", "card", env="CartPole-v1")
    agent = replace(
        config.agent,
        batch_size=batch,
        activation="relu",
        n_step=1,
        reward_scale=1.0,
        learning_rate=1e-3,
        epsilon_start=config.agent.epsilon_end,
    )
    return Task(replace(config, agent=agent), False, {})


def measured(batch, *, rounds=ROUNDS, run=_RUN, profiled=_PROFILED):
    """The Measured of ``rounds`` rounds of ``run`` launches each; of plan 4 there are ``profiled``
    launches more in a round, for its profile. A library that is not installed is left out, and a
    line on stderr says so."""
    task = task_of(batch)
    config = task.config
    plans = {
        name: plan_of(task, rm, learner)
        for name, (rm, learner, _) in PLANS.items()
        if name[0] in ("1", "3", _ON_CARD)
    }
    name_on_card, on_card = next(each for each in plans.items() if each[0][0] == _ON_CARD)
    with ExitStack() as stack:
        stack.enter_context(single_threaded(with_torch=True))
        runs = {
            name: stack.enter_context(trial(plan.config, inline=False))
            for name, plan in plans.items()
        } | _libraries(task, stack)
        apart = stack.enter_context(trial(on_card.config))
        for each in (*runs.values(), apart):
            each.warm(WARM)
        taken, profile = {name: [] for name in runs}, []
        for _ in range(rounds):
            for name, each in runs.items():
                taken[name].append(each.elapsed(min(run, _LIBRARY_RUN.get(name, run))))
            us, updates = taken[name_on_card][-1]
            profile.append((*apart.run(profiled), us / updates * config.updates_per_launch))
    eps = {
        name: batch * median(1e6 * updates / us for us, updates in found)
        for name, found in taken.items()
    }
    return Measured(eps, _predicted(task, on_card, profile_of(profile)))


def _libraries(task, stack):
    """``{name: library}`` of those that are installed."""
    found = {}
    for kind in LIBRARIES:
        try:
            made = stack.enter_context(closing(kind(task.config)))
        except ImportError as error:
            print(
                f"{kind.NAME} is left out: {error} (pip install '{kind.PACKAGE}')", file=sys.stderr
            )
            continue
        found[kind.NAME] = made
    return found


def _predicted(task, plan, profile):
    """The Candidate of ``plan`` on a U200 with an assumed clock, by the formulas of its kernel."""
    machine = shipped("u200_host")
    devices = [
        replace(each, clock_mhz=CLOCK_MHZ) if each.kind == "card" else each
        for each in machine.devices
    ]
    sizes = Sizes(batch=task.batch, inserts=task.steps_of_update(profile.updates), words=task.words)
    machine = replace(machine, devices=tuple(devices))
    return compose(task, [plan], machine, {plan.name: profile}, sizes).choice


def rows():
    """The list of rows of each batch.

    eps is that of plans 1, 3 and 4 and of the libraries, beside PEARL's Table IV (other machines,
    with a GPU or an FPGA); eps_over_plan_1 is a library's over that of plan 1. Of plan 4 on a card
    there are eps_at_250_mhz; software_us, the microseconds of a launch that the interpreter works;
    and card_us, those of the card and of starting it, which go on beside.
    """
    result = []
    for batch in BATCHES:
        found = measured(batch)
        for name, eps in found.eps.items():
            result.append(_eps(f"{name}, B={batch}", round(eps), name, batch))
        result += _over(found.eps, batch) + _on_card(found, batch)
    return result


def _eps(case, value, name, batch):
    """A row of eps beside PEARL's."""
    known = name if name in _PEARL else "PEARL"
    source = f"card model, {_SOURCE}" if name[0] in ("3", _ON_CARD) else _SOURCE
    reference = dict(reference=f"{known} in PEARL's Table IV")
    return row(
        "compose", case, "eps", value, "1/s", source=source,
        reference_value=_PEARL[known][batch], **reference,
    )  # fmt: skip


def _over(eps, batch):
    """The rows of libraries over plan 1."""
    first = next(value for name, value in eps.items() if name[0] == "1")
    return [
        row("compose", f"{name}, B={batch}", "eps_over_plan_1", round(value / first, 3), "",
            source="eps of both, in turn in one run")
        for name, value in eps.items() if name in _PEARL
    ]  # fmt: skip


def _on_card(found, batch):
    """The rows of plan 4 on a card."""
    each, [name] = found.candidate, [name for name in found.eps if name[0] == _ON_CARD]
    case, parts = f"{name}, B={batch}", each.iteration
    source = f"{round(each.clocks)} clocks by formula at {CLOCK_MHZ} MHz, launch and links assumed"
    return [
        row("compose", case, "eps_at_250_mhz", round(batch * each.gps), "1/s", source=source,
            reference="PEARL in PEARL's Table IV", reference_value=_PEARL["PEARL"][batch]),
        row("compose", case, "card_us", round(parts.card + parts.launch, 1), "us", source=source),
        row("compose", case, "software_us", round(parts.software, 1), "us",
            source=f"profile, {_SOURCE}"),
    ]  # fmt: skip

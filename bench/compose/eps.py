"""Experiences a second of plans 1, 3 and 4 beside libraries: PEARL's Table IV.

::

    EPS = batch * gradient steps a second

The columns are DQN on CartPole-v1 and DDPG on MountainCarContinuous-v0. In a column, all train with
the same networks, batch, number of environments, ratio of environment steps to gradient steps, and
exploration. Time is the processor's, of all threads; rounds take turns. The card is its twin, which
computes on the processor: so EPS of plans 3 and 4 say what the twin does, and not a card. For plan
4 there is a prediction of a card too, by clocks.
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
from host.compose.assignment import Sizes
from host.compose.machine_library import shipped
from host.compose.plans import plan_of
from host.compose.profile import WARM, profile_of
from host.compose.search import compose
from host.compose.task import Task
from host.compose.trial import trial
from host.runs.blas_threads import single_threaded
from host.runs.preset import preset

__all__ = [
    "BATCHES",
    "COLUMNS",
    "DDPG",
    "DQN",
    "Column",
    "RateMeasurement",
    "measured",
    "rows",
    "task_of",
]

BATCHES = (32, 512)
#: The card whose time is predicted: MHz, assumed, with the launch and the links of ``u200_host``.
CLOCK_MHZ = 250
ROUNDS, _RUN, _PROFILED = 5, 200, 80
#: Of a library's launches in a round, RLlib's being long.
_LIBRARY_RUN = {"RLlib": 20}
_ON_CARD = "4"
#: Of both columns: 32 environment steps for a gradient step, which PEARL does not print.
_SCHEDULE = dict(env_count=8, steps_per_launch=4, updates_per_launch=1, learning_starts=1000)
_SOURCE = f"processor time, median of five rounds in turn, gymnasium {version('gymnasium')}"


class Column(NamedTuple):
    """A column of PEARL's Table IV.

    case : the beginning of its rows' cases
    algo, env, hidden : what is trained, where, and the widths of the hidden layers
    agent : hyperparameters that make rlfabric's agent the same as a library's
    published : ``{PEARL or library: {batch: EPS}}``
    """

    case: str
    algo: str
    env: str
    hidden: tuple
    agent: dict
    published: dict


DQN = Column(
    "",
    "dqn",
    "CartPole-v1",
    (64, 64),
    dict(epsilon_start=0.05, epsilon_end=0.05),
    {
        "PEARL": {32: 7800, 512: 90_300},
        "stable-baselines3": {32: 4600, 512: 58_100},
        "RLlib": {32: 4100, 512: 50_300},
    },
)
#: Table III prints 8 numbers of a state and 4 of an action; the environment has 2 and 1.
DDPG = Column(
    "DDPG, MountainCarContinuous, ",
    "ddpg",
    "MountainCarContinuous-v0",
    (256, 128),
    dict(actor_learning_rate=1e-3, loss="mse", noise="gaussian", noise_start=0.5, noise_end=0.5),
    {
        "PEARL": {32: 7800, 512: 95_200},
        "stable-baselines3": {32: 4300, 512: 60_100},
        "RLlib": {32: 3600, 512: 51_500},
    },
)
COLUMNS = (DQN, DDPG)


class RateMeasurement(NamedTuple):
    """What was measured with one batch.

    eps : ``{plan or library: experiences a second}``
    candidate : the PlanCandidate of plan 4 on a card, of ``host.compose.search``.
    """

    eps: dict
    candidate: object


def task_of(column, batch):
    """The Task of a Column: what stable-baselines3's agent and rlfabric's can both be."""
    config = preset(column.algo, "card", env=column.env)
    agent = replace(
        config.agent,
        batch_size=batch,
        hidden=column.hidden,
        activation="relu",
        n_step=1,
        reward_scale=1.0,
        learning_rate=1e-3,
        **column.agent,
    )
    return Task(replace(config, agent=agent, **_SCHEDULE), False, {})


def measured(column, batch, *, rounds=ROUNDS, run=_RUN, profiled=_PROFILED):
    """The RateMeasurement of ``rounds`` rounds of ``run`` launches each; of plan 4 there are
    ``profiled`` launches more in a round, for its profile. A library that is not installed, or
    lacks the algorithm, is left out, and a line on stderr says so."""
    task = task_of(column, batch)
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
    return RateMeasurement(eps, _predicted(task, on_card, profile_of(profile)))


def _libraries(task, stack):
    """``{name: library}`` of those that are installed and have the algorithm."""
    found = {}
    for kind in LIBRARIES:
        if task.config.algo not in kind.ALGORITHMS:
            print(f"{kind.NAME} is left out: it has no {task.config.algo}", file=sys.stderr)
            continue
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


def rows(columns=COLUMNS):
    """The list of rows of each batch in each of ``columns``.

    eps is that of plans 1, 3 and 4 and of the libraries, beside PEARL's Table IV (other machines,
    with a GPU or an FPGA); eps_over_plan_1 is a library's over that of plan 1. Of plan 4 on a card
    there are eps_at_250_mhz; software_us, the microseconds of a launch that the interpreter works;
    and card_us, those of the card and of starting it, which go on beside.
    """
    result = []
    for column in columns:
        for batch in BATCHES:
            found = measured(column, batch)
            result += [_eps(column, name, batch, eps) for name, eps in found.eps.items()]
            result += _over(column, batch, found.eps) + _on_card(column, batch, found)
    return result


def _case(column, name, batch):
    return f"{column.case}{name}, B={batch}"


def _eps(column, name, batch, eps):
    """A row of eps beside PEARL's."""
    known = name if name in column.published else "PEARL"
    source = f"card model, {_SOURCE}" if name[0] in ("3", _ON_CARD) else _SOURCE
    return row(
        "compose", _case(column, name, batch), "eps", round(eps), "1/s", source=source,
        reference=f"{known} in PEARL's Table IV", reference_value=column.published[known][batch],
    )  # fmt: skip


def _over(column, batch, eps):
    """The rows of libraries over plan 1."""
    first = next(value for name, value in eps.items() if name[0] == "1")
    return [
        row("compose", _case(column, name, batch), "eps_over_plan_1", round(value / first, 3), "",
            source="eps of both, in turn in one run")
        for name, value in eps.items() if name in column.published
    ]  # fmt: skip


def _on_card(column, batch, found):
    """The rows of plan 4 on a card."""
    each, [name] = found.candidate, [name for name in found.eps if name[0] == _ON_CARD]
    case, parts = _case(column, name, batch), each.iteration
    source = f"{round(each.clocks)} clocks by formula at {CLOCK_MHZ} MHz, launch and links assumed"
    published = column.published["PEARL"][batch]
    return [
        row("compose", case, "eps_at_250_mhz", round(batch * each.gps), "1/s", source=source,
            reference="PEARL in PEARL's Table IV", reference_value=published),
        row("compose", case, "card_us", round(parts.card + parts.launch, 1), "us", source=source),
        row("compose", case, "software_us", round(parts.software, 1), "us",
            source=f"profile, {_SOURCE}"),
    ]  # fmt: skip

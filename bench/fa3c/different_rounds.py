"""Clocks of a period of rounds on the simulated card, of which each different one runs once."""

from collections import Counter
from itertools import islice

import numpy as np

from bench.fa3c.rounds import RoundMeasurement
from host.a3c.card_network import ActorCritic
from host.cards import open_card
from host.explore.launch_clocks import LIMIT_S
from host.explore.round_clocks import random_parameters, tasks_of
from hw.fa3c.round_clocks import works_of
from hw.fa3c.sharing import schedule_of

__all__ = ["measure_different"]


def measure_different(folder, agents, sharing="a3c", group=None):
    """``RoundMeasurement`` of a period of rounds once all groups have begun. Rounds whose tasks are
    alike take the same clocks and move as many bytes, whatever their numbers are; so each different
    one runs once, and counts as often as the period has it.

    ``folder`` is the kernel's, ``agents`` the number of agents, ``sharing`` how they share theta,
    ``group`` the agents of a group, None: as many as take the fewest clocks.
    """
    rng, clocks, moved = np.random.default_rng(0), {}, {}
    with open_card("sim") as card:
        network = ActorCritic(card.load(folder / "kernel.json"), timeout_s=LIMIT_S)
        config = network.config
        schedule = schedule_of(config, agents, group, sharing)
        period = islice(schedule.plans(), schedule.period, 2 * schedule.period)
        wanted = Counter(_kind(plan) for plan in period if works_of(plan))
        network.load(random_parameters(config, rng))
        for plan in schedule.plans():
            kind, before = _kind(plan), network.device_cycles
            bytes_before = Counter(card.device.traffic())
            if kind[0]:
                network.run(tasks_of(config, plan, rng))
            if kind in wanted and kind not in clocks:
                clocks[kind] = network.device_cycles - before
                moved[kind] = Counter(card.device.traffic()) - bytes_before
            if clocks.keys() == wanted.keys():
                break
    total = Counter()
    for kind, count in wanted.items():
        total.update({place: size * count for place, size in moved[kind].items()})
    whole = sum(clocks[kind] * count for kind, count in wanted.items())
    return RoundMeasurement(schedule.active, whole, dict(total), [])


def _kind(plan):
    """Equal for rounds that are alike: their tasks, and which inferences keep nothing."""
    return tuple(works_of(plan)), tuple(task.step is None for task in plan.inferences)

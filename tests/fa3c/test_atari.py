"""The paper's network on its two pairs of 64 PEs: a period of rounds on card sim (long)."""

from itertools import islice

import numpy as np
import pytest

from bench.fa3c.rounds import CLOCK, PAIRS, kernel
from host.a3c.card_network import ActorCritic
from host.cards import open_card
from host.explore.round_clocks import random_parameters, tasks_of
from hw.fa3c.round_clocks import round_clocks, works_of
from hw.fa3c.schedule import Schedule

AGENTS = 16


@pytest.mark.long
def test_period():
    """Outputs, theta and g of card sim are those of card model, bit for bit; every round takes the
    clocks that are worked out, and the last 8 rounds, when all groups have begun, those of 5 000
    inferences a second."""
    folder, cycles = kernel(**PAIRS), []
    with open_card("sim") as sim, open_card("model") as model:
        networks = [ActorCritic(card.load(folder / "kernel.json")) for card in (sim, model)]
        config = networks[0].config
        rng = np.random.default_rng(3)
        parameters = random_parameters(config, rng)
        for network in networks:
            network.load(parameters)
        schedule = Schedule(config, AGENTS)
        for plan in islice(schedule.plans(), 2 * schedule.period):
            tasks, before = tasks_of(config, plan, rng), networks[0].device_cycles
            outputs = [network.run(tasks) for network in networks]
            for one, other in zip(*outputs, strict=True):
                np.testing.assert_array_equal(one, other)
            cycles.append(networks[0].device_cycles - before)
            worked_out = round_clocks(config, works_of(plan))
            assert abs(cycles[-1] - worked_out) < 0.005 * worked_out
        one, other = (network.state_dict() for network in networks)
        np.testing.assert_array_equal(one["theta"], other["theta"])
        np.testing.assert_array_equal(one["squares"], other["squares"])
    assert AGENTS * config.steps * CLOCK / sum(cycles[-schedule.period :]) >= 5000

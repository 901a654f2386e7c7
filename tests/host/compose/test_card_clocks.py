"""Clocks of plans on a card: the kernels' own formulas, put together as a launch has them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import boards
from host.compose.card_clocks import kernel_config, own_settings, plan_clocks, primitive_clocks
from host.compose.machine_library import this_machine
from host.compose.plans import plan_of, plans_of
from host.compose.primitive_times import matrix
from host.compose.task import Task
from host.compose.times import APART, BOTH
from host.compose.trial import trial
from host.runs.preset import preset
from hw.errors import UsageError
from hw.fixar.pass_clocks import iteration_cycles
from hw.fixar.precision import Precision
from hw.learner.iteration_clocks import learn_clocks, store_clocks, train_clocks
from hw.replay.command_clocks import insert_clocks, sample_clocks, update_clocks

DQN = Task(preset("dqn", "card", env="CartPole-v1"), False, {})
#: Clocks of a launch around its commands: the program's fetch, the first batch.
AROUND = 400


def clocks(task, rm, learner, updates=1.0, inserts=32):
    plan = plan_of(task, rm, learner)
    kernel = kernel_config(task, plan, "u200")
    return kernel, plan_clocks(task, plan, kernel, updates, inserts)


def test_replay_on_the_card():
    kernel, found = clocks(DQN, "card", "cpu", updates=4.0)
    each = sample_clocks(kernel, 32, 3) + update_clocks(kernel, 32)
    inside = 4 * each + insert_clocks(kernel, 32, 3)
    assert inside < found < inside + AROUND
    assert kernel.replay.capacity >= DQN.config.capacity


def test_all_on_the_card():
    kernel, found = clocks(DQN, "card", "card", updates=4.0)
    inside = 4 * learn_clocks(kernel, 32, 8) + store_clocks(kernel)
    assert inside < found < inside + AROUND
    assert kernel.learner.batch == 32 and kernel.learner.hidden == (64, 64)


def test_the_learner_alone_on_the_card():
    kernel, found = clocks(DQN, "cpu", "card", updates=2.0)
    inside = 2 * train_clocks(kernel, 32) + store_clocks(kernel)
    assert inside < found < inside + AROUND


def test_weights_come_back_as_often_as_the_run_says():
    _, always = clocks(DQN, "card", "card")
    config = DQN.config
    rarely = Task(replace(config, weights_interval=4), False, {})
    kernel, found = clocks(rarely, "card", "card")
    assert always - found == pytest.approx(0.75 * store_clocks(kernel))
    never = Task(replace(config, act="card"), False, {})
    _, least = clocks(never, "card", "card")
    assert found - least == pytest.approx(0.25 * store_clocks(kernel), abs=1)


def test_fixar():
    config = preset("ddpg", "card", env="Pendulum-v1", design="fixar")
    task = Task(config, False, {})
    kernel, found = clocks(task, "card", "card")
    one = iteration_cycles(kernel.learner, config.agent.batch_size, Precision())
    assert one < found < one + AROUND + 1000  # and its weights


def test_primitives_of_a_kernel_without_a_learner():
    plan = plan_of(DQN, "card", "cpu")
    found = primitive_clocks(DQN, plan, kernel_config(DQN, plan, "u50"), 0.25)
    assert found.learn is None and min(found[:3]) > 0


def test_rounds_are_a_part_of_a_period():
    task = Task(preset("a3c", "card", env="CartPole-v1"), False, {})
    agents = task.config.env_count
    _, whole = clocks(task, None, "card", updates=agents)
    _, part = clocks(task, None, "card", updates=agents / 4)
    assert part == pytest.approx(whole / 4) and whole > 1000


def test_advantages():
    task = Task(preset("ppo", "cpu", env="CartPole-v1"), False, {})
    kernel, found = clocks(task, None, "cpu", updates=12.0)
    assert found >= kernel.gae.depth and kernel.gae.depth == 2 * task.config.steps_per_launch


def test_only_fields_that_a_kernel_has_are_set():
    task = Task(DQN.config, False, {"learner.lanes": "4", "replay.fanout": "8"})
    alone, both = plan_of(task, "card", "cpu"), plan_of(task, "card", "card")
    assert own_settings(task, alone) == {"replay.fanout": "8"}
    assert own_settings(task, both) == task.kernel
    assert own_settings(task, plan_of(task, "cpu", "cpu")) == {}
    assert kernel_config(task, both, "u200").learner.lanes == 4


def test_a_kernel_is_that_of_its_board():
    plan = plan_of(DQN, "card", "card")
    u200, zcu106, twin = (kernel_config(DQN, plan, each) for each in ("u200", "zcu106", None))
    assert (u200.engine.data_width, zcu106.engine.data_width) == (512, 128) and twin == u200


def test_what_a_launch_adds_to_pearls_times():
    """Each primitive alone is a launch; together they are one, which begins with the draw."""
    here, added = this_machine("u200"), {}
    for launch in (0.0, 64.0):
        card = replace(here.card, launch_us=launch)
        machine = replace(here, devices=(here.cpu, card))
        for row in matrix(DQN, plans_of(DQN), machine, {}, 32).rows:
            numbers = row.sample_us, row.insert_us, row.update_us, row.learn_us
            added[row.placed] = np.subtract(numbers, added.get(row.placed, np.zeros(4)))
    assert added[APART] == pytest.approx([64] * 4) and added[BOTH] == pytest.approx([64, 0, 0, 0])


def test_a_kernel_that_does_not_fit():
    config = preset("dqn", "card", env="CartPole-v1")
    task = Task(replace(config, capacity=1 << 23), False, {})
    with pytest.raises(boards.DoesNotFit):
        kernel_config(task, plan_of(task, "card", "card"), "zcu106")
    assert isinstance(boards.DoesNotFit("x"), UsageError)


@pytest.mark.long
@pytest.mark.parametrize("rm, learner", [("card", "cpu"), ("card", "card"), ("cpu", "card")])
def test_the_simulated_card_takes_these_clocks(rm, learner):
    settings = {"learner.arithmetic.kind": "fixed", "learner.multipliers": 16}
    task = Task(DQN.config, False, settings)
    plan = plan_of(task, rm, learner)
    kernel = kernel_config(task, plan, "u200")
    with trial(plan.config, card="sim", kernel=own_settings(task, plan)) as short:
        short.warm(5)
        before, cycles = short.session.launches, short.session.device_cycles
        short.run(40)
        launches = short.session.launches - before
        taken = (short.session.device_cycles - cycles) / launches
    expected = plan_clocks(task, plan, kernel, 1.0, 32)
    assert taken == pytest.approx(expected, rel=0.01), json.dumps([taken, expected])

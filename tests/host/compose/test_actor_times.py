"""What actors take in a plan: the formula, and what is measured of one actor."""

import pytest

import host.compose.actor_times as acting
from host.actors.placement import ActorOptions, open_actors
from host.compose.actor_times import ActorTimes, measured
from host.runs.request import request
from hw.errors import UsageError

TIMES = dict(actors=4, beside=4, steps=64, actor_us=30.0, driver_us=400.0, message_us=80.0)


def acting_of(**changes):
    return ActorTimes(**TIMES | {"source": "a test"} | changes)


@pytest.mark.parametrize(
    "changes, steps, micros",
    [
        ({}, 64, 64 * 30 / 4 + 80 / 4),
        ({}, 8, 8 * 30 / 4 + 80 / 32),  # an eighth of a message
        ({"steps": 16}, 64, 4 * 400 + 80),  # a message of each actor: more than 480 us
        ({"steps": 16, "driver_us": 119.0}, 64, 480 + 80),
        ({"driver_us": 481.0}, 64, 481 + 20),
        ({"driver_us": 0.0, "message_us": 0.0}, 64, 480),
        ({"beside": 1}, 64, 64 * 30 + 80),
    ],
)
def test_the_longer_of_actors_and_driver_and_messages(changes, steps, micros):
    assert acting_of(**changes).launch_us(steps) == pytest.approx(micros)


@pytest.mark.parametrize(
    "family, left",
    [
        ("replay", {"other": 4.0}),
        ("rollouts", {"packing": 3.0, "other": 4.0}),
        ("rounds", {"policy": 2.0, "packing": 3.0, "other": 4.0}),
    ],
)
def test_parts_that_actors_do(family, left):
    names = ("environments", "policy", "packing", "other", "memory", "device", "learning")
    parts = {name: float(k) for k, name in enumerate(names, 1)}
    wanted = {name: 0.0 for name in names[:3]} | {"memory": 5.0, "device": 6.0, "learning": 7.0}
    found = acting_of().parts(parts, family, 64)
    assert found == wanted | left | {"environments": acting_of().launch_us(64)}
    assert parts["environments"] == 1.0


def test_a_message_that_is_given():
    found = acting_of().with_message_us(5.0)
    assert found == acting_of(message_us=5.0, source="a test; message_us given")
    with pytest.raises(UsageError, match="message_us must be at least 0 and finite, not -1"):
        acting_of().with_message_us(-1.0)


@pytest.fixture
def inline(monkeypatch):
    """No Ray; the worker's plans."""
    plans, make = [], acting.ActorPool._pool

    def seen(pool, sizes):
        made = make(pool, sizes)
        plans.append(made._make(0, 0)[1])
        return made

    def opened(count, options, size):
        assert count == 1 and size > 0
        return open_actors(count, ActorOptions(inline=True), size)

    monkeypatch.setattr(acting.ActorPool, "_pool", seen)
    monkeypatch.setattr(acting, "open_actors", opened)
    return plans


@pytest.mark.parametrize(
    "algo, settings, beside, steps, sizes",
    [
        ("dqn", {"env_count": 8, "steps_per_launch": 2}, 4, 64, (2,)),
        ("dqn", {"env_count": 8, "launches_per_message": 3}, 4, 96, (2,)),
        ("ppo", {"env_count": 8, "steps_per_launch": 5, "batch_size": 8}, 4, 10, (2,)),
        ("a3c", {"env_count": 16, "group": 2}, 2, 4, (2, 2)),
        ("a3c", {"env_count": 16, "group": 2, "actors": 1}, 1, 8, (2, 2, 2, 2)),
    ],
)
def test_one_actor_is_measured_as_it_is_in_the_run(inline, algo, settings, beside, steps, sizes):
    fields = {"env": "CartPole-v1", "actors": 4, "hidden": (8,)} | settings
    config, _ = request(algo, options={}, settings=fields)
    found = measured(config, 7, 3)
    assert (found.actors, found.beside, found.steps) == (config.actors, beside, steps)
    assert found.source.startswith("measured: 6 messages of one actor on Ray")
    assert {plan.sizes for plan in inline} == {sizes}
    assert 1 < found.actor_us < 1e5 and found.driver_us > 0 <= found.message_us
    assert len(inline) == (2 if algo == "a3c" else 1)
    if algo == "dqn":  # of a launch, one actor takes the steps of all
        assert inline[0].steps * inline[0].actors == 4 * settings.get("steps_per_launch", 4)


@pytest.mark.parametrize(
    "cycles, wanted",
    [
        ([(0.010, 0.012, 0.001)], (1000.0, 1000.0, 2000.0)),
        ([(0.010, 0.016, 0.015)], (1000.0, 15000.0, 1000.0)),  # the driver is the slower one
        ([(0.010, 0.009, 0.001)], (1000.0, 1000.0, 0.0)),
        ([(0.01, 0.012, 0.001), (0.9, 0.9, 0.9), (0.01, 0.012, 0.001)], (1000.0, 1000.0, 2000.0)),
    ],
)
def test_the_median_of_rounds(inline, monkeypatch, cycles, wanted):
    class Told:
        steps = 10

        def __init__(self, config, pool):
            self._left = [(9.0, 9.0, 9.0), *cycles]

        def measure(self, count):
            return self._left.pop(0)

    monkeypatch.setattr(acting, "_Collecting", Told)
    config, _ = request("dqn", options={"env": "CartPole-v1", "actors": 2}, settings={})
    found = measured(config, len(cycles), len(cycles))
    assert (found.actor_us, found.driver_us, found.message_us) == pytest.approx(wanted)

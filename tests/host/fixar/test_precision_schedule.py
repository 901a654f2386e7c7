"""host.fixar.precision_schedule: when precision switches, and by which ranges."""

from types import SimpleNamespace

import pytest

from host.algorithms.config import Clock
from host.fixar.fixar_ddpg import FixarDDPGConfig
from host.fixar.precision_plan import shifts
from host.fixar.precision_schedule import PrecisionSchedule


def of_schedule(**config):
    """A PrecisionSchedule and two networks for it."""
    config = FixarDDPGConfig(**config)
    networks = {
        name: SimpleNamespace(
            layers=2, capture=False, activation_shifts=None, error_shifts=None,
            ranges={
                "activation": [(-(1 << 20), 5), (0, 1 << 17)], "error": [(-9, 9), (0, 1 << 16)],
            },
        )
        for name in ("critic", "actor")
    }  # fmt: skip
    return PrecisionSchedule(config), networks


@pytest.mark.parametrize("window, first", [(1.0, 0), (0.1, 180), (1 / 3, 134)])
def test_ranges_are_of_all_steps_before_the_switch(window, first):
    """By default, as in FIXAR's Algorithm 1: they were of the last tenth alone (host 3)."""
    config = dict(precision="qat", quantization_delay=200)
    config |= {} if window == 1 else dict(quantization_window=window)
    schedule, networks = of_schedule(**config)
    for steps in range(200):
        schedule.begin(networks, Clock(steps))
        assert {each.capture for each in networks.values()} == {steps >= first}


@pytest.mark.parametrize("precision", ["qat", "qat_errors_full"])
def test_it_switches_at_the_delay(precision):
    """By the ranges of the window before it."""
    how = dict(precision=precision, quantization_delay=200, quantization_window=0.1)
    schedule, networks = of_schedule(**how)
    for steps in (0, 100, 179):
        schedule.begin(networks, Clock(steps))
        assert not any(each.capture for each in networks.values())
    for steps in (180, 199):
        schedule.begin(networks, Clock(steps))
        assert all(each.capture for each in networks.values()) and schedule.shifts is None
    for steps in (200, 201, 10_000):
        schedule.begin(networks, Clock(steps))
        assert not any(each.capture for each in networks.values())
        networks["actor"].ranges["error"][0] = (-(1 << 25), 0)  # frozen
        for each in networks.values():
            assert each.activation_shifts == [5, 2]
            assert each.error_shifts == (None if precision == "qat_errors_full" else [0, 2])
    original = of_schedule()[1]
    assert schedule.shifts == shifts({name: each.ranges for name, each in original.items()})


def test_the_delay_is_half_of_the_run():
    """A run's config says so; without a run nobody knows, and nothing switches."""
    config = FixarDDPGConfig(precision="qat")
    assert PrecisionSchedule(config.in_run(1001)).delay == 500
    schedule, networks = of_schedule(**config.in_run(1000).to_dict())
    schedule.begin(networks, Clock(450))
    assert networks["critic"].capture
    schedule.begin(networks, Clock(499))
    assert schedule.shifts is None
    schedule.begin(networks, Clock(500))
    assert schedule.shifts is not None
    schedule, networks = of_schedule(precision="qat")
    schedule.begin(networks, Clock(10**9))
    assert schedule.delay is None and not networks["critic"].capture


CAPTURED_LATE = [("qat", 200), ("qat", 0), ("fixed16_captured", 900), ("fixed16_captured", None)]


@pytest.mark.parametrize("precision, delay", CAPTURED_LATE)
def test_without_ranges_the_first_step_has_them(precision, delay):
    """After a delay without gradient steps, and where there is none."""
    schedule, networks = of_schedule(precision=precision, quantization_delay=delay)
    schedule.begin(networks, Clock(1000, 0))
    assert schedule.shifts is None and networks["actor"].capture
    schedule.begin(networks, Clock(1000, 1))
    assert schedule.shifts is not None and not networks["actor"].capture


def test_ranges_are_captured_though_no_step_was_in_the_window():
    """Gradient steps before it, and a collection that was longer than it."""
    how = dict(precision="qat", quantization_delay=200, quantization_window=0.1)
    schedule, networks = of_schedule(**how)
    schedule.begin(networks, Clock(100))
    schedule.begin(networks, Clock(300))
    assert schedule.shifts is None and networks["actor"].capture
    schedule.begin(networks, Clock(301))
    assert schedule.shifts is not None


@pytest.mark.parametrize("precision", ["fixed16_static", "fixed16_all"])
def test_static_formats_are_so_from_the_first_step(precision):
    """SQ(8,8) of 12 and 11 places less."""
    schedule, networks = of_schedule(precision=precision)
    schedule.begin(networks, Clock())
    for each in networks.values():
        assert (each.activation_shifts, each.error_shifts) == ([12, 12], [11, 11])
        assert not each.capture
    assert schedule.weight.fraction == (12 if precision == "fixed16_all" else 28)


def test_32_bits_stay_so():
    schedule, networks = of_schedule(precision="fixed32", quantization_delay=0)
    for steps in (0, 1000):
        schedule.begin(networks, Clock(steps, steps))
        assert networks["actor"].activation_shifts is None and not networks["actor"].capture

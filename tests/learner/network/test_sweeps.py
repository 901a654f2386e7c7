"""Sweeps one after the other, and errors of several networks that become one."""

import numpy as np
import pytest
from clocks import Clocks
from learner.learning import experiences, parameters, steps
from learner.network.test_network import numbers
from learner.quartet import ENTRIES

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.network.merge import Merge
from hw.learner.network.sweep_control import SweepControl
from sim.model.learner.network.network import merge
from sim.model.learner.network.trainer import Trainer

NARROW = Arithmetic(kind="fixed", weight=SQ(3, 9), activation=SQ(4, 6), gradient=SQ(2, 4))
SIZES = dict(algorithm="quartet", observation=3, action=2, hidden=(4,), batch=8)


@pytest.fixture
def quartet(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


@pytest.mark.parametrize("arithmetic", [Arithmetic(), NARROW], ids=["float32", "fixed"])
@pytest.mark.parametrize("takers", [2, 3])
def test_merge(simulate, tmp_path, arithmetic, takers):
    """A word a clock, of all takers that are wanted, with pauses."""
    rng, lanes, word, paths = np.random.default_rng(takers), 2, 2, 2
    unit = Merge(LayerConfig(arithmetic=arithmetic, lanes=lanes), word, paths, takers)
    latency, clocks, over = unit.latency_of(arithmetic, takers), Clocks(), 0
    wanted = [3, 1, 3][:takers]
    for clock in range(40):
        shape = takers, paths, lanes, word
        values = numbers(rng, arithmetic, "gradient", shape, 1.0)
        valid = int(rng.random() < 0.7)
        clocks.at(
            clock,
            **{f"i__{k}": dict(valid=valid, value=values[k]) for k in range(takers)},
            **{f"wanted__{k}": wanted[k] for k in range(takers)},
        )
        sums, clipped = zip(
            *(
                merge(arithmetic, [values[k][p] for k in range(takers) if wanted[k] >> p & 1])
                for p in range(paths)
            ),
            strict=True,
        )
        expected = dict(valid=valid) | (dict(value=list(sums)) if valid else {})
        clocks.expect(clock + latency, o=expected, saturations=sum(clipped) * valid)
        over += sum(clipped) * valid
    assert bool(over) == arithmetic.saturates
    clocks.run(simulate, unit, tmp_path)


def course(quartet_config, wanted=3, **inputs):
    """``Clocks`` with a train in clock 2, and levels from one clock to another."""
    clocks = Clocks()
    for clock in range(24):
        now = {name: int(a <= clock < b) for name, (a, b) in inputs.items()}
        clocks.at(clock, train=int(clock == 2), wanted=wanted, **now)
    return SweepControl(quartet_config), clocks


def test_a_sweep_begins_when_updates_have_ended(quartet, simulate, tmp_path):
    """Whatever is there too early: samples have passed, sums are there, and no update is left."""
    unit, clocks = course(
        LearnerConfig(**SIZES), update=(5, 6), updating=(6, 10), passed=(4, 12), summed=(4, 12)
    )
    for clock in range(16, 24):
        clocks.inputs[clock] |= dict(passed=1, summed=1)
    for clock in range(12, 18):
        clocks.inputs[clock] |= dict(updating=1)
    for clock in range(24):
        clocks.expect(
            clock,
            sweep=int(11 <= clock < 19),
            start={2: 1, 11: 2}.get(clock, 0),
            updates={5: 1, 11: 2}.get(clock, 0),
            more=int(6 <= clock < 19),
            trained=int(clock >= 17),
        )
    clocks.run(simulate, unit, tmp_path)


def test_a_sweep_is_left_out(quartet, simulate, tmp_path):
    """The first sweep is then the last: it is trained at its end, and nothing follows."""
    unit, clocks = course(
        LearnerConfig(**SIZES),
        wanted=1,
        update=(5, 6),
        updating=(6, 10),
        passed=(4, 24),
        summed=(12, 24),
    )
    for clock in range(24):
        clocks.expect(
            clock,
            sweep=0,
            start=int(clock == 2),
            updates=int(clock == 5),
            more=int(6 <= clock < 14),
            trained=int(clock >= 13),
        )
    clocks.run(simulate, unit, tmp_path)


def test_no_sweep_follows_one_that_diverged(quartet, simulate, tmp_path):
    unit, clocks = course(LearnerConfig(**SIZES), passed=(8, 24), summed=(8, 24), diverged=(6, 24))
    for clock in range(24):
        clocks.expect(clock, start=int(clock == 2), sweep=0, more=0, trained=int(clock >= 9))
    clocks.run(simulate, unit, tmp_path)


def test_one_sweep_is_trained_before_its_update(simulate, tmp_path):
    unit, clocks = course(LearnerConfig(), 1, passed=(4, 24), summed=(7, 24), update=(12, 13))
    for clock in range(24):
        clocks.expect(
            clock, start=int(clock == 2), updates=int(clock == 12), more=0, trained=clock >= 8
        )
    clocks.run(simulate, unit, tmp_path)


def overflow(records, place):
    """Of two experiences from ``place`` on, alike but for the sign of the reward, one has no finite
    TD error."""
    records["next_obs"][place + 1] = records["next_obs"][place]
    records["discount"][place : place + 2] = np.finfo(np.float32).max
    records["reward"][place : place + 2] = np.finfo(np.float32).max * np.float32([1, -1])


def trained(seed=0, **options):
    """``(learner, before, result)`` of a step of the twin."""
    learner, rng = Trainer(LearnerConfig(**SIZES | options)), np.random.default_rng(seed)
    weight = learner.config.arithmetic.weight
    unit = weight.resolution if learner.config.arithmetic.saturates else 1
    for kind in ("online", "target"):
        for name, layers in parameters(learner.config, rng).items():
            for own, pair in zip(learner.parameters[name], layers, strict=True):
                for array, values in zip(own[kind], pair, strict=True):
                    array[...] = values / unit
    records = {n: 5 * x.astype("<f4") for n, x in experiences(learner.config, rng, 8).items()}
    before = learner.store().copy()
    if seed:
        overflow(records, 3)
    step = steps(1, 8, rate=(0, 0.01), clip=np.inf)[0]
    return learner, before, learner.train(records, None, np.ones(8, np.float32), step)


def test_twin_that_diverges_leaves_out_the_second_sweep(quartet):
    learner, before, result = trained(seed=1)
    assert result.diverged in (3, 4) and (learner.store() == before).all()
    assert not any(part.any() for pair in learner.gradients["actor"] for part in pair)


def test_networks_of_a_rate_share_it(quartet):
    """Both critics have the first rate, which is 0 here; actor and value have the second."""
    learner, before, _ = trained(optimizer="sgd")
    after = learner.store()
    learner.load(before)
    moved = {}
    for name, layers in learner.parameters.items():
        old = [part.copy() for layer in layers for part in layer["online"]]
        learner.load(after)
        new = [part for layer in layers for part in layer["online"]]
        moved[name] = any((a != b).any() for a, b in zip(old, new, strict=True))
        learner.load(before)
    assert moved == {"critic": False, "value": True, "critic_2": False, "actor": True}


def test_saturations_of_all_sweeps_are_counted(quartet):
    """Of a format in which activations and gradients are clipped."""
    learner, _, result = trained(arithmetic=NARROW)
    assert all(count > 0 for count in result.saturations[1:]), result.saturations
    assert learner.gradients.keys() == {"critic", "value", "critic_2", "actor"}

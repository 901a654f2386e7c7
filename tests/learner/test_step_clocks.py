"""Clocks by formula against those of the simulated card."""

from dataclasses import replace

import numpy as np
import pytest
from learner.learning import experiences, parameters, steps
from learner.modelled import kernel_config
from learner.test_kernel import CASES, config_of
from replay.kernels import opened

import boards
from bench.learner.cycles import acting_cycles
from bench.learner.step_clocks import LEARNERS, case_of, measure
from host.learner.learning_replay import LearningReplay
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner import step_clocks as clocks_of_steps
from hw.learner import update_spans
from hw.learner.config import PARAMETER_SETS, LearnerConfig
from hw.learner.iteration_clocks import act_clocks, learn_clocks, store_clocks, train_clocks
from hw.learner.samples.sample_reader import SampleReader, words_a_clock
from hw.learner.schedule import schedule, step_units
from hw.learner.step_clocks import (
    SampleWalk,
    acting_clocks,
    pace,
    step_clocks,
)
from hw.shell.memory_clocks import READ, WRITE, latencies, launch_clocks
from hw.timing import Repeats
from sim.card.memory import MemoryConfig

_FIXED = Arithmetic(kind="fixed")
#: Kernels that other tests compile too.
QUICK = [config_of(*case) for case in CASES]


#: DDPG's critic takes words of the actor in clocks in which the reader, the slowest unit of these,
#: has to wait. With the last one, more words come at a time than is read ahead.
HELD_UP = {
    (9, (4,), 3, "fixed", 2): (238, 459),
    (12, (6, 6), 3, "float32", 2): (566, 856),
    (8, (5, 8, 5), 4, "float32", 1): (726, 1236),
}


def small(words, **options):
    """A learner for a small part: layers update in turn, and the loss is a program."""
    options = dict(hidden=(8,), double=False, optimizer="rmsprop", arithmetic=_FIXED) | options
    return LearnerConfig(words=words, batch=64, update_units=0, loss_unit="program", **options)


#: The loss is slower than the layers, and its sums end after the update; or the layers are slower,
#: and the first one's update waits for the last one's.
SMALL = [small((2, 4, 2)), small((1, 1, 1, 1), hidden=(24, 8), optimizer="adam")]


def held_up(observation, hidden, action, kind, lanes):
    options = dict(algorithm="ddpg", arithmetic=Arithmetic(kind=kind), batch=64, lanes=lanes)
    if lanes == 2:
        options |= dict(optimizer="sgd", multipliers=64)
    return LearnerConfig(observation=observation, hidden=hidden, action=action, **options)


def smoothed(observation, hidden, action, kind, lanes, **options):
    return LearnerConfig(
        algorithm="td3", observation=observation, hidden=hidden, action=action, lanes=lanes,
        batch=64, arithmetic=Arithmetic(kind=kind), **options,
    )  # fmt: skip


#: Of two sweeps with noise.
# fmt: off
SMOOTHED = [
    smoothed(6, (12,), 2, "fixed", 2, multipliers=4),
    smoothed(
        4, (9, 7), 3, "fixed", 1, words=((1, 3, 2, 1), (1, 3, 2, 1), (2, 3, 2, 1)),
        optimizer="rmsprop", update_units=2,
    ),
    smoothed(5, (6,), 1, "float32", 1, multipliers=2, optimizer="sgd", update_units=1),
    smoothed(9, (16,), 2, "fixed", 4, multipliers=8),
]
# fmt: on


#: Of a board whose memory is block RAM: short queues, and a weight comes after its experience.
SHORT = replace(QUICK[0], engine=DESIGNS["dqn"].default(boards.get("ulx3s").numbers).engine)


def check(config):
    """The first iteration's batch hides behind nothing, and the last one's draws none."""
    learner, rng = config.learner, np.random.default_rng(0)
    memory = latencies(config.engine)
    memory = MemoryConfig(read_latency=memory["read"], write_latency=memory["write"])
    with opened("sim", config, memory=memory) as kernel:
        buffer = LearningReplay(kernel, capacity=30, seed=0)
        buffer.initialize(parameters(learner, rng))
        buffer.add(**experiences(learner, rng, 30))
        for batch in (2, 8, 16):
            for inserts in (0, 1):
                new = experiences(learner, rng, 4) if inserts else None
                learned = buffer.learn(steps(4, batch), batch_size=batch, experiences=new)
                found = learned.reports["cycles"]
                assert (found[:, 2] == step_clocks(learner, batch).step).all()
                # Experiences that do not begin on a burst are stored a few clocks earlier.
                assert found[1:-1, 3].max() == learn_clocks(config, batch, inserts)
                assert inserts or (found[1:-1, 3] == found[1, 3]).all()
        sent = experiences(learner, rng, 4 * 16)
        trained = buffer.train(steps(4, 16), sent, batch_size=16).reports["cycles"]
        assert (trained[1:, 3] == train_clocks(config, 16)).all()
        for count, (_, command) in acting_cycles(buffer, (1, 2, 5, 16), rng).items():
            assert command == act_clocks(config, count)
        for sets in (PARAMETER_SETS[:1], PARAMETER_SETS[1:3], PARAMETER_SETS):
            before = buffer.device_cycles
            buffer.store(sets)
            inside = store_clocks(config, sets)
            whole = launch_clocks(config.engine, [inside], latencies(config.engine)["read"])
            assert buffer.device_cycles - before == whole, sets


@pytest.mark.parametrize("config", QUICK, ids=lambda config: case_of(config.learner))
def test_clocks_of_a_kernel(config):
    assert latencies(config.engine) == dict(read=READ, write=WRITE)
    check(config)


@pytest.mark.long
def test_clocks_of_a_kernel_with_short_queues():
    assert latencies(SHORT.engine) == dict(read=4, write=4)
    check(SHORT)


def test_the_memory_of_a_kernel_with_short_queues():
    """Clocks that the long test holds to the simulated kernel."""
    found = [learn_clocks(SHORT, batch, inserts) for batch in (2, 16) for inserts in (0, 1)]
    assert found == [173, 220, 313, 360]
    assert [act_clocks(SHORT, count) for count in (1, 8, 16)] == [90, 146, 202]
    longer = replace(SHORT, engine=replace(SHORT.engine, depth=22))
    assert latencies(longer.engine) == dict(read=10, write=10)
    assert learn_clocks(longer, 16) == 314, "now an experience comes after its weight"
    assert learn_clocks(longer, 2, 1) == 220 + 1 + 6 + 6, "and INSERT reads, and is answered"


#: Of each arithmetic, optimizer and algorithm.
LIMITED = [replace(LEARNERS[number], clip_norm=True) for number in (0, 3, 5, 6, 9, 11)]
#: Norms of two sweeps.
LIMITED += [replace(LEARNERS[9], algorithm="td3", clip_norm=True, optimizer="adam")]


@pytest.mark.long
@pytest.mark.parametrize(
    "learner",
    [*LEARNERS, *(held_up(*sizes) for sizes in HELD_UP), *LIMITED, *SMALL, *SMOOTHED],
    ids=case_of,
)
def test_clocks_of_all_kernels(learner):
    for (part, metric), (measured, formula) in measure(learner).items():
        assert measured == formula, (part, metric)


def found_by_formula(number):
    """Clocks of gradient steps with 4 samples a lane and with 64 samples in all."""
    learner = LEARNERS[number]
    return tuple(step_clocks(learner, batch).step for batch in (4 * learner.lanes, 64))


@pytest.mark.parametrize("number, steps", [(3, (440, 1000)), (4, (429, 1869)), (9, (565, 805))])
def test_the_last_layer_to_finish_is_not_the_one_with_the_longest_update(number, steps):
    """Clocks that the long test holds to the simulated kernels."""
    assert found_by_formula(number) == steps


def test_noise_of_the_first_super_sample_is_waited_for():
    """Clocks that the long test holds to the simulated kernel, whose noise is its pace."""
    found = [step_clocks(SMOOTHED[3], batch)[:2] for batch in (16, 64)]
    assert found == [(232, 691), (520, 1243)]


@pytest.mark.parametrize("units, more", [(8, 595), (16, 340), (32, 213)])
def test_a_limited_norm_costs_few_clocks(units, more):
    """Formulas that the long test holds to the simulated kernels; without it, it costs none."""
    learner = LearnerConfig(
        hidden=(64, 64), lanes=2, multipliers=128, update_units=units, arithmetic=_FIXED
    )
    plain = step_clocks(learner, 64).step
    assert step_clocks(replace(learner, clip_norm=True), 64).step == plain + more
    assert units < 32 or more <= 230 and plain == 1377


@pytest.mark.parametrize("number, steps", [(5, (411, 1851)), (7, (839, 2239)), (10, (472, 1432))])
def test_numbers_of_an_experience_and_padding_are_there_at_once(number, steps):
    """Clocks that the long test holds to the simulated kernels. Words that leave a buffer together
    do not wait for each other where all of them have come before."""
    assert found_by_formula(number) == steps


@pytest.mark.parametrize("sizes, steps", HELD_UP.items())
def test_words_of_another_network_hold_up_what_is_read(sizes, steps):
    """Clocks that the long test holds to the simulated kernels."""
    learner = held_up(*sizes)
    assert pace(learner) == SampleReader.interval_of(learner)
    assert steps == tuple(step_clocks(learner, batch).step for batch in (4 * learner.lanes, 64))


@pytest.mark.parametrize(
    "learner, clocks", [(SMALL[0], (798, 916, 11058)), (SMALL[1], (1614, 1614, 13134))]
)
def test_layers_of_a_network_update_in_turn_and_sums_may_end_last(learner, clocks):
    """Clocks that the long test holds to the simulated kernels."""
    few, many = step_clocks(learner, 4), step_clocks(learner, 64)
    assert clocks == (few.step, few.whole, many.step)
    updates = [spans for unit, spans in step_units(learner, 4).items() if "update" in unit]
    begins, ends = zip(*sorted(span for [span] in updates), strict=True)
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))


def test_of_layers_that_wait_for_the_optimizer_the_last_goes_first():
    """As ``UpdateControl`` does: layers 0 and 1 wait while 2 is updated."""
    assert update_spans._in_turn({0: 10, 1: 8, 2: 5}, {0: 4, 1: 4, 2: 20}) == {2: 5, 1: 26, 0: 31}
    # None waits for one that is not ready.
    assert update_spans._in_turn({0: 10, 1: 50}, {0: 4, 1: 4}) == {0: 10, 1: 50}


def test_as_many_words_are_read_as_the_layers_need_in_spite_of_that():
    """With a word a clock, the 24 words of a sample take 25 clocks, one of them for the actor's."""
    options = dict(words=((2, 16, 1), (4, 7, 2)), arithmetic=Arithmetic(), batch=512, lanes=2)
    learner = LearnerConfig(algorithm="ddpg", observation=8, action=2, hidden=(64,), **options)
    assert words_a_clock(learner) == 2
    assert pace(learner) == learner.interval == 24


@pytest.mark.parametrize(
    "learner", [each for each in LEARNERS if each.arithmetic.saturates], ids=case_of
)
def test_the_slowest_unit_decides_the_pace(learner):
    """Slots and banks are so many that no super-sample waits for another to return."""
    few, many = (step_clocks(learner, learner.lanes * count) for count in (64, 96))
    assert many.step - few.step == many.td - few.td == 32 * pace(learner)


@pytest.mark.parametrize(
    "options",
    [
        dict(hidden=(17, 11), multipliers=7, arithmetic=_FIXED),
        dict(hidden=(16,), multipliers=8, lanes=1),
        dict(algorithm="ddpg", hidden=(16, 8), multipliers=8, lanes=4, arithmetic=_FIXED),
        dict(hidden=(8, 8), multipliers=32, lanes=1, action=1),
        dict(algorithm="ddpg", observation=8, action=4, hidden=(5, 8, 5), multipliers=32, lanes=1),
    ],
)
def test_samples_that_repeat_are_not_walked(options, monkeypatch):
    """Whole periods are left out; a walk through all samples has the same clocks."""
    learner = kernel_config(**{"algorithm": "dqn", **options}, capacity=2000, batch=1024).learner
    batches, walked, forward = (1024, 1020, 1000, 32), [], SampleWalk._forward

    def count(*arguments):
        walked.append(0)
        return forward(*arguments)

    def found():
        walked.clear()
        clocks_of_steps._walked.cache_clear()
        steps = [step_clocks(learner, batch) for batch in batches]
        return [*steps, *(acting_clocks(learner, batch) for batch in batches)], len(walked)

    monkeypatch.setattr(SampleWalk, "_forward", count)
    clocks, few = found()
    monkeypatch.setattr(Repeats, "times", lambda *places: 0)
    every, all_of_them = found()
    clocks_of_steps._walked.cache_clear()
    assert clocks == every and all_of_them > 1.5 * few
    assert [each.step for each in every[:4]] == sorted([each.step for each in every[:4]])[::-1]


@pytest.mark.parametrize("config", QUICK, ids=lambda config: case_of(config.learner))
def test_the_schedule_of_a_step(config):
    """It ends with the step; samples pass the units in order."""
    learner = config.learner
    units, lines = step_units(learner, 5), schedule(learner, 5).split("\n")
    step = step_clocks(learner, 5 * learner.lanes).step
    assert f" takes {step} clocks." in lines[0]
    assert max(end for spans in units.values() for _, end in spans) == step - 1
    forward = [spans for name, spans in units.items() if name == "reader" or "forward" in name]
    back = [spans for name, spans in units.items() if "backward" in name]
    assert len(back) == len(forward) - 1 == sum(map(len, learner.networks.values()))
    for way in zip(*forward, units["loss"], *back, strict=True):
        begun = [begin for begin, _ in way]
        assert begun == sorted(begun) and all(begin < end for begin, end in way)
    drawn_units = [line.split("  ")[0] for line in lines[4:-2]]
    assert drawn_units[0] == "reader" and len(drawn_units) == len(units)


def test_a_design_says_its_clocks():
    config = QUICK[0]
    assert DESIGNS["dqn"].clocks(config) == {
        "gradient step of 16 samples": step_clocks(config.learner, 16).step,
        "iteration of LEARN with 16 samples": learn_clocks(config, 16),
        "ACT for one observation": act_clocks(config, 1),
    }

"""The kernel ``fixar``: Verilog on card ``sim`` against the twin on card ``model``, byte for byte.

Compared are reports without clocks, lists of TD errors, actions, parameters, priorities, storage
and the whole status: the random generator, saturations, precision, ranges. The last test has AXI
models of another project.
"""

import axi
import numpy as np
import pytest
from fixar.kernels import KINDS, SMALL, FixarPrograms, kernel_config, pair, precision_of, status_of
from learner import core_bad
from replay.programs import CLOCKS

from hw.fixar.config import CODE_WIDTH
from hw.fixar.precision import Precision, slots
from hw.learner.records import REPORT, LearnError
from sim.card.memory import MemoryConfig

NONE = (1 << 31) - 1, -1 << 31  # a range in which nothing was seen
CASES = {
    "three cores, side 8": dict(
        observation=11, action=3, hidden=(20, 13), cores=3, side=8, batch=24, optimizer="rmsprop"
    ),
    "one hidden layer": dict(observation=4, action=1, hidden=(9,), optimizer="sgd"),
    "four hidden layers": dict(observation=2, action=3, hidden=(5, 9, 4, 7), cores=1),
    # Action lanes in two words of the frame, of which one has an observation as well.
    "more actions than lanes": dict(observation=6, action=5, hidden=(8, 12), batch=9),
    "whole words of actions": dict(observation=7, action=8, hidden=(8, 4), optimizer="sgd"),
    "wide frame": dict(observation=37, action=2, hidden=(17, 6), data_width=512, cores=3),
    "side 16": dict(observation=17, action=6, hidden=(33, 18), side=16, cores=1, data_width=512),
}


def begun(kernels, source):
    """Memory filled and parameters loaded."""
    launch, reports = source.first()
    shell, *_ = kernels.run(launch, reports, "first")
    assert shell["error"] == 0
    return kernels


def reports_of(outputs, places):
    rows = [outputs["results"][at : at + REPORT.size].view(REPORT.dtype)[0] for at in places]
    return np.array(rows, REPORT.dtype)


def switched(source, kind, count=3):
    """``[LEARN x count, FORMAT, LEARN x count, ACT, FORMAT back, LEARN, ACT]``, all stored."""
    program, batch = source.fresh(), source.config.learner.batch
    precision = precision_of(source.config, kind)
    for each, iterations in ((None, count), (precision, count), (Precision(), 1)):
        if each is not None:
            program.format(each)
        records = source.records(2 * iterations)
        program.learn(source.steps(iterations), records, **source.fields(batch))
        source.act(program, 5, noise=0)
    return source.tail(program)


@pytest.mark.parametrize("kind", ["mixed", "half"])
def test_the_switch_and_back(kind):
    source = FixarPrograms(SMALL, 1)
    with pair(SMALL) as kernels:
        begun(kernels, source)
        launch, places = switched(source, kind)
        shell, _, learner = kernels.run(launch, places, kind)
        assert shell["error"] == 0 and learner["iterations"] == 7
        reports = reports_of(kernels.outputs, places)
        assert (reports["loss"] > 0).all() and (np.diff(reports["loss"]) != 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_batches_that_fill_no_word(kind):
    """Of LEARN, TRAIN and ACT: a core without samples, odd ones, half pairs."""
    source = FixarPrograms(SMALL, 2)
    with pair(SMALL, memory=MemoryConfig(stall=0.2, seed=3)) as kernels:
        begun(kernels, source)
        for batch in (1, 2, 3, 5, 15, 16):
            program = source.fresh()
            program.format(precision_of(SMALL, kind), clear=1)
            program.learn(source.steps(2), source.records(2), **source.fields(batch))
            program.train(source.steps(2), source.batches(2, batch))
            source.act(program, batch)
            shell, *_ = kernels.run(*source.tail(program), f"batch {batch}")
            assert shell["error"] == 0
            ranges = status_of(kernels.outputs)["activation_ranges"].reshape(-1, 2)
            assert (
                ranges[: slots(SMALL.learner)[0], 0] <= ranges[: slots(SMALL.learner)[0], 1]
            ).all()


def test_format_changes_nothing_that_is_stored():
    """Parameters are the same before and after, and so is what full precision learns then."""
    source = FixarPrograms(SMALL, 3)
    with pair(SMALL) as kernels:
        begun(kernels, source)
        program, images = source.fresh(), []
        for each in (Precision(), *(precision_of(SMALL, kind) for kind in KINDS), Precision()):
            program.format(each)
            source.act(program, 4, noise=0)
            images.append(program.results_bytes)
            source.store(program, 15)
        kernels.run(*(program.launch(), program.reports), "formats")
        size, results = source.image(15), kernels.outputs["results"]
        first = results[images[0] : images[0] + size]
        for place in images[1:]:
            np.testing.assert_array_equal(results[place : place + size], first)


def test_ranges_are_kept_and_forgotten():
    """Nothing is seen by acting; a FORMAT forgets only where it says so."""
    source = FixarPrograms(SMALL, 4)
    counts = dict(zip(("activation", "error"), slots(SMALL.learner), strict=True))
    with pair(SMALL) as kernels:
        begun(kernels, source)

        def ranges(label, clear, learns):
            program = source.fresh()
            program.format(precision_of(SMALL, "half"), clear=clear)
            if learns:
                program.learn(source.steps(1), source.records(0), **source.fields(16))
            source.act(program, 16)
            kernels.run(program.launch(), program.reports, label)
            status = status_of(kernels.outputs)
            return {
                kind: [
                    tuple(pair) for pair in status[f"{kind}_ranges"].reshape(-1, 2)[:count].tolist()
                ]
                for kind, count in counts.items()
            }

        empty = {kind: [NONE] * count for kind, count in counts.items()}
        assert ranges("cleared", 1, False) == empty
        seen = ranges("learned", 0, True)
        assert all(low <= high for pairs in seen.values() for low, high in pairs)
        assert ranges("kept", 0, False) == seen
        assert ranges("cleared again", 1, False) == empty


def randomly(kernels, source, count):
    """Random programs, of which some end badly; the errors that were met."""
    errors, bad = [], [core_bad.number, core_bad.seen, core_bad.weight, core_bad.batch]
    begun(kernels, source)
    for number in range(count):
        wrong = bad[number // 2 % len(bad)] if number % 2 else None
        launch, reports = source.program(source.rng.randint(1, 4), wrong)
        shell, replay, learner = kernels.run(launch, reports, f"program {number} ({wrong})")
        source.fill = int(replay["fill"])
        errors.append(int(shell["error"]))
        if source.fill < source.capacity - 2:
            begun(kernels, source)
    return set(errors), int(learner["iterations"])


class Coarse(FixarPrograms):
    """Inputs are whole, weights of fourths: in units of an activation, which has 20 bits behind the
    point, hidden numbers are multiples of 2^18, and half of a cell is all zeros."""

    def weights(self, *shape):
        return np.round(4 * super().weights(*shape)) / 4

    def records(self, count, **fields):
        obs, next_obs = self.bytes.integers(-2, 3, (2, count, self.config.learner.observation))
        action = self.bytes.integers(-1, 2, (count, self.config.learner.action))
        return super().records(count, obs=obs, next_obs=next_obs, action=action, **fields)


@pytest.mark.parametrize("kind", ["full", "mixed"])
def test_numbers_without_lower_bits(kind):
    """A hidden number whose lower half is zero is not zero: its error passes."""
    source = Coarse(SMALL, 6)
    with pair(SMALL) as kernels:
        begun(kernels, source)
        program = source.fresh()
        program.format(precision_of(SMALL, kind))
        program.train(source.steps(1), source.batches(1, 16))
        shell, *_ = kernels.run(*source.tail(program), kind)
        assert shell["error"] == 0


@pytest.mark.parametrize("wild", [False, True])
def test_random_programs(wild):
    source = FixarPrograms(SMALL, 5 + wild, wild)
    with pair(SMALL, memory=MemoryConfig(stall=0.1, seed=4)) as kernels:
        errors, iterations = randomly(kernels, source, 16)
    assert errors >= {0, LearnError.NUMBER, LearnError.BATCH}
    assert iterations > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_many_random_programs(seed):
    source = FixarPrograms(SMALL, 100 + seed, wild=seed % 2)
    with pair(SMALL, memory=MemoryConfig(stall=0.2 * (seed // 2), seed=seed)) as kernels:
        errors, iterations = randomly(kernels, source, 120)
    assert errors >= {0, LearnError.NUMBER, LearnError.BATCH}
    assert iterations > 150


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_other_shapes(case):
    config = kernel_config(**{"batch": 16, "cores": 2, "side": 4, **CASES[case]})
    source = FixarPrograms(config, 7)
    with pair(config, 1 << 17) as kernels:
        begun(kernels, source)
        for kind in KINDS:
            kernels.run(*switched(source, kind), f"{case}, {kind}")
        errors, _ = randomly(kernels, source, 30)
    assert 0 in errors


@pytest.mark.long
def test_two_thousand_iterations():
    """Half of them in full precision, half in half, by the ranges that were seen."""
    source = FixarPrograms(SMALL, 8)
    with pair(SMALL) as kernels:
        begun(kernels, source)
        for number in range(20):
            program = source.fresh()
            if number == 10:
                program.format(_by_ranges(status_of(kernels.outputs)))
            program.learn(source.steps(100), source.records(100), **source.fields(16))
            shell, _, learner = kernels.run(*source.tail(program), f"launch {number}")
            assert shell["error"] == 0
        assert learner["iterations"] == 2000


@pytest.mark.long
def test_twenty_iterations_of_the_paper():
    """HalfCheetah's networks on 512 PEs, in all precisions."""
    config = kernel_config(512, 600, observation=17, action=6, hidden=(400, 300), batch=512)
    source = FixarPrograms(config, 9)
    rig = dict(timeout_s=1200, sizes=dict(operands=1 << 23, results=1 << 23))
    with pair(config, 1 << 18, rig) as kernels:
        begun(kernels, source)
        for kind, count in zip(KINDS, (7, 7, 6), strict=True):
            program = source.fresh()
            program.format(precision_of(config, kind, frame=9, activation=9, error=8))
            program.learn(source.steps(count), source.records(count), **source.fields(64))
            shell, _, learner = kernels.run(*source.tail(program), kind)
            assert shell["error"] == 0
        assert learner["iterations"] == 20


def _by_ranges(status):
    shifts = {}
    for kind, count in zip(("activation", "error"), slots(SMALL.learner), strict=True):
        pairs = status[f"{kind}_ranges"].reshape(-1, 2)[:count]
        largest = np.abs(pairs).max(axis=1).tolist()
        shifts[f"{kind}_shifts"] = tuple(max(0, x.bit_length() + 1 - CODE_WIDTH) for x in largest)
    return Precision(activations=True, errors=True, **shifts)


#: One core of four columns; observations and actions share a word of the frame.
TINY = dict(observation=3, action=2, hidden=(5,), batch=8, cores=1, side=4)


@pytest.mark.long
@pytest.mark.parametrize("data_width", [128, 512])
def test_learning_under_back_pressure(simulate, tmp_path, data_width):
    """Iterations in full and in half precision, actions with noise, one program that breaks a rule;
    on the narrow bus also where other things come first at time 0."""
    config = kernel_config(data_width, capacity=37, **TINY)
    source = FixarPrograms(config, 5)
    launches = [source.first()]
    for kind in ("full", "half"):
        program = source.fresh()
        program.format(precision_of(config, kind))
        program.learn(source.steps(2), source.records(2), **source.fields(8))
        source.act(program, 3)
        launches.append(source.tail(program))
    program = source.fresh()
    program.learn(source.steps(1), source.records(0), **(source.fields() | {"batch": 9}))
    launches.append((program.launch(), program.reports))
    launches, reports = zip(*launches, strict=True)
    unknown = [[place + REPORT.offsets["cycles"] for place in places] for places in reports]
    outcomes = [[launch.command_count, 0] for launch in launches[:-1]]
    outcomes.append([0, int(LearnError.BATCH)])
    axi.run(simulate, tmp_path, "fixar", config, launches, outcomes, gap=0.3, clocks=CLOCKS,
            unknown=unknown, limit_us=4000,
            again="icarus-2005" if data_width == 128 else None)  # fmt: skip

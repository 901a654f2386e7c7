"""Twin of STATISTICS against NumPy in float64, HEPPO's recurrence, and itself in parts.

``hw.gae.statistics.statistics`` against Python's integers, clock by clock.
"""

import random

import numpy as np
import pytest
from gae.naive import LIMITS
from gae.paced import Paced
from gae.slots import bits, fields_of, kernel_config, memory, packed, random_kinds, record

from hw.gae.commands import Opcode
from hw.gae.records import MOMENTS, Error, Kind
from hw.gae.standardize import Standardize
from hw.gae.statistics.mean_deviation import MeanDeviation
from hw.gae.statistics.statistics import Statistics
from hw.gae.statistics.sums import Sums
from sim.model.gae.intake.intake import Intake
from sim.model.gae.statistics.mean_deviation import moments as twin_moments
from sim.model.gae.statistics.mean_deviation import wrapped

CONFIG = kernel_config(128, rows=8)
EXPONENT = 16


def statistics(kinds, rewards, values, **fields):
    """Two records."""
    rng = np.random.default_rng(0)
    raw = memory(CONFIG, Opcode.STATISTICS, (kinds, rewards, values), rng)
    command = fields_of(
        Opcode.STATISTICS, **dict(reward_exponent=EXPONENT, value_exponent=EXPONENT) | fields
    )
    error, _, moments = Intake(CONFIG).statistics(raw, command)
    assert error == Error.NONE
    return moments.view(MOMENTS.dtype)


def rollout(slots, seed, scale):
    """Numbers that 27 bits with the exponent hold exactly."""
    rng = np.random.default_rng(seed)
    kinds = random_kinds(slots, np.zeros(CONFIG.gae.rows, bool), rng)
    numbers = rng.normal(scale, scale, (2, *kinds.shape))
    rewards, values = (np.round(numbers * 2**EXPONENT) / 2**EXPONENT).astype(np.float32)
    return kinds, rewards, values


def counted(kinds, rewards, values):
    """The numbers that count, in order, float64."""
    steps = np.isin(kinds, (Kind.STEP.value, Kind.TERMINAL.value))
    return rewards[steps].astype(float), values[kinds != Kind.NONE.value].astype(float)


@pytest.mark.parametrize("scale", [2.0**-12, 0.3, 100.0])
@pytest.mark.parametrize("slots", [1, 2, 500])
def test_numpy(slots, scale):
    """The exact sums rounded once: half a unit in the last place, and NumPy's own error."""
    planes = rollout(slots, slots, scale)
    for moments, numbers in zip(statistics(*planes), counted(*planes), strict=True):
        assert moments["count"] == len(numbers)
        assert moments["clipped"] == 0
        assert abs(moments["mean"] - numbers.mean()) <= 0.51 * np.spacing(moments["mean"])
        assert abs(moments["deviation"] - numbers.std()) <= 0.51 * np.spacing(moments["deviation"])


def welford(numbers):
    """HEPPO, equations 6 to 9, a number at a time; the deviation of the population."""
    mean = squares = 0.0
    for count, number in enumerate(numbers, start=1):
        change = number - mean
        mean += change / count
        squares += change * (number - mean)
    return mean, np.sqrt(squares / len(numbers))


def priors(moments):
    return dict(
        prior_count=int(moments["count"]),
        prior_sum=int(moments["sum"]),
        prior_squares=moments["squares"].tolist(),
    )


def test_running_rewards():
    """Commands that go on from each other: as one, and as the recurrence over all rewards."""
    planes = rollout(300, 1, 2.0)
    whole = statistics(*planes)[0]
    cuts, moments = [0, 1, 40, 41, 200, 300], None
    for begin, end in zip(cuts, cuts[1:], strict=False):
        part = [plane[begin:end] for plane in planes]
        prior = {} if moments is None else priors(moments)
        moments, values = statistics(*part, **prior)
        # Values have no prior.
        assert values["count"] == len(counted(*part)[1])
    assert moments == whole
    mean, deviation = welford(counted(*planes)[0])
    assert moments["mean"] == pytest.approx(mean, rel=2**-23)
    assert moments["deviation"] == pytest.approx(deviation, rel=2**-23)


def test_clipped_and_alike():
    """Numbers beyond 27 bits are counted; equal ones deviate by exactly 0."""
    kinds = np.full((2, CONFIG.gae.rows), Kind.TERMINAL.value, np.uint8)
    rewards, values = np.full((2, *kinds.shape), 3.0, np.float32)
    rewards[0, :3] = 1e30, -1e30, 2**10
    rewards_moments, values_moments = statistics(kinds, rewards, values)
    assert rewards_moments["clipped"] == 3
    limits = [(1 << 26) - 1, -(1 << 26), (1 << 26) - 1]
    expected = sum(limits) + 3 * (kinds.size - 3 << EXPONENT)
    assert rewards_moments["sum"] == expected
    assert (values_moments["mean"], values_moments["deviation"]) == (3.0, 0.0)


#: Of a unit's lanes: exponents, prior, planes with numbers, pace of what advances.
COMMANDS = [
    dict(),
    dict(exponents=(150, -150), planes=(0,)),
    dict(exponents=(-150, 150), planes=(1,)),
    dict(prior=(1, -1, 1), planes=()),
    dict(prior=(7, -(1 << 26), 1 << 52), exponents=(-1, 26)),
    dict(prior=((1 << 32) - 2, -(1 << 58), (1 << 84) - 1), pace="random"),
    dict(prior=((1 << 32) - 1, (1 << 58) - 1, (1 << 83) + 1), pace="solid"),
    dict(last=0, pace="random"),
    dict(last=0, count=1),
    dict(count=60, pace="solid"),
]


class Hardware:
    """Commands of ``Statistics``, one after another, and the records of each."""

    def __init__(self, lanes):
        self.lanes, self.clocks, self.rng = lanes, Paced(), random.Random(lanes)
        self.done = set()

    def command(self, exponents=(3, 20), prior=(0, 0, 0), planes=(0, 1), pace="steady", **beats):
        fields = dict(zip(("reward_exponent", "value_exponent"), exponents, strict=True))
        squares = [prior[2] % (1 << 64), prior[2] >> 64]
        fields |= dict(prior_count=prior[0], prior_sum=prior[1], prior_squares=squares)
        command = record(Opcode.STATISTICS, count=1, **fields)
        clipped = [self.rng.getrandbits(32) for _ in "rv"]
        self.clocks.steady = dict(
            command=int.from_bytes(command.tobytes(), "little"),
            rewards_clipped=clipped[0],
            values_clipped=clipped[1],
        )
        self.clocks.add(start=1)
        self.clocks.set_pace(pace)
        every = [*self._beats(planes, **beats)]
        sent = self._send(every)
        records = np.zeros(2, MOMENTS.dtype)
        for plane, (sums, exponent) in enumerate(zip((prior, (0, 0, 0)), exponents, strict=True)):
            numbers = [
                x for p, xs, step, _ in every if step and p == plane for x in xs if x is not None
            ]
            more = len(numbers), sum(numbers), sum(x * x for x in numbers)
            sums = wrapped(*(a + b for a, b in zip(sums, more, strict=True)))
            entry = records[plane]
            entry["count"], entry["sum"] = sums[0], np.int64(sums[1]).view(records.dtype["sum"])
            entry["squares"] = sums[2] % (1 << 64), sums[2] >> 64
            entry["mean"], entry["deviation"] = twin_moments(*sums, exponent)
            entry["clipped"] = clipped[plane]
        self._expect(sent, int.from_bytes(records.tobytes(), "little"), pace)

    def _beats(self, planes, count=12, last=1):
        """``(plane, a number or None of each lane, step, last)``; the last beat is of ``last``."""
        for k in range(count):
            is_last = k == count - 1
            plane = last if is_last else self.rng.randrange(2)
            beat = [None] * self.lanes
            if plane in planes:
                numbers = [self.rng.choice([*LIMITS, self.rng.randint(*LIMITS)]) for _ in beat]
                beat = [self.rng.choice([x, x, None]) for x in numbers]
            yield plane, beat, 1, is_last
            if not is_last and self.rng.random() < 0.3:
                yield self.rng.randrange(2), beat, 0, self.rng.randrange(2)

    def _send(self, every):
        """Returns the move of the last beat; what is of a beat without a step is anything."""
        latest = max(Standardize.X_LATENCY, Standardize.PRODUCT_LATENCY)
        for k in range(len(every) + latest):
            inputs = {}
            if k < len(every):
                plane, beat, step, last = every[k]
                counts = bits(x is not None for x in beat)
                inputs |= dict(step=step, values=plane, counts=counts, last=last)
            for name, latency, width, power in (
                ("x", Standardize.X_LATENCY, 27, 1),
                ("products", Standardize.PRODUCT_LATENCY, 54, 2),
            ):
                if 0 <= k - latency < len(every):
                    numbers = [x or 0 for x in every[k - latency][1]]
                    inputs[name] = packed([x**power for x in numbers], width)
            move = self.clocks.move(**inputs)
            if k == len(every) - 1:
                sent = move
        return sent

    def _expect(self, sent, records, pace):
        """``done`` once, as many clocks after the last sums as two moments take."""
        late = Standardize.PRODUCT_LATENCY + Sums.latency_of(self.lanes)
        while len(self.clocks.moved) < sent + late:
            self.clocks.move()
        summed = self.clocks.moved[sent + late - 1] + 1
        done = summed + 2 * MeanDeviation.LATENCY + 1
        if pace == "steady":
            assert done == self.clocks.moved[sent] + Statistics.latency_of(self.lanes)
        self.done.add(done)
        for clock in (done, done + 1, done + 4):
            self.clocks.expect(clock, moments=records)
        while len(self.clocks.inputs) <= done + 4:
            self.clocks.move()

    def run(self, simulate, directory):
        for clock in range(len(self.clocks.inputs)):
            self.clocks.expect(clock, done=clock in self.done)
        self.clocks.run(simulate, Statistics(self.lanes), directory)


@pytest.mark.parametrize("lanes", [1, 4])
def test_hardware(simulate, tmp_path, lanes):
    """Records and ``done`` of commands one after another, against Python's integers."""
    hardware = Hardware(lanes)
    for command in COMMANDS:
        hardware.command(**command)
    hardware.run(simulate, tmp_path)

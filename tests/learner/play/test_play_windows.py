"""n-step windows against their twin; the twin against the host's ``NStep`` and exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from arith.vectors import check_stream, word
from later import later
from learner.play.stream_phases import Phases

from host.environments.environment import Transitions
from host.environments.spec import Spec
from host.replay.nstep import NStep
from hw.errors import UsageError
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.windows import Windows, WindowsConfig
from sim.model.learner.play import windows

ONE = 1 << 31
HIGH, LOW = ONE - 1, -ONE
DISCOUNT = round(0.99 * ONE)
#: Its square is 9 / 2 last places.
HALVES = 3 << 15


def transitions(rng, config, ending, rewards=(LOW, HIGH + 1)):
    """A random transition of each environment; episodes end with the chance ``ending``."""
    count = config.environments

    def words(width):
        return rng.integers(1 << 32, size=(count, width), dtype=np.uint32)

    reward = rng.integers(*rewards, size=count)
    reward = np.where(rng.random(count) < 0.2, rng.choice([LOW, HIGH, 0, 1, -1], count), reward)
    ends = rng.random((2, count)) < ending / 2
    return words(config.observation), words(config.observation), words(config.action), reward, *ends


class Course:
    """Phases of ``Windows``, with the twin's experiences."""

    def __init__(self, seed=0, **sizes):
        self.config, self.rng = WindowsConfig(**sizes), np.random.default_rng(seed)
        self.phases = Phases(Windows(self.config))
        self.twin = windows.Windows(self.config.environments)
        self.closed, self._inputs, self._outputs = [], {}, {}
        self._empty()

    def _empty(self):
        self._inputs, self._outputs = {"start": [], "i": []}, {"o": []}

    def start(self, n, discount=DISCOUNT, scale=ONE):
        self._n = n
        self._inputs["start"].append(dict(n=n, discount=discount, scale=scale))
        self.twin.start(n, discount, scale)

    def push(self, ending, fraction=20):
        obs, next_obs, action, reward, *flags = transitions(self.rng, self.config, ending)
        for number, before in enumerate(self.twin.open):
            # Lengths of the windows that this transition closes.
            count = len(before) + 1
            ends = flags[0][number] or flags[1][number]
            self.closed.append([*range(count, 0, -1)] if ends else [count] * (count == self._n))
            words = np.concatenate([obs[number], next_obs[number], action[number]])
            self._inputs["i"] += [dict(word=each) for each in words] + [
                dict(word=int(reward[number]) & 0xFFFFFFFF, fraction=fraction,
                     terminated=flags[0][number], truncated=flags[1][number])
            ]  # fmt: skip
        found = self.twin.push(obs, next_obs, action, reward, fraction, *flags)
        for each in found:
            self._outputs["o"] += [
                dict(word=int(bits), last=k == len(each) - 1) for k, bits in enumerate(each)
            ]

    def ends_here(self, cut=0):
        """A phase of all since the last one."""
        self.phases.add(self._inputs, self._outputs, cut=cut)
        self._empty()

    @property
    def paces(self):
        """Clocks of the first start, and of all transitions but the last one."""
        config = self.config
        words = 2 * config.observation + config.action + 1
        paces = [["i", 0, config.start_clocks(self._n)]]
        for number, lengths in enumerate(self.closed[:-1], 1):
            paces.append(["i", number * words, config.transition_clocks(lengths)])
        return paces


SIZES = [
    (dict(environments=3, observation=2, action=1, longest=4), (4, 1, 3)),
    (dict(environments=1, observation=1, action=1, longest=1), (1,)),
    later(dict(environments=5, observation=3, action=2, longest=5), (5, 4, 2)),
    later(dict(environments=8, observation=4, action=1, longest=16), (16, 10)),
    later(dict(environments=2, observation=32, action=32, longest=16), (16,)),
]


@pytest.mark.parametrize("sizes, lengths", SIZES)
def test_random_episodes(simulate, tmp_path, sizes, lengths):
    """Starts in the middle of episodes; the last one is cut by a reset before it, too."""
    course = Course(**sizes)
    course.start(lengths[0])
    for step in range(2 * lengths[0] + 12):
        course.push(ending=0.5 if step % 3 == 0 else 0.1)
    paces = course.paces
    course.ends_here()
    for cut, n in enumerate(lengths[1:], 3):
        course.start(n, discount=ONE if cut % 2 else HALVES, scale=(1 << 32) - 1)
        course.push(0)
        course.ends_here(cut=40 * cut)
        course.start(n, discount=ONE if cut % 2 else HALVES, scale=(1 << 32) - 1)
        for _ in range(2 * n + 3):
            course.push(0.2, fraction=63)
        course.ends_here()
    course.phases.run(simulate, tmp_path, first="start", paces=paces)


@pytest.mark.parametrize("environments, longest", [(3, 16), (64, 2), later(64, 16)])
def test_the_most_environments_and_rewards(simulate, tmp_path, environments, longest):
    """The longest windows fill, and some end at once: the lengths of a window are 16 to 1."""
    course = Course(environments=environments, observation=1, action=1, longest=longest)
    course.start(longest)
    for _ in range(longest):
        course.push(0)
    course.push(0.6)
    course.ends_here()
    assert [*range(longest, 0, -1)] in course.closed
    course.phases.run(simulate, tmp_path, gaps=[(0, 0)])


def spec(observation, action_count=5):
    return Spec(shape=(observation,), dtype="float32", discrete=True, action_count=action_count)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("environments", [1, 7, 64])
def test_the_twin_closes_what_the_host_closes(environments, n):
    """The same windows after the same steps, in the same order; values within their rounding."""
    rng = np.random.default_rng(100 * environments + n)
    config = WindowsConfig(environments=environments, observation=3)
    discount, scale, fraction = round(0.97 * ONE), 5 << 26, 26
    host = NStep(environments, n, discount / ONE, spec(3), scale=scale / ONE)
    twin, total = windows.Windows(environments), 0
    twin.start(n, discount, scale)
    for step in range(60):
        obs, next_obs, action, reward, *ends = transitions(rng, config, 0.15)
        action %= 5
        taken = Transitions(
            *(obs.astype(np.float32), action[:, 0].astype(np.int64), reward / 2.0**fraction),
            *(next_obs.astype(np.float32), *ends, np.ones(environments, bool)),
        )
        wanted = host.push(taken)
        floats = [each.astype(np.float32).view(np.uint32) for each in (obs, next_obs)]
        found = twin.push(*floats, action, reward, fraction, *ends)
        assert len(found) == len(wanted), step
        total += len(found)
        if not found:
            continue
        rows = np.array(found)
        assert (rows[:, :3] == wanted["obs"].view(np.uint32).reshape(-1, 3)).all()
        assert (rows[:, 3:6] == wanted["next_obs"].view(np.uint32).reshape(-1, 3)).all()
        assert (rows[:, 6] == wanted["action"]).all()
        numbers = np.ascontiguousarray(rows[:, 7:]).view(np.float32).astype(np.float64)
        # Each weight k is off by k 2^-32 at most, each rounding to binary32 by 2^-24.
        largest = 2.0 ** (31 - fraction)
        bound = n * n / 2 * 2.0**-32 * largest + 3 * 2.0**-24 * n * largest
        np.testing.assert_allclose(numbers[:, 0], wanted["reward"], rtol=0, atol=bound)
        np.testing.assert_allclose(
            numbers[:, 1], wanted["discount"], rtol=2.0**-23, atol=n * 2.0**-32
        )
        assert ((numbers[:, 1] == 0) == (wanted["discount"] == 0)).all()
    assert total > 60 * environments * 0.6


def test_a_sum_is_exact_until_it_is_rounded():
    """Fractions; the largest sum of all, and sums that cancel to the last place."""
    for n, rewards, scale in [
        (16, [LOW] * 16, 2 * ONE - 1),
        (16, [HIGH] * 16, 2 * ONE - 1),
        # Beyond 63 bits by little.
        (2, [LOW, LOW // 2], 2 * ONE - 1),
        (2, [HIGH, HIGH // 2], 2 * ONE - 1),
        (3, [1 << 30, -(1 << 29), -1], ONE // 2),
        (2, [1, 0], 1),
        (2, [(1 << 24) + 1, 0], ONE),
        (2, [(1 << 24) + 3, 0], ONE),
        (2, [(1 << 25) + 2, 1], ONE),
        # Half of a last place, and a bit far below it that decides.
        (1, [1362286843], 3471692261),
        (1, [1209262697], 4179410760),
    ]:
        weights = [Fraction(scale, ONE)]
        discount = Fraction(DISCOUNT, ONE)
        for _ in range(n):
            exact = weights[-1] * discount * ONE
            weights.append(Fraction(int(exact + Fraction(1, 2)), ONE))  # half up, never negative
        wanted = sum(w * r for w, r in zip(weights, rewards, strict=False)) / 2**7
        twin = windows.Windows(1)
        twin.start(n, DISCOUNT, scale)
        word = np.zeros((1, 1), np.uint32)
        for reward in rewards:
            found = twin.push(word, word, word, [reward], 7, [False], [False])
        (experience,) = found
        got = Fraction(float(experience[3:4].view(np.float32)[0]))
        assert got == 0 if wanted == 0 else abs(got - wanted) <= abs(wanted) / 2**24
        if float(wanted) == wanted:  # then NumPy rounds it once
            assert np.float32(float(wanted)) == np.float32(float(got))
        assert got == Fraction(float(windows.binary32(int(wanted * 2**38), 38)))


def test_halves_are_rounded_up():
    """A weight and a power."""
    twin, word = windows.Windows(1), np.zeros((1, 1), np.uint32)
    twin.start(2, HALVES, HALVES)
    for reward in (0, 1):
        found = twin.push(word, word, word, [reward], 0, [False], [False])
    assert found[0][3:].view(np.float32).tolist() == [5 / ONE, 5 / ONE]


@pytest.mark.parametrize("width", [later(26), later(48), 68, later(96)])
def test_scaled_numbers_become_binary32(simulate, tmp_path, width):
    """Corners of rounding, and all magnitudes."""
    unit, rng = ScaledToFloat(ScaledConfig(width=width)), np.random.default_rng(width)
    high = (1 << width - 1) - 1
    raws = [0, 1, -1, high, -high - 1, (1 << 24) - 1, (1 << 24) + 1, (1 << 25) - 1, -(1 << 24)]
    raws += [(3 << 23) + 1 << 1, (1 << 24) + 3]
    wide = [int(high) << 60 | int(low) for high, low in rng.integers(1 << 60, size=(30, 2))]
    raws += [(raw % (2 * high + 2) - high - 1) >> int(rng.integers(width)) for raw in wide]
    raws = [raw for raw in raws if -high - 1 <= raw <= high]
    fractions = [int(each) for each in rng.choice([0, 31, 94, 95], len(raws))]
    layout = unit.config.i_layout
    operands = [
        word(layout, raw=raw, fraction=fraction)
        for raw, fraction in zip(raws, fractions, strict=True)
    ]
    results = [
        int(windows.binary32(raw, fraction).view(np.uint32))
        for raw, fraction in zip(raws, fractions, strict=True)
    ]
    for raw, fraction, result in zip(raws, fractions, results, strict=True):
        if abs(raw) < 1 << 53:
            exact = np.float32(np.ldexp(float(raw), -fraction))
            assert result == int(exact.view(np.uint32))
    check_stream(simulate, tmp_path, unit, operands, results)


@pytest.mark.parametrize("observation, blocks", [(4, 8), (7, 16), (32, 64)])
def test_block_ram_has_all_words_of_a_step(observation, blocks):
    """64 environments of 16 steps, each with a reward and an action: a block has 1024 words."""
    config = WindowsConfig(environments=64, observation=observation, longest=16)
    assert Windows.estimate(config).bram36 == blocks


@pytest.mark.parametrize(
    "field, rule",
    [
        (dict(environments=0), "environments must be an integer in 1..64, not 0"),
        (dict(environments=65), "environments must be an integer in 1..64, not 65"),
        (dict(observation=33), "observation must be an integer in 1..32, not 33"),
        (dict(action=0), "action must be an integer in 1..32, not 0"),
        (dict(longest=17), "longest must be an integer in 1..16, not 17"),
        (dict(longest=True), "longest must be an integer in 1..16, not True"),
    ],
)
def test_sizes_are_refused(field, rule):
    with pytest.raises(UsageError, match=f"^{rule}$"):
        WindowsConfig(**field)


@pytest.mark.parametrize("width", [25, 97])
def test_widths_are_refused(width):
    with pytest.raises(UsageError, match=f"^width must be an integer in 26..96, not {width}$"):
        ScaledConfig(width=width)

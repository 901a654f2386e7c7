"""host.proof.kernel_proof's limits: half as much again is refused with its place, half of it
passes, for each quantity that is compared, in each component, at any scale."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from host.proof import kernel_proof
from host.proof.kernel_proof import (
    LIMIT,
    _compared,
    _deviations,
    _differences,
    _References,
    _refusal,
)
from host.proof.reachable_numbers import Place
from host.proof.step_recording import STEPS, Act, Recording, Step, _counting, _equal
from host.proof.trainer_reading import Network, Reading
from hw.errors import UsageError
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE

NETWORKS = {"critic": Network("c", "c_aim", "c_opt"), "actor": Network("a", "a_aim", "a_opt")}
READING = Reading(algorithm="ddpg", networks=NETWORKS, agent={}, assumed={})
SCALES = pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
PLACES = [
    (ours, name, layer, part, where)
    for ours, network in NETWORKS.items()
    for name in ("online", "target")
    for layer in (0, 1)
    for part in (0, 1)
    for where in ([(0, 0), (1, 2)], [(0,), (1,)])[part]
]


def numbers(scale, by=0.0):
    """All numbers of a Step, moved by changes whose sizes differ from tensor to tensor."""
    rng, sizes = np.random.default_rng(1), 10.0 ** np.array([0, -3, -6, -1, 2, -4, 1, -2])
    sizes = iter([*sizes, *sizes / 7])
    shapes = (2, 3), (2,)

    def moved(shape):
        return by * scale * next(sizes) * rng.uniform(0.1, 0.9, shape)

    return {
        ours: [{name: tuple(map(moved, shapes)) for name in ("online", "target")} for _ in range(2)]
        for ours in NETWORKS
    }


def step_of(scale):
    td = scale * np.array([0.5, -2.0, 1e-3])
    return Step(0, {}, td, numbers(scale), numbers(scale, 1.0))


def words_of(step, td, after, rounded=False, limit=LIMIT):
    return [
        f"{words}{at}"
        for words, at, difference, most in _compared(step, td, after, READING, limit, rounded)
        if not difference <= most
    ]


@SCALES
@pytest.mark.parametrize("ours, name, layer, part, where", PLACES)
def test_changes(ours, name, layer, part, where, scale):
    """At 1e-4 of the largest change of the same tensor, or at another limit, or in the root."""
    step = step_of(scale)
    online = NETWORKS[ours].online if name == "online" else NETWORKS[ours].target
    words = f"changes of {online}, layer {layer + 1},"
    kind, place = ("weight", "bias")[part], ", ".join(map(str, where))
    for limit, rounded, told in (
        (LIMIT, False, f"{words} at {kind} [{place}]"),
        (5e-2, False, f"{words} at {kind} [{place}]"),
        (LIMIT, True, f"{words}, {kind}"),
    ):
        for factor, wanted in ((0.5, []), (1.5, [told]), (np.nan, [told]), (-1.5, [told])):
            after = numbers(scale, 1.0)
            tensor = after[ours][layer][name][part]
            size = np.linalg.norm(tensor) if rounded else abs(tensor).max()
            tensor[where] += factor * size * (kernel_proof._ROUNDED_LIMIT if rounded else limit)
            assert words_of(step, step.td, after, rounded, limit) == wanted


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rest", [0.0, 2.0])
@pytest.mark.parametrize("where", range(3))
def test_numbers_that_are_not_finite(where, rest, odd):
    """Never within a limit, whichever side has them, also where all else is zero or equal."""
    finite = np.full(3, rest)
    wrong = finite.copy()
    wrong[where] = odd
    for wanted, found in ((finite, wrong), (wrong, finite), (wrong, wrong)):
        unsure = kernel_proof._ULP * np.maximum(abs(wanted), abs(found))
        for difference, (place,) in (
            kernel_proof._largest(wanted, found),
            kernel_proof._largest(wanted, found, unsure),
        ):
            assert not difference <= 1e9 and place == where
        assert not kernel_proof._in_root(wanted, found) <= 1e9
    assert kernel_proof._largest(finite, finite)[0] == kernel_proof._in_root(finite, finite) == 0


@SCALES
def test_rounding_of_the_numbers_themselves(scale):
    """A change of 1e-9 of a number is lost in binary32, and says nothing."""
    step = step_of(scale)
    for factor, count in ((0.5, 0), (1.5, 1)):
        before, after, wanted = numbers(scale), numbers(scale, 1.0), numbers(scale, 1.0)
        for each in (before, after, wanted):
            each["actor"][1]["online"][0][...] = 1e6 * scale
        wanted["actor"][1]["online"][0][1, 2] += factor * 2.0**-23 * 1e6 * scale
        assert len(words_of(replace(step, before=before, after=after), step.td, wanted)) == count


@SCALES
@pytest.mark.parametrize("row", range(3))
def test_td_errors(row, scale):
    """Or their sizes; their limit is the same where changes have another."""
    step = step_of(scale)
    told = [f"TD errors in row {row}"]
    for factor, wanted in ((0.5, []), (1.5, told), (np.nan, told)):
        td = step.td.copy()
        td[row] += factor * LIMIT * abs(step.td).max()
        found = words_of(step, td, step.after, limit=5e-2)
        assert found == wanted or (
            np.isnan(factor) and len(found) == 1 and f"row {row}" in found[0]
        )
    assert not words_of(step, abs(step.td), step.after)
    assert not words_of(replace(step, td=None), None, step.after)


class Reference:
    """Stands for a twin: gives what it was made with, and keeps what it was given."""

    rounded = False

    def __init__(self, **found):
        self.found, self.batches, self.filled = found, [], []

    def fill(self, numbers, updates):
        self.filled.append((numbers, updates))

    def train(self, batch, clock):
        self.batches.append(batch)
        return self.found["td"], self.found["after"]

    def act(self, obs):
        return self.found["outputs"][obs[:, 0].astype(int)]


def acted(actions, outputs, spec):
    references = _References.__new__(_References)
    references.exact, references.spec = Reference(outputs=outputs), spec
    obs = np.arange(len(outputs))[:, None]
    acts = [Act({}, obs[part], actions[part]) for part in (slice(0, 1), slice(1, None))]
    references.check_actions(acts, READING, " (so)")


@SCALES
@pytest.mark.parametrize("row, component", [(0, 0), (0, 1), (4, 0), (4, 1)])
def test_actions(row, component, scale):
    """Each component has its own size."""
    outputs = scale * np.random.default_rng(2).uniform(-1, 1, (5, 2)) * [1, 1e-4]
    for factor in (0.5, -0.5, 1.5, -1.5, np.nan):
        actions = outputs.copy()
        actions[row, component] += factor * LIMIT * abs(outputs[:, component]).max()
        if abs(factor) < 1:
            acted(actions, outputs, CONTINUOUS)
            continue
        words = rf"^get_action must be .* in component {component} for 1 of 5 obs.* \(so\)$"
        with pytest.raises(UsageError, match=words):
            acted(actions, outputs, CONTINUOUS)


@SCALES
@pytest.mark.parametrize("row", [0, 4])
def test_actions_that_are_discrete(row, scale):
    """A tie within the limit may go either way."""
    for factor in (0.5, 1.5):
        outputs = scale * np.array([[1.0, 0.2, -1.0]] * 5)
        outputs[row] = scale * (0.5 - LIMIT * np.array([0, factor, 9]))
        actions = np.zeros(5, int)
        actions[row] = 1
        if factor < 1:
            acted(actions, outputs, DISCRETE)
            continue
        with pytest.raises(UsageError, match="^get_action must be the argmax .* 1 of 5 obs"):
            acted(actions, outputs, DISCRETE)


@pytest.mark.parametrize("ended", [[0, 0, 0], [1, 1, 1], [0, 1, 0]])
@pytest.mark.parametrize("takes", [set(), {"weights"}, {"done"}, {"weights", "done"}])
def test_what_a_reference_is_given(takes, ended):
    """Without weights all are 1; with done, the discount is gamma but where an episode ended."""
    given = np.where(ended, 0, np.float32([0.5, 0.4, 0.3])).astype(np.float32)
    batch = {"weights": np.float32([1, 0.5, 0.2]), "discount": given, "reward": np.ones(3)}
    step = replace(step_of(1.0), batch=batch, updates=7)
    reference = Reference(td=2 * step.td, after=step.after)
    config = SimpleNamespace(gamma=0.9)
    steps = [step, replace(step, td=2 * step.td)]
    found = _deviations(_differences(reference, config, steps, takes, READING))
    assert len(found) == 1 and found[0].startswith("TD errors differ by 5.0e-01 in row 1 (step 1)")
    assert reference.filled == [(step.before, 7)] * 2
    for each in reference.batches:
        weights = batch["weights"] if "weights" in takes else np.ones(3)
        discount = np.where(ended, 0, np.float32(0.9)) if "done" in takes else given
        np.testing.assert_array_equal(each["weights"], weights)
        np.testing.assert_array_equal(each["discount"], discount)
        assert each["discount"].dtype == np.float32 and each["reward"] is batch["reward"]
    assert batch["weights"][1] == 0.5


@pytest.mark.parametrize(
    "what", ["changes of a_aim, layer 1", "changes of c, layer 2", "TD errors"]
)
@pytest.mark.parametrize("takes", [set(), {"done"}])
def test_what_was_assumed(what, takes):
    """It is said where it can be the cause."""
    assumed = {"gamma": 0.99, "tau or polyak": 1.0, "target_interval or target_update": 1}
    reading, record = replace(READING, assumed=assumed), SimpleNamespace(takes=takes)
    where = " of a_aim, " if "a_aim" in what else ""
    text = str(_refusal(reading, record, f"{what}, differ", "; more"))
    assert f"one whose {what}, differ; more" in text
    assert ("no number gamma, so 0.99" in text) == ("done" in takes)
    assert ("tau or polyak, so 1 " in text) == ("interval or target" in text) == bool(where)


@pytest.mark.parametrize("ours, name, layer, part, where", PLACES)
def test_networks_that_are_equal(ours, name, layer, part, where):
    """To the bit, in each number."""
    one, other = numbers(1.0, 1.0), numbers(1.0, 1.0)
    assert _equal(one, other)
    tensor = other[ours][layer][name][part]
    tensor[where] = np.nextafter(tensor[where], 9)
    assert not _equal(one, other)


@pytest.mark.parametrize(
    "values, early, wanted",
    [
        ([5, 6, 7, 8, 9], 5, ({"n": 1}, {}, False)),
        ([5, 4.5, 4.0, 3.5, 3.0], 5, ({"n": -0.5}, {}, False)),
        ([5, 5, 5, 5, 5], 5, ({}, {}, False)),
        ([5, 5, 6, 6, 6], 4, ({}, {"n": 2}, False)),
        ([3, 2, 1, 4, 3], 3, ({}, {}, True)),
        ([0, 1, 2, 3, 3], 1, ({}, {"n": 2}, False)),
        ([0, 1, 2, 3, 4.1], 4.1, ({}, {}, True)),
        ([1, 2, None, 4, 5], 1, ({}, {}, False)),
    ],
)
def test_numbers_that_count(values, early, wanted):
    seen = [{} if value is None else {"n": value, "other": 1} for value in values]
    assert _counting(seen, {"n": early}) == wanted


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(
    at=st.integers(4, 50), value=st.integers(-20, 50),
    slope=st.sampled_from([1, 2, 7, -1, -3, 0.5]), target=st.integers(-90, 9000),
    interval=st.integers(1, 9),
)  # fmt: skip
def test_windows_reach_what_a_counter_may_reach(at, value, slope, target, interval):
    """With two steps before it, and two from it on if the counter has just that value."""
    assume((target - value) / slope + at >= 2)
    record = Recording.__new__(Recording)
    record._at, record._interval, record._slopes, record._periods = at, interval, {"n": slope}, {}
    record._constants = {target}
    record._reach = lambda: SimpleNamespace(places={"n": Place(value, None)})
    hits = []
    for start in record.starts():
        values = [value + slope * (start - at + k) for k in range(STEPS + 1)]
        reached = [(each - target) * slope >= 0 for each in values]
        within = STEPS - 1 if (target - value) % slope == 0 else STEPS
        hits.append(not any(reached[:2]) and any(reached[:within]))
    assert any(hits)

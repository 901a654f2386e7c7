"""host.algorithms.learner, replay and card without a card: what is planned, counted and told."""

from types import SimpleNamespace

import numpy as np
import pytest

from host.algorithms.config import Clock
from host.algorithms.dqn import DQNConfig
from host.algorithms.learner import Background, Learner
from host.fixar.fixar_learner import PrecisionSwitch
from host.learner.card_learner import CardLearner
from host.replay.memory_learner import MemoryLearner
from host.replay.replay_learner import ReplayLearner
from hw.arith.power import SCALE_FORMAT
from hw.fixar.precision import Precision
from hw.learner.records import HYPERPARAMETERS

#: Each schedule has a length of its own; at 40 of 100 steps and at 100 none has the same value.
AGENT = DQNConfig(
    learning_rate=1.0, learning_rate_final=0.0, learning_rate_steps=100, batch_size=4,
    beta_start=0.0, beta_end=0.5, beta_steps=100,
)  # fmt: skip


class Buffer:
    """A replay memory of 10 with 4 experiences, whatever it is sent."""

    capacity, saturations = 10, np.array([5, 6, 7])
    closed = in_process = False
    clipped_priorities = 0
    learner = SimpleNamespace(step_record=HYPERPARAMETERS)

    def __init__(self):
        self.sent = []

    def __len__(self):
        return 4

    def step(self, *arguments):
        self.sent.append(arguments)

    def abort(self):
        raise AssertionError("no launch takes long")

    def close(self):
        self.closed = True


class Planned(MemoryLearner):
    """Does nothing; ``end`` gives what it was planned by."""

    def plan(self, fill, learning):
        return fill, learning

    def launch(self, experience, plan):
        return plan

    def learned(self, result):
        return result


def make(kind, *more, exploration=True):
    options = dict(launches_in_flight=3, learning_starts=6, updates_per_launch=2)
    explores = lambda steps: steps / 1000 if exploration else None  # noqa: E731
    policy = SimpleNamespace(config=AGENT, exploration_at=explores)
    clock = Clock(steps=100, launched=40)
    return kind(policy, clock, Buffer(), *more, **options)


@pytest.fixture
def planned():
    learner = make(Planned)
    yield learner
    learner.close()


def test_what_a_launch_is_planned_by(planned):
    """Draws are from what was there before it; what comes with it counts for the beginning. A
    memory that is full stays full. TD errors go with experiences and are none."""
    rated = {"records": [0] * 8, "td_errors": [0.5] * 8}
    launches = [planned.begin(x) for x in (None, [0] * 5, [0], rated, None, [0])]
    wanted = [(0, False), (0, False), (5, True), (6, True), (10, True), (10, True)]
    assert [planned.end(launch) for launch in launches] == wanted


def test_progress(planned):
    """Step size and beta are of where the launch began, exploration is now's; the fill is what is
    stored, not what is on its way."""
    planned.end(planned.begin([0] * 7))
    assert planned.progress() == pytest.approx(
        dict(learning_rate=0.6, beta=0.2, exploration=0.1, fill=4, clipped_priorities=0)
    )
    assert planned.in_flight == 3 and "exploration" in planned.columns
    planned.close()
    assert planned.buffer.closed


def test_no_column_stays_empty():
    columns = make(Planned, exploration=False).columns
    assert columns == ("td_error", "beta", "learning_rate", "fill", "clipped_priorities")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_a_launch_raises_reaches_who_waits(kind):
    """And the thread goes on."""

    def fail():
        raise kind("so")

    background = Background("card")
    with pytest.raises(kind, match="^so$"):
        background.submit(fail).result(5)
    assert background.submit(int, "7").result(5) == 7
    assert background.call(int, "11", base=3) == 4
    background.close(abort=None)
    with pytest.raises(RuntimeError, match="card must be open"):
        background.call(int, "7")


def test_another_policy_acts_as_it_is():
    own = SimpleNamespace(config=AGENT)
    learner = Learner(own, Clock())
    with learner.actor() as one, learner.actor("other") as two:
        assert (one, two) == (own, "other")


class Updates:
    """An updater whose TD errors are -1, 1, -1, ... times the batch's number."""

    def __init__(self):
        self.seen = []

    def update(self, batch, clock):
        self.seen.append(clock.updates)
        number = len(self.seen)
        return number * np.float32([-1, 1, -1, -1]), {"loss": 10.0 * number}


def batches(count):
    return [{"indexes": np.arange(4, dtype=np.uint32) + 10 * k} for k in range(count)]


def test_td_errors_go_back_once_and_in_order():
    learner = make(ReplayLearner, Updates())
    learner.launch(None, learner.plan(0, False))
    assert learner.learned(batches(2)) == pytest.approx(dict(loss=15.0, td_error=1.5))
    assert learner.updater.seen == [0, 1] and learner.clock.updates == 2
    for learning in (True, False):
        learner.launch("records", learner.plan(4, learning))
    first, second, third = learner.buffer.sent
    assert first == (None, None, None)
    experience, (indexes, errors), draws = second
    assert experience == "records" and draws == [(4, pytest.approx(0.2))] * 2
    assert indexes.tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert errors.tolist() == [-1, 1, -1, -1, -2, 2, -2, -2]
    assert third == ("records", None, None), "they were sent"


@pytest.fixture
def on_card():
    """A CardLearner without its kernel."""
    learner = make(MemoryLearner)
    learner.__class__ = CardLearner
    learner.columns = CardLearner.columns
    learner._begun, learner._acts, learner._seed = Clock(), False, 0
    learner.weights_interval = 1
    return learner


def test_steps_of_a_launch_go_by_where_it_began(on_card):
    """As many gradient steps as it has; no batch is larger than what it is drawn from."""
    assert on_card.plan(3, True) is None and on_card.plan(4, False) is None
    steps, sets = on_card.plan(4, True)
    assert len(steps) == 2 and sets == ("online",) and on_card._begun.updates == 2
    np.testing.assert_allclose(steps["beta"] / 2.0**SCALE_FORMAT.fraction, 0.2, atol=1e-4)
    root, first = (1 - 0.999) ** 0.5, 1 - 0.9
    assert steps["rate"][0] == pytest.approx(0.6 * root / first, rel=1e-5)


def test_each_kind_of_clipping_has_its_column(on_card):
    told = on_card.progress()
    kinds = ("clipped_weights", "clipped_activations", "clipped_gradients")
    assert [told[name] for name in kinds] == [5, 6, 7]


def test_loss_and_td_error_of_a_launch_are_means(on_card):
    """Of its steps, each a sum over the batch."""
    result = dict(loss=np.float32([4, 12]), td=np.float32([8, 4]), weights=None)
    assert on_card.learned(result) == dict(loss=2.0, td_error=1.5)
    assert on_card.clock.updates == 2


def test_convolutions_are_not_on_the_card():
    agent = DQNConfig(convolutions=((4, 3, 1),), max_gradient_norm=None)
    words = r"^convolutions must be none with learner card, not \(\(4, 3, 1\),\)"
    with pytest.raises(ValueError, match=words):
        CardLearner.check_agent(agent, "dqn")


@pytest.mark.parametrize("full", [False, True])
def test_shifts_have_a_slot_for_each_layer(full):
    """The first layers' inputs have one in common; with full errors none are switched."""
    switch = object.__new__(PrecisionSwitch)
    kernel = SimpleNamespace(hidden=(8, 8), networks={"critic": [0] * 3, "actor": [0] * 3})
    switch._replay = SimpleNamespace(learner=kernel)
    switch._schedule, switch._bits = SimpleNamespace(shifts=None), 12
    switch._networks = {
        name: SimpleNamespace(activation_shifts=inputs, error_shifts=None if full else errors)
        for name, inputs, errors in (
            ("critic", [4, 1, 2], [1, 2, 3]), ("actor", [4, 5, 6], [7, 8, 9]),
        )
    }  # fmt: skip
    assert switch._precision() == Precision()
    switch._schedule.shifts = "found"
    found = switch._precision()
    assert found.activations and found.activation_shifts == (4, 1, 2, 5, 6)
    assert found.activation_bits == 12
    assert found.errors is not full
    assert found.error_shifts == ((0,) * 6 if full else (1, 2, 3, 7, 8, 9))

"""host.learner.sent_replay on card ``model``: the replay memory elsewhere, and the bytes of
LEARN."""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from fixar.kernels import SMALL, precision_of
from learner.modelled import (
    DDPG,
    DQN,
    FIXED,
    adam,
    equal,
    experiences,
    kernel_config,
    opened,
    weights,
)

from host.cards.kernel import GivenUp
from host.fixar.fixar_replay import FixarReplay, SentFixarReplay
from host.learner.learning_replay import Diverged, LearningReplay
from host.learner.parameters import zero_moments
from host.learner.sent_replay import SentReplay
from host.programs.launcher import CommandError
from host.replay import experience
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from hw.fixar.precision import Precision
from hw.learner.config import PARAMETER_SETS
from hw.learner.records import HYPERPARAMETERS, STEP

BATCH, CAPACITY = 16, 40
KERNELS = {
    "dqn": DQN,
    "dqn fixed": kernel_config("dqn", arithmetic=FIXED, double=True),
    "ddpg": DDPG,
    "ddpg fixed": kernel_config("ddpg", arithmetic=FIXED),
    "td3": kernel_config("td3"),
    "fixar": SMALL,
}
REPORTED = ("loss", "td", "value", "weight", "saturations", "position")


def small(config):
    """``config`` with the least replay memory that a kernel may have."""
    return replace(config, replay=replace(config.replay, capacity=config.learner.batch))


def steps_of(config, count, rate, **values):
    """``adam``; of STEP with noise, and each other step is of the critics alone."""
    record = HYPERPARAMETERS if config is SMALL else config.learner.step_record
    if record is STEP:
        values |= dict(noise=0.2, noise_clip=0.5, sweeps=np.resize([3, 1], count))
        values |= dict(seed=np.arange(count) + values.get("first", 1))
    return adam(count, rate, record=record, **values)


class Pair:
    """The same learner twice, each with a kernel of its own: ``whole`` has its replay memory on the
    card, ``sent`` has a tree in front of it. ``with Pair(config, **options) as pair``."""

    def __init__(self, config, **options):
        self.config, self.options = config, {"capacity": CAPACITY, "seed": 5, **options}

    def __enter__(self):
        config, fixar, self._opened = self.config, self.config is SMALL, ExitStack()
        name = "fixar" if fixar else None
        kernels = [self._opened.enter_context(opened(c, name)) for c in (config, small(config))]
        kind, sent = (FixarReplay, SentFixarReplay) if fixar else (LearningReplay, SentReplay)
        self.whole = kind(kernels[0], **self.options)
        memory = TreeMemory(config.fields, **self.options)
        self.sent = sent(memory, kind(kernels[1], capacity=2))
        self.both = self.whole, self.sent
        for each in self.both:
            each.initialize(weights(config))
            each.step(experiences(config, 30))
        return self

    def __exit__(self, *_):
        self._opened.close()

    def same(self):
        """Parameters, moments, targets; what is stored, its priorities, the next draw."""
        equal(self.whole.store(), self.sent.store())
        card, memory = self.whole.state_dict(), self.sent.memory.state_dict()
        for name in memory.keys() & card.keys():
            np.testing.assert_array_equal(card[name], memory[name], err_msg=name)
        assert len(memory.keys() & card.keys()) == 10
        np.testing.assert_array_equal(self.whole.saturations, self.sent.saturations)


@pytest.mark.filterwarnings("ignore:.*clipped to their fixed-point")
@pytest.mark.parametrize("name", KERNELS)
def test_the_bytes_of_learn(name):
    """One and several iterations, inserts that do not divide evenly, more than the memory holds,
    priorities and TD errors that experiences bring, betas, steps in between; on the twin's ring and
    by programs, each of which takes up where the other stopped."""
    config, rng = KERNELS[name], np.random.default_rng(1)
    with Pair(config) as pair:
        for k in range(12):
            pair.whole.by_programs = k % 5 < 2
            count, given = (1, 3, 2)[k % 3], int(rng.choice([0, 1, 5, 7, 60]))
            options = dict(batch_size=(BATCH, 6)[k % 2])
            if given:
                options["experiences"] = experiences(config, given, seed=k)
                options["inserts"] = 1 if given == 60 else (None, min(1, given // count), 0)[k % 3]
                if k % 3 == 1:
                    options["priorities"] = rng.uniform(0.1, 9, given)
                elif k % 4 == 2:
                    options["td_errors"] = rng.normal(size=given)
            steps = steps_of(config, count, 0.01, first=1 + 3 * k, beta=k / 12)
            whole, sent = (each.learn(steps, store=PARAMETER_SETS, **options) for each in pair.both)
            equal(whole.parameters, sent.parameters)
            for field in REPORTED:
                assert whole.reports[field].tobytes() == sent.reports[field].tobytes(), field
            update = [3, 5, 3], [0.5, 7.0, 2.0]
            for each in pair.both:
                each.step(experiences(config, k % 3, seed=100 + k), update)
            pair.same()
            seen = rng.normal(size=(5, config.learner.observation))
            equal(*(each.act(seen) for each in pair.both))


@pytest.mark.parametrize("number", [np.nan, 1e30])
def test_what_the_ring_refuses_is_what_programs_refuse(number):
    """In the same words, with the same state afterwards: iterations before stand."""
    said = []
    for by_programs in (True, False):
        with opened(DQN) as kernel:
            buffer = LearningReplay(kernel, capacity=CAPACITY, seed=5, by_programs=by_programs)
            buffer.initialize(weights(DQN))
            buffer.step(experiences(DQN, 30))
            parameters = buffer.store()
            for layer in parameters["q"]:
                layer["online"][0][...] *= 1e30
            for stored in range(3):
                if stored == 1:
                    buffer.load(parameters)  # a TD error is infinite
                elif stored == 2:  # a number in memory that no call would store
                    buffer.load(zero_moments(weights(DQN)))
                    raw = buffer._storage.read(np.uint8, buffer._stride, 0).view(np.float32)
                    raw[0] = number
                    buffer._storage.write(raw.view(np.uint8))
                for k in range(9):
                    options = dict(experiences=experiences(DQN, 3, seed=k), inserts=1)
                    try:
                        buffer.learn(adam(3, 0.01), batch_size=BATCH, **options)
                    except (ValueError, RuntimeError) as error:
                        said.append(f"{type(error).__name__}: {error}")
                said.append(buffer.state_dict())
            buffer.set_priorities(np.arange(len(buffer)), np.zeros(len(buffer)))
            with pytest.raises(CommandError) as empty:
                buffer.learn(adam(1, 0.01), batch_size=BATCH, experiences=experiences(DQN, 2, 7))
            said += [str(empty.value), buffer.state_dict()]
    half = len(said) // 2
    equal(said[:half], said[half:])
    assert any("Diverged" in str(each) for each in said)


def test_precisions_are_switched():
    """Of kernel fixar; the ranges that it has seen are those of LEARN."""
    half = precision_of(SMALL, "half", frame=9, activation=9, error=8)
    with Pair(SMALL) as pair:
        for number, precision in enumerate((half, Precision())):
            for each in pair.both:
                each.learn(adam(2, 0.01, first=1 + 4 * number), batch_size=BATCH)
                each.set_precision(precision, clear=number == 0)
                assert each.precision == precision
                each.learn(adam(2, 0.01, first=3 + 4 * number), batch_size=BATCH)
            equal(*(each.ranges for each in pair.both))
            pair.same()
        seen = np.random.default_rng(1).normal(size=(5, 3))
        equal(*(each.act(seen, noise=0.5, seed=3) for each in pair.both))
        assert (pair.sent.act(seen, noise=0.5, seed=3) != pair.sent.act(seen)).any()


@pytest.mark.parametrize("name", ["dqn", "fixar"])
def test_a_state_goes_on_as_without_a_break(name):
    config = KERNELS[name]
    with Pair(config) as pair, Pair(config, seed=9) as other:
        pair.sent.learn(adam(3, 0.01), batch_size=BATCH, experiences=experiences(config, 7))
        other.sent.load_state_dict(pair.sent.state_dict())
        for each in (pair.sent, other.sent):
            each.learn(adam(2, 0.01, first=4), batch_size=BATCH)
        equal(pair.sent.state_dict(), other.sent.state_dict())
        with pytest.raises(ValueError, match="^alpha must be that of this buffer"):
            state = pair.sent.state_dict()
            state["memory"]["alpha"] = 0.5
            other.sent.load_state_dict(state)


def test_bad_calls_change_nothing():
    """As LEARN refuses them, before anything is stored."""
    data = experiences(DQN, 4)
    wrong = [
        (dict(batch_size=BATCH + 2), "batch_size must be a multiple of 2"),
        (
            dict(batch_size=BATCH, experiences=data, inserts=5),
            r"inserts must be an integer in 0\.\.",
        ),
        (
            dict(batch_size=BATCH, experiences={**data, "action": [9] * 4}),
            r"action must be in 0\.\.1",
        ),
        (dict(batch_size=BATCH, experiences=data, priorities=[1]), "priorities must have shape"),
        (dict(batch_size=BATCH, priorities=[1]), "priorities must have shape"),
    ]
    with Pair(DQN) as pair:
        state = pair.sent.state_dict()
        for options, words in wrong:
            for each in pair.both:
                with pytest.raises(ValueError, match=f"^{words}"):
                    each.learn(adam(2, 0.01), **options)
        with pytest.raises(ValueError, match=r"^action must be in 0\.\.1"):
            pair.sent.step({**data, "action": [9] * 4})
        equal(pair.sent.state_dict(), state)
        pair.same()
        pair.sent.memory.clear()
        with pytest.raises(ValueError, match=r"^batch_size must be at most the fill \(4\)"):
            pair.sent.learn(adam(1, 0.01), batch_size=BATCH, experiences=data, inserts=0)
        data = experiences(DQN, 20)
        with pytest.raises(ValueError, match=r"^batch_size must be at most the fill \(10\)"):
            pair.sent.learn(adam(2, 0.01), batch_size=BATCH, experiences=data, inserts=5)
        assert len(pair.sent) == 0


def test_an_experience_that_is_none(monkeypatch):
    """Named by its index; what was learned before stands. A checkpoint may bring it."""
    monkeypatch.setattr(experience, "_check_floats", lambda *_: None)
    with Pair(DQN) as pair:
        bad = experiences(DQN, 1)
        bad["reward"][...] = np.nan
        for each in pair.both:
            each.learn(adam(1, 0.01), batch_size=BATCH)
            each.step(bad, priorities=[200.0])
            with pytest.raises(ValueError, match="^reward of experience 30 must be finite"):
                each.learn(adam(2, 0.01), batch_size=BATCH)
        pair.same()


def test_a_batch_that_diverges():
    """Named by its index; neither priorities nor parameters change."""
    with Pair(DQN) as pair:
        bad = experiences(DQN, 1)
        bad["reward"][...], bad["next_obs"][...], bad["discount"][...] = 3e38, 1e38, 3e38
        for each in pair.both:
            each.step(bad, priorities=[200.0])
            with pytest.raises(Diverged, match="^td_error of experience 30 must be finite") as told:
                each.learn(adam(2, 0.01), batch_size=BATCH)
            assert told.value.index == 30
        pair.same()


def test_a_drawn_place_is_written_again():
    """By the INSERT of the same iteration: the batch is what was drawn."""
    with Pair(DQN, capacity=BATCH) as pair:
        for each in pair.both:
            each.step(experiences(DQN, BATCH, seed=3))
            learned = each.learn(
                adam(2, 0.01), batch_size=BATCH, experiences=experiences(DQN, 2 * BATCH, seed=4)
            )
            assert len(learned.reports) == 2
        pair.same()


def test_fields_must_be_the_learners():
    with opened(DQN) as kernel:
        trainer = LearningReplay(kernel, capacity=2)
        with pytest.raises(ValueError, match="^fields must be the learner's"):
            SentReplay(RingMemory({"obs": (np.float32, (3,))}, 9), trainer)
        sent = SentReplay(RingMemory(DQN.fields, 9), trainer)
        assert repr(sent).startswith("SentReplay(RingMemory(capacity=9, ") and len(sent) == 0
        assert sent.device_cycles is None and sent.capacity == 9
        sent.close()
        LearningReplay(kernel, capacity=2), "the kernel is free again"


def test_a_launch_under_way_is_given_up():
    """That of the kernel, also behind a memory."""
    with Pair(DQN) as pair:
        for each, owner in zip(pair.both, (pair.whole, pair.sent.trainer), strict=True):
            each.abort()
            with pytest.raises(GivenUp):
                owner.launcher.kernel.flight.check()

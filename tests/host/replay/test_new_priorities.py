"""Experiences that bring priorities or TD errors: as if they had been set right after they came."""

import numpy as np
import pytest
from learner.modelled import DQN, adam, experiences, weights
from learner.modelled import opened as opened_learner
from replay.kernels import NARROW, kernel_config, opened

from host.learner.learning_replay import LearningReplay
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.tree_memory import TreeMemory

FIELDS = {"reward": (np.float32, ())}


def buffer(kernel, **options):
    return PrioritizedReplayBuffer(kernel, FIELDS, **{"capacity": 20, "takeover": True, **options})


@pytest.mark.parametrize("card", ["model", "sim"])
def test_td_errors_of_new_experiences(card):
    """The same priorities as an update right after, and the same draws."""
    errors, rewards = np.linspace(-2, 2, 9), np.arange(9)
    with opened(card, NARROW) as kernel:
        one = buffer(kernel, seed=3)
        one.add(reward=rewards, td_errors=errors)
        raw, drawn = one.priorities(), one.sample(6)
        two = buffer(kernel, seed=3)
        two.add(reward=rewards)
        two.update_priorities(np.arange(9), errors)
        np.testing.assert_array_equal(raw, two.priorities())
        np.testing.assert_array_equal(drawn["indexes"], two.sample(6)["indexes"])


@pytest.mark.parametrize("card", ["model", "sim"])
def test_priorities_of_new_experiences(card):
    """Literal: 0.25, 3 and 0 in a format of 8 bits behind the point; then the largest so far."""
    with opened(card, NARROW) as kernel:
        own = buffer(kernel)
        own.add(reward=[1, 2, 3], priorities=[0.25, 3.0, 0.0])
        own.add(reward=[4])
        assert own.priorities().tolist() == [64, 768, 0, 768]


def test_more_than_the_memory_holds():
    """The newest stay, with their own priorities."""
    with opened("model", NARROW) as kernel:
        own = buffer(kernel, capacity=5)
        on_cpu = TreeMemory(FIELDS, capacity=5)
        for memory, one in ((own, 1 << 8), (on_cpu, 1 << 16)):
            memory.add(reward=np.arange(8), priorities=np.arange(1, 9))
            assert memory.priorities().tolist() == [one * p for p in (4, 5, 6, 7, 8)]
        on_cpu.clear()  # and as a learner's kernel stores them there
        given = on_cpu.first_priorities(8, np.arange(1, 9), None)
        on_cpu.insert(on_cpu.records_of({"reward": np.arange(8)}), given)
        assert on_cpu.priorities().tolist() == [p << 16 for p in (4, 5, 6, 7, 8)]


def test_more_than_one_insert():
    """70 000 experiences of a granule are two INSERTs, each with its part of the list."""
    with opened("model", kernel_config(512, capacity=1 << 17)) as kernel:
        own = buffer(kernel, capacity=1 << 17)
        given = np.arange(70_000) % 251
        own.add(reward=np.zeros(70_000), priorities=given)
        np.testing.assert_array_equal(own.priorities(), given << 16)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(priorities=[1]), r"priorities must have shape \(2,\), not \(1,\)"),
        (
            dict(priorities=[1, -1]),
            "priorities must be finite and in 0..255.996, not -1.0 at position 1",
        ),
        (dict(td_errors=[np.nan, 1]), "td_errors must be finite, not nan at position 0"),
        (dict(priorities=[1, 1], td_errors=[1, 1]), "priorities must not be given together"),
    ],
)
def test_refused(options, message):
    """And nothing was stored."""
    with opened("model", NARROW) as kernel:
        own = buffer(kernel)
        with pytest.raises(ValueError, match=message):
            own.add(reward=[1, 2], **options)
        with pytest.raises(ValueError, match="experiences must be given"):
            own.step(priorities=[1])
        assert len(own) == 0
        with pytest.raises(ValueError, match="fields must not be called priorities"):
            PrioritizedReplayBuffer(kernel, {"priorities": (np.float32, ())}, capacity=3)


@pytest.mark.parametrize("count", [3, 7])
def test_learn_with_priorities(count):
    """Those left over and those of every iteration enter with what they bring."""
    with opened_learner(DQN) as kernel:
        own = LearningReplay(kernel, capacity=50, seed=1)
        own.initialize(weights(DQN))
        own.add(**experiences(DQN, 20), priorities=np.ones(20))
        given = np.arange(2, 2 + 2 * count + 1) / 4
        own.learn(
            adam(2, 0.0),
            batch_size=16,
            experiences=experiences(DQN, 2 * count + 1, seed=2),
            priorities=given,
        )
        # Drawn ones have new priorities; experiences of the last iteration cannot have been.
        fraction = own.config.replay.priority_fraction
        last = own.priorities()[20 + 1 + count :]
        assert last.tolist() == [int(p * (1 << fraction)) for p in given[1 + count :]]


#: In units of the format, so small that no draw meets them beside twenty of 1.
TINY = np.array([0, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


def bringing(name, raw):
    """``raw`` priorities of the default format as the option ``name``, alpha 1 and epsilon 0."""
    values = np.asarray(raw) / (1 << 16)
    return {
        name: values if name == "priorities" else np.where(np.arange(len(raw)) % 2, values, -values)
    }


@pytest.mark.parametrize("name, least", [("priorities", 0), ("td_errors", 1)])
@pytest.mark.parametrize("inserts", [0, 2])
def test_learn_with_experiences_left_over(name, least, inserts):
    """Those left over are stored first, then those of each iteration, in order and each with its
    own: a TD error of nothing is a priority of one unit."""
    with opened_learner(DQN) as kernel:
        own = LearningReplay(kernel, capacity=50, seed=1, alpha=1.0, epsilon=0.0)
        own.initialize(weights(DQN))
        own.add(**experiences(DQN, 20), priorities=np.ones(20))
        own.learn(
            adam(3, 0.0),
            batch_size=16,
            experiences=experiences(DQN, len(TINY), seed=2),
            inserts=inserts,
            **bringing(name, TINY),
        )
        assert len(own) == 20 + len(TINY)
        np.testing.assert_array_equal(own.priorities()[20:], np.maximum(TINY, least))
        stored = own.get_all_transitions()["obs"][20:]
        np.testing.assert_array_equal(stored, experiences(DQN, len(TINY), seed=2)["obs"])


@pytest.mark.parametrize("name", ["priorities", "td_errors"])
def test_more_left_over_than_the_memory_holds(name):
    """The newest stay, with their own; one is large, so that all draws are of it."""
    with opened_learner(DQN) as kernel:
        own = LearningReplay(kernel, capacity=20, seed=1, alpha=1.0, epsilon=0.0)
        own.initialize(weights(DQN))
        raw = np.arange(1, 32)
        raw[15] = 200 << 16
        own.learn(
            adam(1, 0.0),
            batch_size=16,
            experiences=experiences(DQN, 31),
            inserts=0,
            **bringing(name, raw),
        )
        found = own.priorities().tolist()
        assert found[:4] + found[5:] == raw[11:15].tolist() + raw[16:].tolist()

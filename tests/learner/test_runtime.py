"""host.learner.learning_replay on card ``model``: what a user of the learning buffer can see."""

import warnings

import numpy as np
import pytest
from learner.modelled import (
    DDPG,
    DQN,
    FIXED,
    adam,
    equal,
    experiences,
    filled,
    kernel_config,
    opened,
    weights,
)

from host import checkpoint
from host.learner.learning_replay import LearningReplay, learner_fields

FIXED_DQN = kernel_config("dqn", arithmetic=FIXED)


@pytest.mark.parametrize("config", [DQN, FIXED_DQN, DDPG])
def test_it_learns(config):
    """A bandit, reward = obs[0] (dqn: for action 1 alone): the loss falls to a tenth."""
    data = experiences(config, 40)
    data["discount"] = np.zeros(40, np.float32)
    data["reward"] = data["obs"][:, 0]
    if config.learner.discrete:
        data["reward"] = data["reward"] * (data["action"] == 1)
    with opened(config) as kernel:
        buffer = filled(kernel, config, 0)
        buffer.add(**data)
        losses = []
        for k in range(10):
            steps = adam(40, 0.01, first=40 * k + 1)
            losses += list(buffer.learn(steps, batch_size=16).reports["loss"])
        assert np.mean(losses[-40:]) < np.mean(losses[:10]) / 10
        assert buffer.status["iterations"] == 400


def test_experiences_that_are_left_over_come_first():
    """11 for 4 iterations: 3 are stored before them, 2 by each."""
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN, 16)
        reports = buffer.learn(
            adam(4, 0.01), batch_size=16, experiences=experiences(DQN, 11, seed=2)
        ).reports
        assert reports["position"].tolist() == [21, 23, 25, 27] and len(buffer) == 27
        stored = buffer.state_dict()["experiences"].view(buffer.dtype)[:, 0]
        for name, values in experiences(DQN, 11, seed=2).items():
            np.testing.assert_array_equal(stored[name][16:], values)
        for inserts, positions in ((0, [38, 38, 38, 38]), (1, [6, 7, 8, 9])):
            reports = buffer.learn(
                adam(4, 0.01), batch_size=16, experiences=experiences(DQN, 11), inserts=inserts
            ).reports
            assert reports["position"].tolist() == positions
        # More than the memory holds: of those left over, the last remain.
        buffer.learn(adam(1, 0.01), batch_size=16, experiences=experiences(DQN, 95), inserts=1)
        assert len(buffer) == 40


def test_the_first_batch_may_be_of_what_comes_with_it():
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN, 0)
        with pytest.raises(
            ValueError, match=r"^batch_size must be at most the fill \(15\), not 16"
        ):
            buffer.learn(adam(1, 0.01), batch_size=16, experiences=experiences(DQN, 16), inserts=1)
        assert len(buffer) == 0
        buffer.learn(adam(1, 0.01), batch_size=16, experiences=experiences(DQN, 16), inserts=0)
        assert len(buffer) == 16


def test_store_after_learn_is_what_the_card_holds():
    with opened(DDPG) as kernel:
        buffer = filled(kernel, DDPG, by_programs=True)
        launches = buffer.launches
        parameters = buffer.learn(adam(3, 0.01), batch_size=16, store=("target", "online"))[1]
        assert buffer.launches == launches + 1
        equal(parameters, buffer.store(("online", "target")))
        online, target = (parameters["actor"][0][kind][0] for kind in ("online", "target"))
        assert online.dtype == np.float32 and (online != target).any()
        assert buffer.learn(adam(1, 0.01), batch_size=16).parameters is None


@pytest.mark.parametrize("config", [DQN, DDPG, FIXED_DQN])
def test_load_gives_what_store_takes(config):
    with opened(config) as kernel:
        buffer = filled(kernel, config)
        step = config.learner.arithmetic.weight.resolution / 2 if config is FIXED_DQN else 0
        for name, layers in weights(config).items():
            for given, stored in zip(layers, buffer.store()[name], strict=True):
                for one, online, target in zip(
                    given, stored["online"], stored["target"], strict=True
                ):
                    np.testing.assert_allclose(online, one, rtol=0, atol=step)
                    np.testing.assert_array_equal(online, target)
                assert not any(x.any() for kind in ("first", "second") for x in stored[kind])
        buffer.learn(adam(3, 0.01), batch_size=16)
        values = buffer.store()
        other = {
            name: [{"first": layer["second"]} for layer in layers]
            for name, layers in values.items()
        }
        buffer.load(other)
        for name, layers in buffer.store().items():
            for before, layer in zip(values[name], layers, strict=True):
                equal({**before, "first": before["second"]}, layer)
        buffer.load(values)
        equal(buffer.store(), values)


@pytest.mark.parametrize("config", [DQN, DDPG, FIXED_DQN])
def test_a_loaded_state_learns_the_same(config, tmp_path):
    """Through a file; the kernel that loads it has learned other things before."""
    with opened(config) as kernel, opened(config) as second:
        buffer, other = filled(kernel, config), filled(second, config, 20, seed=1)
        buffer.learn(adam(5, 0.01), batch_size=16)
        other.learn(adam(2, 0.1), batch_size=16)
        state = buffer.state_dict()
        checkpoint.save(tmp_path / "a.npz", "training", {}, state)
        other.load_state_dict(checkpoint.load(tmp_path / "a.npz", "training")[1])
        equal(other.state_dict(), state)
        steps, new = adam(5, 0.01, first=6), experiences(config, 10, seed=4)
        equal(*(b.learn(steps, batch_size=16, experiences=new)[:1] for b in (buffer, other)))
        equal(other.state_dict(), buffer.state_dict())


def test_clipped_numbers_are_counted_and_told_once():
    with opened(FIXED_DQN) as kernel:
        buffer = filled(kernel, FIXED_DQN, 0)
        data = experiences(FIXED_DQN, 16)
        data["obs"][3, 1] = 1e6  # one activation beyond SQ(7, 10)
        buffer.add(**data)
        with pytest.warns(RuntimeWarning, match=r"^\d+ weights, \d+ activations and \d+ gradients"):
            buffer.learn(adam(1, 0.01), batch_size=16)
        assert buffer.saturations[1] >= 1
        before = buffer.saturations.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first, last = buffer.learn(adam(2, 0.01), batch_size=16).reports["saturations"]
        assert last[1] > first[1] > before[1] and buffer.saturations.tolist() == last.tolist()
        huge = {n: [(w * 1000, b) for w, b in x] for n, x in weights(FIXED_DQN).items()}
        with pytest.warns(RuntimeWarning, match=r"^\d+ weights were clipped to their format"):
            buffer.initialize(huge)
        assert buffer.store()["q"][0]["online"][0].max() == pytest.approx(8, rel=1e-6)


def test_nothing_is_told_in_binary32():
    with opened(DQN) as kernel, warnings.catch_warnings():
        warnings.simplefilter("error")
        filled(kernel, DQN).learn(adam(3, 0.01), batch_size=16)


def test_fields_are_the_learners():
    with opened(DDPG) as kernel:
        fields = learner_fields(kernel)
        assert fields == {
            "obs": ("<f4", (3,)),
            "next_obs": ("<f4", (3,)),
            "action": ("<f4", (2,)),
            "reward": ("<f4", ()),
            "discount": ("<f4", ()),
        }
        LearningReplay(kernel, fields, capacity=40)
        for wrong in (
            {**fields, "action": ("<f4", (1,))},
            {**fields, "obs": ("<f4", (3, 2))},
            {**fields, "obs": ("<i4", (3,))},
            {**fields, "reward": ("<f8", ())},
            dict(reversed(fields.items())),
            {**fields, "more": ("<f4", ())},
        ):
            with pytest.raises(ValueError, match="^fields must be the learner's .*, not"):
                LearningReplay(kernel, wrong, capacity=40)


def test_observations_may_have_another_shape():
    """What is drawn has it; the learner has learned the same."""
    stored = []
    for shape in ((3,), (1, 3, 1)):
        with opened(DQN) as kernel:
            fields = learner_fields(kernel)
            fields |= dict.fromkeys(("obs", "next_obs"), ("<f4", shape))
            buffer = LearningReplay(kernel, fields, capacity=50)
            rows = experiences(DQN, 50)
            rows |= {name: rows[name].reshape(-1, *shape) for name in ("obs", "next_obs")}
            buffer.initialize(weights(DQN))
            buffer.add(**rows)
            buffer.learn(adam(3, 0.01), batch_size=16)
            batch = buffer.sample(8)
            assert batch["obs"].shape == (8, *shape)
            learned = buffer.store(["online"])["q"]
            arrays = [batch["obs"], *(part for layer in learned for part in layer["online"])]
            stored.append([array.tobytes() for array in arrays])
    assert stored[0] == stored[1]

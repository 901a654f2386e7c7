"""rlfabric.sb3.PrioritizedReplayBuffer by the contract of stable-baselines3's buffers, and
compared with the library's own."""

import copy
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common import buffers

from host.sb3 import card_buffer as implementation
from hw.errors import UsageError
from rlfabric import sb3
from rlfabric.sb3 import PrioritizedReplayBuffer

BOX = spaces.Box(-9, 9, (3,), np.float32)
MANY = spaces.Dict(
    {"image": spaces.Box(0, 255, (4, 4, 1), np.uint8), "speed": BOX, "gear": spaces.Discrete(5)}
)
ACTIONS = spaces.Box(-1, 1, (2,), np.float32)


def made(size=12, space=BOX, actions=ACTIONS, env_count=1, kind=PrioritizedReplayBuffer, **options):
    more = dict(seed=4) if issubclass(kind, PrioritizedReplayBuffer) else {}
    return kind(size, space, actions, device="cpu", n_envs=env_count, **more | options)


def steps(count, env_count=1, space=BOX, actions=ACTIONS, seed=1):
    """Arguments of ``add``, of episodes that end in both ways."""
    rng = np.random.default_rng(seed)
    space.seed(seed)

    def drawn():
        rows = [space.sample() for _ in range(env_count)]
        if not isinstance(space, spaces.Dict):
            return np.stack(rows)
        return {key: np.array([row[key] for row in rows]) for key in space}

    obs = drawn()
    for _ in range(count):
        after, fresh = drawn(), drawn()
        ended = rng.random((2, env_count)) < 0.25
        done = ended.any(0)
        infos = [{"TimeLimit.truncated": bool(cut)} for cut in ended[1] & ~ended[0]]
        action = rng.normal(size=(env_count, *actions.shape)).astype(actions.dtype)
        step = copy.deepcopy((obs, after, action, rng.normal(size=env_count), done, infos))
        parts = list(space) if isinstance(space, spaces.Dict) else None
        obs = dict(fresh) if parts else fresh
        pairs = [(obs[key], after[key]) for key in parts] if parts else [(obs, after)]
        for one, other in pairs:
            one[~done] = other[~done]
        yield step


def filled(buffer, count=30, **options):
    """``buffer`` with ``count`` steps, whose arrays are used again after each ``add``."""
    for step in steps(
        count, buffer.n_envs, buffer.observation_space, buffer.action_space, **options
    ):
        buffer.add(*step)
        for given in step[:-1]:
            for array in given.values() if isinstance(given, dict) else [given]:
                array[...] = 0
    return buffer


def equal(mine, theirs):
    for name in theirs._fields:
        one, other = getattr(mine, name), getattr(theirs, name)
        if isinstance(other, dict):
            assert one.keys() == other.keys()
            for key in other:
                assert one[key].dtype == other[key].dtype and torch.equal(one[key], other[key])
        elif other is None:
            assert one is None
        else:
            assert one.dtype == other.dtype
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def pick(monkeypatch, envs):
    """``np.random.randint`` gives the environments ``envs``, again and again."""

    def randint(low, high=None, size=None):
        return np.resize(envs, size)

    monkeypatch.setattr(np.random, "randint", randint)


@pytest.mark.parametrize("size", [12, 13, 1])
def test_position_and_size(size):
    """In steps of all environments, as the library counts them."""
    kinds = PrioritizedReplayBuffer, buffers.ReplayBuffer
    pair = [made(size=size, env_count=2, kind=kind) for kind in kinds]
    for count in (0, 1, 3, 2, 1):
        mine, theirs = (filled(each, count) for each in pair)
        assert (mine.pos, mine.full, mine.size()) == (theirs.pos, theirs.full, theirs.size())


@pytest.mark.parametrize("space", [BOX, MANY, spaces.Discrete(5)], ids=["box", "dict", "discrete"])
@pytest.mark.parametrize("handled", [True, False])
def test_rows_are_the_library_s(space, handled, monkeypatch):
    kind = buffers.DictReplayBuffer if space is MANY else buffers.ReplayBuffer
    options = dict(space=space, env_count=2, handle_timeout_termination=handled)
    mine, theirs = (filled(made(kind=each, **options)) for each in (PrioritizedReplayBuffer, kind))
    assert (
        (mine.pos, mine.full, mine.size())
        == (theirs.pos, theirs.full, theirs.size())
        == (0, True, 6)
    )
    pick(monkeypatch, [0, 1])
    rows = np.array([0, 1, 5, 3, 3, 2])
    equal(mine._get_samples(rows), theirs._get_samples(rows))
    names = "observations", "next_observations", "actions", "rewards", "dones", "timeouts"
    for array, wanted in (pair for name in names for pair in pairs(mine, theirs, name)):
        np.testing.assert_array_equal(array, wanted)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def pairs(mine, theirs, name):
    """The arrays ``name`` of both, or those of each key."""
    one, other = getattr(mine, name), getattr(theirs, name)
    if not isinstance(other, dict):
        return [(one, other)]
    assert one.keys() == other.keys()
    return [(one[key], other[key]) for key in other]


class Changed:
    """Normalizes as a VecNormalize would, by numbers that cannot be missed."""

    def normalize_obs(self, obs):
        if isinstance(obs, dict):
            return {key: self.normalize_obs(x) for key, x in obs.items()}
        return (obs * 0.5 + 3).astype(np.float32)

    def normalize_reward(self, reward):
        return (reward * 0.25 - 1).astype(np.float32)


@pytest.mark.parametrize("env_count", [1, 2])
@pytest.mark.parametrize("count", [5, 6, 13, 29])
def test_what_waits_is_stored_where_the_library_stores_it(count, env_count):
    """Also more steps than the buffer holds, before the first draw."""
    mine, theirs = (
        filled(made(kind=each, env_count=env_count), count)
        for each in (PrioritizedReplayBuffer, buffers.ReplayBuffer)
    )
    assert (mine.pos, mine.full) == (theirs.pos, theirs.full)
    stored = theirs.size()
    np.testing.assert_array_equal(mine.observations[:stored], theirs.observations[:stored])
    np.testing.assert_array_equal(mine.dones[:stored], theirs.dones[:stored])


@pytest.mark.parametrize("size, env_count, count", [(400, 1, 300), (600, 300, 1), (600, 300, 3)])
def test_many_steps_may_wait(size, env_count, count):
    """More than fit where they wait, or more environments."""
    mine, theirs = (
        filled(made(size, env_count=env_count, kind=each), count)
        for each in (PrioritizedReplayBuffer, buffers.ReplayBuffer)
    )
    assert (mine.pos, mine.full) == (theirs.pos, theirs.full)
    np.testing.assert_array_equal(mine.observations, theirs.observations)
    assert len(mine.memory) == theirs.size() * env_count


@pytest.mark.parametrize("space", [BOX, MANY], ids=["box", "dict"])
def test_a_draw_is_normalized(space):
    """By the environment that the algorithm gives; what was drawn before stays as it is."""
    for n_steps, name in ((1, "sample"), (2, "sample_prioritized")):
        buffer, drawn = filled(made(space=space, n_steps=n_steps, gamma=0.5)), []
        state, buffer._warned = buffer.memory.state_dict(), True
        for env in (None, Changed()):
            buffer.memory.load_state_dict(state)
            drawn.append(getattr(buffer, name)(6, env))
        raw, changed = held = copy.deepcopy(drawn)
        buffer.sample_prioritized(12)
        for one, other in zip(drawn, held, strict=True):
            equal(one, other)
        for part in ("observations", "next_observations"):
            for one, other in pairs(raw, changed, part):
                np.testing.assert_array_equal(other, Changed().normalize_obs(one.numpy()))
        # Of each reward: r / 4 - 1.
        less = torch.where(raw.discounts == 0.25, 1.5, 1.0) if n_steps == 2 else 1
        torch.testing.assert_close(changed.rewards, raw.rewards / 4 - less)


@pytest.mark.parametrize("space", [BOX, MANY], ids=["box", "dict"])
def test_normalized_rows_are_the_library_s(space, monkeypatch):
    kind = buffers.DictReplayBuffer if space is MANY else buffers.ReplayBuffer
    mine, theirs = (
        filled(made(kind=each, space=space)) for each in (PrioritizedReplayBuffer, kind)
    )
    pick(monkeypatch, [0])
    equal(*(each._get_samples(np.arange(12), Changed()) for each in (mine, theirs)))


@pytest.mark.parametrize(
    "actions",
    [
        spaces.Discrete(10),
        spaces.Box(-1, 1, (2, 3), np.float64),
        spaces.MultiBinary(3),
        spaces.MultiDiscrete([3, 4]),
    ],
)
def test_types_are_the_library_s(actions, monkeypatch):
    kinds = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split()
    space = spaces.Dict({kind: spaces.Box(0, 100, (2,), kind) for kind in kinds})
    mine, theirs = (
        filled(made(kind=kind, space=space, actions=actions), 5)
        for kind in (PrioritizedReplayBuffer, buffers.DictReplayBuffer)
    )
    assert mine.actions.dtype == theirs.actions.dtype
    pick(monkeypatch, [0])
    one, other = (each._get_samples(np.arange(5)) for each in (mine, theirs))
    assert one.actions.dtype == other.actions.dtype and torch.equal(one.actions, other.actions)
    for kind in kinds:
        assert mine.observations[kind].dtype == theirs.observations[kind].dtype
        pair = one.observations[kind].numpy(), other.observations[kind].numpy()
        assert pair[0].dtype == pair[1].dtype and (pair[0] == pair[1]).all()


def test_weights_and_priorities():
    buffer = filled(made(alpha=0.5, beta=0.7, epsilon=0.0), 12)
    first = buffer.sample_prioritized(4)
    assert (first.weights == 1).all()
    errors = torch.tensor([0.25, 4.0, 9.0, 0.5], requires_grad=True)
    indexes = np.array([0, 3, 6, 9])
    buffer.update_priorities(indexes, errors)
    drawn = buffer.sample_prioritized(12)
    p = np.ones(12)
    p[indexes] = errors.detach().numpy() ** 0.5
    weights = (12 * p / p.sum()) ** -0.7
    wanted = weights[drawn.indexes] / weights[drawn.indexes].max()
    np.testing.assert_allclose(drawn.weights[:, 0], wanted, rtol=1e-3)
    counts = np.bincount(
        np.concatenate([buffer.sample_prioritized(12).indexes for _ in range(300)]), minlength=12
    )
    np.testing.assert_allclose(counts / counts.sum(), p / p.sum(), atol=0.02)


@pytest.mark.parametrize("count", [6, 10, 64])
def test_a_batch_larger_than_what_is_stored(count):
    buffer = filled(made(beta=1.0, alpha=1.0, epsilon=0.0), 5)
    buffer.sample_prioritized(5)
    buffer.update_priorities(np.arange(5), np.array([1.0, 2.0, 3.0, 4.0, 8.0]))
    drawn = buffer.sample_prioritized(count)
    assert len(drawn.indexes) == count and set(drawn.indexes) <= set(range(5))
    p = np.array([1.0, 2, 3, 4, 8])[drawn.indexes]
    np.testing.assert_allclose(drawn.weights[:, 0], p.min() / p, rtol=1e-3)
    # Also than what it can hold, of which it has stored more.
    assert set(filled(made(size=3), 9).sample_prioritized(7).indexes) <= {0, 1, 2}


def test_priorities_are_of_the_experiences_that_were_drawn():
    """A step that comes after them, and overwrites one, enters with the largest priority."""
    buffer = filled(made(size=4, alpha=1.0, epsilon=0.0), 4)
    buffer.sample_prioritized(4)
    filled(buffer, 1, seed=5)
    buffer.update_priorities(np.array([0, 1, 2]), np.array([0.125, 0.5, 0.25]))
    filled(buffer, 1, seed=6)  # over index 1
    one = buffer.memory.priorities()[3]
    assert buffer.memory.priorities().tolist() == [one // 8, one, one // 4, one]


def test_each_update_counts():
    """Also one that follows another without a draw."""
    buffer = filled(made(alpha=1.0, epsilon=0.0), 5)
    for index, error in ((0, -0.5), (3, 0.25), (0, 0.125)):
        buffer.update_priorities(np.array([index]), np.array([error]))
    one = buffer.memory.priorities()[4]
    assert buffer.memory.priorities().tolist() == [one // 8, one, one, one // 4, one]


@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("way", [pickle.dumps, None], ids=["pickle", "deepcopy"])
def test_resumed_draws_are_the_same(n_steps, way):
    buffer = filled(made(env_count=2, n_steps=n_steps), 9)
    buffer.update_priorities(np.arange(4), np.arange(4.0))
    again = pickle.loads(way(buffer)) if way else copy.deepcopy(buffer)
    again = copy.deepcopy(again)  # of one that was not used yet
    assert again._memory is None
    for each in (buffer, again):
        filled(each, 5, seed=8)
    for _ in range(3):
        one, other = (each.sample_prioritized(5) for each in (buffer, again))
        assert (one.indexes == other.indexes).all()
        equal(one._replace(indexes=None), other._replace(indexes=None))
        for each in (buffer, again):
            each.update_priorities(one.indexes, np.linspace(0, 3, 5))
            filled(each, 1, seed=9)
    again.move("model")
    assert (buffer.sample_prioritized(5).indexes == again.sample_prioritized(5).indexes).all()
    again.close()


def test_options_are_the_memory_s(monkeypatch):
    given, opened = dict(board="u50", timeout_s=7.0, takeover=True, stratified=False), []
    given |= dict(alpha=0.25, epsilon=0.125, seed=9)
    memory = sb3._Memory
    monkeypatch.setattr(
        sb3,
        "_Memory",
        lambda *place, **options: opened.append(options) or memory(*place, **options),
    )
    made(**given)
    assert opened == [given]


def test_draws_follow_the_seed():
    """By default, of NumPy's generator, which an algorithm's seed has seeded."""

    def drawn(numpy_seed, **options):
        np.random.seed(numpy_seed)
        return filled(made(seed=None, **options)).sample_prioritized(12).indexes.tolist()

    assert drawn(1, stratified=False) == drawn(1, stratified=False) != drawn(2, stratified=False)


def test_a_pickle_has_the_name_of_its_card():
    """Whether it was given as a name, an open card, or a loaded kernel."""
    buffer = filled(made(), 3)
    card = SimpleNamespace(name="sim")
    for given in ("sim", card, SimpleNamespace(name="replay", card=card)):
        buffer._card = given
        assert buffer.__getstate__()["_card"] == "sim"


def test_moving_releases_the_card():
    buffer = filled(made(), 5)
    before = buffer.memory
    buffer.move("model")
    assert released(before) and not released(buffer.memory)
    buffer.close()
    assert released(buffer._memory)


def released(memory):
    return memory.launcher.kernel.card is None or memory._card is None


def test_reset():
    buffer = filled(made(n_steps=2), 5)
    buffer.reset()
    assert (buffer.pos, buffer.full, len(buffer.memory)) == (0, False, 0)
    with pytest.raises(UsageError, match="not from an empty buffer"):
        buffer.sample_prioritized(1)
    found, wanted = (
        filled(each, 5, seed=3).memory.get_all_transitions() for each in (buffer, made(n_steps=2))
    )
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


def test_plain_algorithms_are_warned_once(monkeypatch):
    buffer = filled(made(), 5)
    with pytest.warns(UserWarning, match="importance weights are not applied"):
        buffer.sample(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        buffer.sample(2)
    monkeypatch.setattr(implementation, "_DISCOUNTS", False)
    several = filled(made(n_steps=2), 5)
    several._warned = True
    with pytest.raises(UsageError, match="n_steps must be 1 with this release"):
        several.sample(2)


REFUSED = {
    "optimize_memory_usage": (dict(optimize_memory_usage=True), "must be False, not True"),
    "n_steps": (dict(n_steps=0), "n_steps must be an integer in 1..256, not 0"),
    "n_steps, many": (dict(n_steps=257), "n_steps must be an integer in 1..256, not 257"),
    "n_steps, a bool": (dict(n_steps=True), "n_steps must be an integer"),
    "gamma": (dict(gamma=1.5), "gamma must be in 0..1, not 1.5"),
    "beta": (dict(beta=2), "beta must be in 0..1, or a function"),
    "a function beta": (dict(beta=lambda left: 1 + left), "beta must be in 0..1, or a function"),
    "alpha": (dict(alpha=-1.0), "alpha must be in 0..1, not -1.0"),
    "size": (dict(size=1), "buffer_size must be at least 2"),
    "card": (dict(card="fpga"), "card must be model, sim"),
}


@pytest.mark.parametrize("options, text", REFUSED.values(), ids=REFUSED)
def test_refused(options, text):
    with pytest.raises(UsageError, match=text):
        made(**options)


@pytest.mark.parametrize(
    "indexes, errors, text",
    [
        ([0, 1], [1.0, np.nan], "td_errors must be finite, not nan at position 1"),
        (
            [0, 1],
            [1.0, 1e300],
            r"td_errors must be a number that float32 holds, not 1e\+300 at position 1",
        ),
        ([0, 5], [1.0, 2.0], r"indexes must be in 0\.\.4"),
        ([-1, 0], [1.0, 2.0], r"indexes must be in 0\.\.4"),
        ([0.0, 1.0], [1.0, 2.0], "indexes must be a list of integers"),
        ([0, 1], [1.0], r"td_errors must have shape \(2,\), not \(1,\)"),
        ([0, 1], [[1.0], [2.0]], r"td_errors must have shape \(2,\), not \(2, 1\)"),
    ],
)
def test_a_wrong_update_is_refused_at_once(indexes, errors, text):
    buffer = filled(made(alpha=1.0), 5)
    with pytest.raises(UsageError, match=text):
        buffer.update_priorities(np.array(indexes), torch.tensor(errors, dtype=torch.float64))
    assert len(set(buffer.memory.priorities())) == 1


def test_an_update_is_copied():
    """A caller may use its arrays again before the next draw."""
    buffer = filled(made(alpha=1.0, epsilon=0.0), 5)
    indexes, errors = np.array([0, 2]), torch.tensor([0.5, 0.25])
    buffer.update_priorities(indexes, errors)
    indexes[:], errors[:] = 4, 1.0
    one = buffer.memory.priorities()[4]
    assert buffer.memory.priorities().tolist() == [one // 2, one, one // 4, one, one]


def rising(progress_remaining):
    return 0.4 + 0.6 * (1 - progress_remaining)


def test_beta_by_progress():
    buffer = filled(made(beta=rising), 12)
    buffer.sample_prioritized(4)
    buffer.update_priorities(np.arange(12), np.arange(1.0, 13))
    state = pickle.dumps(buffer)
    early, late = (
        pickle.loads(state).sample_prioritized(12, progress_remaining=left).weights[:, 0].log()
        for left in (1.0, 0.0)
    )
    np.testing.assert_allclose(early, 0.4 * late, atol=5e-3)

"""host.replay.nstep against the definition, one episode at a time."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.algorithms.dqn import DQNConfig
from host.environments.environment import Transitions
from host.environments.spec import Spec
from host.replay.nstep import NStep

#: a step that must leave no trace
IDLE = (9999, 9, 99.0, 9999, False, False, False)
NAMES = ("obs", "action", "reward", "next_obs", "discount")
SPEC = Spec(shape=(1,), dtype="float32", discrete=True, action_count=10)


def definition(episode, n, gamma):
    """Experiences of one closed episode [(obs, action, reward, next_obs, terminated)]."""
    for i in range(len(episode)):
        window = episode[i : i + n]
        reward = sum(gamma**j * step[2] for j, step in enumerate(window))
        last = window[-1]
        yield (*episode[i][:2], reward, last[3], 0 if last[4] else gamma ** len(window))


def run(n, gamma, lengths, truncated, resets, pauses=False):
    """Feed environments whose episodes have these lengths; return (given, expected) by env.

    ``lengths[env]`` lists episode lengths, ``truncated[env]`` whether each ends truncated.
    ``resets``: a reset-only step follows each end (NEXT_STEP); ``pauses``: every third step waits.
    """
    count = len(lengths)
    scripts, expected, number = [], [[] for _ in range(count)], 0
    for env in range(count):
        script = []
        for length, cut in zip(lengths[env], truncated[env], strict=True):
            episode = []
            for i in range(length):
                last = i == length - 1
                number += 1
                if pauses and number % 3 == 0:
                    script.append(IDLE)
                episode.append((number, number % 7, number % 5 - 1.5, -number, last and not cut))
                script.append((*episode[-1], last and cut, True))
            expected[env] += definition(episode, n, gamma)
            if resets:
                script.append(IDLE)
        scripts.append(script)
    windows, given_rows = NStep(count, n, gamma, SPEC), [[] for _ in range(count)]
    for t in range(max(map(len, scripts))):
        rows = [script[t] if t < len(script) else IDLE for script in scripts]
        obs, action, reward, next_obs, terminated, cut, valid = map(
            np.array, zip(*rows, strict=True)
        )
        step = (obs[:, None], action, reward, next_obs[:, None], terminated, cut, valid)
        for out in windows.push(Transitions(*step)):
            row = [out[name] for name in NAMES]
            env = env_of(scripts, int(row[0][0]))
            given_rows[env].append((int(row[0][0]), row[1], row[2], int(row[3][0]), *row[4:]))
    assert not len(windows.flush()), "closed episodes leave no window open"
    return given_rows, expected


def env_of(scripts, obs):
    return next(e for e, script in enumerate(scripts) if any(s[0] == obs for s in script))


def check(given_rows, expected):
    for mine, theirs in zip(given_rows, expected, strict=True):
        assert [row[:2] for row in mine] == [row[:2] for row in theirs], "oldest first, each once"
        assert [row[3] for row in mine] == [row[3] for row in theirs]
        for column in (2, 4):
            np.testing.assert_allclose(
                [row[column] for row in mine], [row[column] for row in theirs], rtol=1e-6
            )


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 11])
def test_corners(n, length, resets):
    check(*run(n, 0.9, [[length, 1, length]], [[False, True, True]], resets))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 6),
    gamma=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
    resets=st.booleans(),
    pauses=st.booleans(),
    lengths=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_is_the_definition(n, gamma, resets, pauses, lengths, seed):
    rng = np.random.default_rng(seed)
    truncated = [[bool(rng.integers(2)) for _ in env] for env in lengths]
    check(*run(n, gamma, lengths, truncated, resets, pauses))


def push_plain(windows, t):
    x = np.full((1, 1), float(t))
    no = np.zeros(1, bool)
    return windows.push(Transitions(x, np.zeros(1), np.ones(1), x + 1, no, no, ~no))


def test_flush_bootstraps_open_windows():
    windows = NStep(1, 3, 0.5, SPEC)
    for t in range(2):
        assert not len(push_plain(windows, t))
    out = windows.flush()
    assert out["obs"].ravel().tolist() == [0, 1] and out["next_obs"].ravel().tolist() == [2, 2]
    assert out["reward"].tolist() == [1.5, 1] and out["discount"].tolist() == [0.25, 0.5]
    assert not len(windows.flush())


def test_a_step_that_is_left_out_leaves_no_trace():
    """Between steps of an episode; whatever it says, not even of its end."""
    windows = NStep(1, 3, 0.5, SPEC)
    for t in range(2):
        push_plain(windows, t)
    x, yes = np.full((1, 1), 9999.0), np.ones(1, bool)
    assert not len(windows.push(Transitions(x, np.ones(1), 99 * np.ones(1), x, yes, yes, ~yes)))
    out = windows.flush()
    assert out["obs"].ravel().tolist() == [0, 1] and out["next_obs"].ravel().tolist() == [2, 2]
    assert out["reward"].tolist() == [1.5, 1] and out["discount"].tolist() == [0.25, 0.5]


def test_state_resumes_inside_windows():
    one, two = NStep(1, 4, 0.9, SPEC), NStep(1, 4, 0.9, SPEC)
    for t in range(6):
        push_plain(one, t)
    state = one.state_dict()
    two.load_state_dict(state)
    kept = {name: array.copy() for name, array in state.items()}
    for t in range(6, 12):
        mine, theirs = push_plain(one, t), push_plain(two, t)
        for name in NAMES:
            np.testing.assert_array_equal(mine[name], theirs[name])
    for name, array in kept.items():  # a checkpoint is of one time
        np.testing.assert_array_equal(state[name], array)
    with pytest.raises(ValueError, match=r"^open must be \[1, 4\], not \[1, 3\]$"):
        one.load_state_dict(NStep(1, 3, 0.9, SPEC).state_dict())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_by_itself(copied):
    """It has one memory, as the original has, and not that of the original."""
    one = NStep(2, 3, 0.5, SPEC)
    for t in range(4):
        push_two(one, t)
    other = copied(one)
    for t in range(9):
        push_two(one, 100 + t)
    records = [push_two(other, t, ends=t == 6) for t in range(4, 9)]
    other = copied(other)
    found = np.concatenate([*records, other.flush()])
    assert found["obs"].ravel().tolist() == [2, -2, 3, -3, 4, 5, 6, -4, -5, -6, 7, 8, -7, -8]
    assert found["reward"].tolist() == [1.75] * 5 + [1.5, 1] + [1.75, 1.5, 1] + [1.5, 1] * 2


def push_two(windows, t, ends=False):
    """A step of two environments, in which the episodes end."""
    x, no = np.array([[t], [-t]], float), np.zeros(2, bool)
    end = no | ends
    return windows.push(Transitions(x, np.zeros(2), np.ones(2), x + 1, no, end, ~no))


def test_each_reward_is_clipped_before_it_is_summed_and_scaled():
    windows, no = NStep(1, 3, 0.5, SPEC, scale=0.25, clip=2), np.zeros(1, bool)
    x = np.zeros((1, 1))
    for reward in (-7.0, 0.5, 2.5):
        out = windows.push(Transitions(x, np.zeros(1), np.array([reward]), x, no, no, ~no))
    assert out["reward"].tolist() == [0.25 * (-2 + 0.5 * 0.5 + 0.25 * 2)]


def test_continuous_actions_stay_with_their_step():
    spec = Spec(shape=(1,), dtype="float32", discrete=False, action_count=3)
    windows, no = NStep(2, 2, 0.9, spec), np.zeros(2, bool)
    given_rows = np.random.default_rng(0).normal(size=(3, 2, 3)).astype(np.float32)
    rows = []
    for action in given_rows:
        x = np.zeros((2, 1))
        rows.append(windows.push(Transitions(x, action, np.ones(2), x, no, no, ~no)))
    assert [len(row) for row in rows] == [0, 2, 2] and rows[1]["action"].dtype == np.float32
    np.testing.assert_array_equal(rows[1]["action"], given_rows[0])
    np.testing.assert_array_equal(windows.flush()["action"], given_rows[2])


def test_fields_that_no_word_begins_with():
    """Observations of an odd number of bytes, and numbers after them."""
    spec = Spec(shape=(3, 1), dtype="uint8", discrete=False, action_count=2)
    windows, no = NStep(1, 2, 0.5, spec), np.zeros(1, bool)
    for t in range(3):
        x = np.full((1, 3, 1), 7 * t, np.uint8)
        step = x, np.array([[t, -t]], np.float32), np.array([t + 1.5]), x + 1, no, no, ~no
        out = windows.push(Transitions(*step))
    assert out["obs"].tolist() == [[[7], [7], [7]]] and out["next_obs"].ravel().tolist() == [15] * 3
    assert out["action"].tolist() == [[1, -1]] and out["reward"].tolist() == [2.5 + 0.5 * 3.5]
    assert out["discount"].tolist() == [0.25]
    padding = out.view(np.uint8)[spec_bytes(spec) :]
    assert len(padding) and not padding.any()


def spec_bytes(spec):
    return sum(kind.itemsize * int(np.prod(shape)) for kind, shape in spec.fields.values())


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_rejects(bad):
    with pytest.raises(ValueError, match=rf"^n must be an integer of at least 1, not {bad}$"):
        NStep(1, bad, 0.9, SPEC)
    with pytest.raises(ValueError, match="^env_count must be"):
        NStep(bad, 1, 0.9, SPEC)


def test_an_agents_windows():
    """Its steps, its gamma, and its rewards, which are clipped before they are scaled."""
    agent = DQNConfig(n_step=2, gamma=0.5, reward_scale=0.25, reward_clip=4.0)
    spec = Spec(shape=(1,), dtype="float32", discrete=True, action_count=2)
    windows = NStep.of(agent, spec, 1)
    one, no = np.zeros((1, 1), np.float32), np.zeros(1, bool)
    step = dict(obs=one, next_obs=one, action=np.zeros(1), terminated=no, truncated=no, valid=~no)
    assert not len(windows.push(Transitions(reward=np.array([10.0]), **step)))
    [record] = windows.push(Transitions(reward=np.array([-2.0]), **step))
    assert record["reward"] == (4 - 0.5 * 2) / 4 and record["discount"] == 0.25


def test_every_processor_sums_alike():
    """A window of rewards of 1 is the sum of powers of gamma, multiplied one after the other."""
    windows = NStep(1, 9, 0.99, SPEC)
    one, no = np.zeros((1, 1), np.float32), np.zeros(1, bool)
    step = dict(obs=one, next_obs=one, action=np.zeros(1), terminated=no, truncated=no, valid=~no)
    power = total = 0.0
    for _ in range(8):
        windows.push(Transitions(reward=np.ones(1), **step))
        power = power * 0.99 or 1.0
        total += power
    assert windows.state_dict()["reward"][0, 0] == total

"""host.environments.collector: what an NStepCollector brings, against the definition in plain
Python."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.algorithms.config import Clock
from host.environments.spec import Spec
from host.replay.nstep import NStep, NStepCollector

ENVS = 3


class Scripted(gymnasium.Env):
    """Random lengths, rewards and ends; keeps what it was asked and what it said.

    Observes (environment, episode, time). ``log`` has ``(obs, action, reward, next_obs,
    terminated, ended)`` of each step, ``seeds`` those that it was reset with.
    """

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(6)

    def __init__(self, index):
        self.index, self.episode, self.log, self.seeds = index, -1, [], []
        self.rng = np.random.default_rng(index)

    def _obs(self):
        return np.array([self.index, self.episode, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.episode, self.time, self.length = self.episode + 1, 0, int(self.rng.integers(1, 9))
        return self._obs(), {}

    def step(self, action):
        before, reward = self._obs(), float(self.rng.normal())
        self.time += 1
        ended = self.time == self.length
        terminated = bool(ended and self.rng.integers(2))
        after = self._obs()
        self.log.append((before, int(action), reward, after, terminated, ended))
        return after, reward, terminated, ended and not terminated, {}


class Random:
    """A policy that keeps what it was asked."""

    def __init__(self):
        self.rng, self.steps, self.ends = np.random.default_rng(9), [], []

    def act(self, obs, *, steps):
        assert obs.shape == (ENVS, 3) and obs.dtype == np.float32
        self.steps.append(steps)
        return self.rng.integers(6, size=len(obs))

    def ended(self, which):
        self.ends.append((self.steps[-1], which.tolist()))


def made(n=3, *, steps=1, scale=1.0, gamma=0.9, seed=50):
    """``(collector, environments, Random, Clock)``."""
    envs = SyncVectorEnv(
        [lambda i=i: Scripted(i) for i in range(ENVS)], autoreset_mode=AutoresetMode.SAME_STEP
    )
    windows = NStep(ENVS, n, gamma, Spec.of(envs), scale=scale)
    collector = NStepCollector(envs, steps, windows=windows, seed=seed)
    return collector, envs.envs, Random(), Clock()


def definition(log, n, gamma, scale, *, cut=False):
    """``(step at which it is complete, record)`` of each experience of one environment's steps;
    ``cut``: those that are not complete in the end too, as truncated there."""
    for i, (obs, action, *_) in enumerate(log):
        last = next((j for j in range(i, len(log)) if log[j][-1] or j == i + n - 1), None)
        if last is None and not cut:
            continue
        at = len(log) - 1 if last is None else last
        reward = sum(gamma**k * step[2] for k, step in enumerate(log[i : at + 1]))
        discount = 0 if log[at][4] else gamma ** (at + 1 - i)
        yield at, (obs, log[at][3], action, np.float32(reward) * np.float32(scale), discount)


def expected(envs, n, gamma, scale, first, steps):
    """Records that are complete in steps ``first`` .. ``first + steps - 1``: by step, then by
    environment, oldest first."""
    end = first + steps
    known = [list(definition(env.log[:end], n, gamma, scale)) for env in envs]
    return [row for t in range(first, end) for rows in known for at, row in rows if at == t]


def check(records, rows):
    assert len(records) == len(rows)
    for record, (obs, next_obs, action, reward, discount) in zip(records, rows, strict=True):
        np.testing.assert_array_equal(record["obs"], obs)
        np.testing.assert_array_equal(record["next_obs"], next_obs)
        assert record["action"] == action
        np.testing.assert_allclose(record["reward"], reward, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(record["discount"], discount, rtol=1e-6)


def episodes_of(envs):
    """``(return, length)`` of each episode that ended, as they ended."""
    returns = [0.0] * len(envs)
    for t in range(len(envs[0].log)):
        for i, env in enumerate(envs):
            _, _, reward, after, _, ended = env.log[t]
            returns[i] += reward
            if ended:
                yield returns[i], int(after[2])
                returns[i] = 0.0


@pytest.mark.parametrize("scale", [1.0, 0.1])
@pytest.mark.parametrize("n, steps", [(1, 1), (1, 4), (3, 1), (3, 7), (10, 2)])
def test_records_are_the_definitions(n, steps, scale):
    collector, envs, policy, clock = made(n, steps=steps, scale=scale)
    ended, finished = 0, []
    for launch in range(60 // steps):
        records, episodes = collector.collect(policy, clock)
        check(records, expected(envs, n, 0.9, scale, launch * steps, steps))
        finished += episodes
        assert clock == Clock(steps=ENVS * steps * (launch + 1))
        ended += int((records["discount"] == 0).sum())
    assert ended > 10 and policy.steps == [*range(0, clock.steps, ENVS)]
    assert finished == list(episodes_of(envs)) and len(finished) > 20


def test_the_policy_hears_of_each_end():
    collector, envs, policy, clock = made(steps=5)
    for _ in range(8):
        collector.collect(policy, clock)
    each = [[env.log[t][-1] for env in envs] for t in range(40)]
    assert policy.ends == [(ENVS * t, which) for t, which in enumerate(each) if any(which)]
    assert any(sum(which) == 1 for _, which in policy.ends)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_bytes_that_are_no_field_are_zero(steps):
    """Also of records of several steps that are put behind one another."""
    collector, _, policy, clock = made(1, steps=steps)
    for _ in range(30):
        dirty = [np.full(size, 255, np.uint8) for size in (48, 96, 144, 288, 432, 720) * 20]
        del dirty  # whoever gets this memory next does not find zeros
        records, _ = collector.collect(policy, clock)
        size = sum(records.dtype[name].itemsize for name in records.dtype.names)
        raw = np.frombuffer(records.tobytes(), np.uint8).reshape(len(records), -1)
        assert len(records) == ENVS * steps and size < records.dtype.itemsize == raw.shape[1]
        assert not raw[:, size:].any() and raw[:, :size].any()


def test_what_was_gathered_comes_first_after_a_restart():
    """Once, as truncated; then new episodes of new seeds."""
    collector, envs, policy, clock = made(4, steps=3)
    whole = sum(len(collector.collect(policy, clock)[0]) for _ in range(7))
    other, fresh, *_ = made(4, steps=3, seed=1)
    other.restart(70)
    assert [env.seeds for env in fresh] == [[1 + i, 70 + i] for i in range(ENVS)]
    other.load_state_dict(collector.state_dict())
    left = []
    for env in envs:
        complete, cut = (list(definition(env.log, 4, 0.9, 1.0, cut=cut)) for cut in (False, True))
        left += [row for _, row in cut[len(complete) :]]
    assert left and whole + len(left) == ENVS * 3 * 7, "nothing is lost"
    records, _ = other.collect(policy, clock)
    check(records[: len(left)], left)
    check(records[len(left) :], expected(fresh, 4, 0.9, 1.0, 0, 3))
    records, _ = other.collect(policy, clock)
    check(records, expected(fresh, 4, 0.9, 1.0, 3, 3))

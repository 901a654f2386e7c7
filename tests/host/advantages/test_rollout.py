"""host.advantages.rollout: what was sampled, what followed, and who bootstraps from it."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.advantages.ppo import PPOConfig
from host.advantages.rollout import RolloutCollector
from host.algorithms.config import Clock
from host.environments.spec import Spec
from tests.host.corridor import Corridor, Walker, value_of


@pytest.fixture
def collect():
    """``collect(steps)`` in three environments; what it has is a Walker and a Clock."""
    envs = SyncVectorEnv([Corridor] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    collector = RolloutCollector(envs, 1, seed=0)

    def call(steps):
        collector.steps = steps
        return collector.collect(call.policy, call.clock)

    call.policy, call.clock = Walker(PPOConfig(), Spec.of(envs), exploration=1), Clock()
    return call


def expected(steps):
    """``(obs, terminated, truncated, next)`` of each step of a Corridor from its first reset."""
    episode, time = 0, 0
    for _ in range(steps):
        turn = episode % 3
        end = time + 1 == 3 + turn
        following = (episode, time + 1)
        yield (episode, time), end and turn != 1, end and turn != 0, following
        episode, time = (episode + 1, 0) if end else following


def test_rollouts_follow_one_another(collect):
    """Cut off in mid-episode, and gone on with by the next; each end bootstraps as it should."""
    known, kinds = list(expected(24)), set()
    for begin in range(0, 24, 8):
        rollout, _ = collect(8)
        for t, (obs, terminated, truncated, following) in enumerate(known[begin : begin + 8]):
            assert rollout.obs[t].tolist() == [list(obs)] * 3
            assert rollout.terminated[t].tolist() == [terminated] * 3
            assert rollout.truncated[t].tolist() == [truncated] * 3
            last = t == 7
            wanted = value_of(np.array(following)) if not terminated and (truncated or last) else 0
            assert rollout.bootstrap[t].tolist() == [wanted] * 3, (begin, t)
            kinds.add((terminated, truncated, last))
        np.testing.assert_array_equal(rollout.value, value_of(rollout.obs))
    ends = {(True, False, False), (False, True, False), (True, True, False), (False, False, True)}
    assert ends <= kinds, "every kind of end occurs"
    assert collect.clock == Clock(steps=3 * 24)


def test_rollouts_end_with_every_kind_of_step(collect):
    """Rollouts of one length after another, so that each kind of end comes last."""
    known, begin, kinds = list(expected(60)), 0, set()
    for steps in (3, 4, 5, 2, 1, 4, 3):
        rollout, _ = collect(steps)
        begin += steps
        _, terminated, truncated, following = known[begin - 1]
        wanted = 0 if terminated else value_of(np.array(following))
        assert rollout.bootstrap[-1].tolist() == [wanted] * 3
        kinds.add((terminated, truncated))
    assert kinds == {(True, False), (False, True), (True, True), (False, False)}


def test_sampled_is_learned_and_clipped_is_applied(collect):
    rollout, episodes = collect(50)
    assert rollout.action.shape == (50, 3, 2) and abs(rollout.action).max() > 1
    applied = np.clip(rollout.action[..., 0], -1, 1)
    np.testing.assert_allclose(rollout.reward, 1 + applied, rtol=1e-6)
    np.testing.assert_array_equal(rollout.log_probability, rollout.action.sum(axis=2))
    assert [length for _, length in episodes[:9]] == [3] * 3 + [4] * 3 + [5] * 3
    np.testing.assert_allclose(
        [value for value, _ in episodes[:3]], rollout.reward[:3].sum(axis=0), rtol=1e-6
    )
    floats = (rollout.reward, rollout.value, rollout.bootstrap, rollout.obs)
    assert {array.dtype for array in floats} == {np.dtype(np.float32)}
    assert rollout.terminated.dtype == rollout.truncated.dtype == bool

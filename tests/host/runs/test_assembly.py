"""host.runs.assembly: what each part of a session is made of, and what is left when one is not."""

from dataclasses import replace
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from fake_estimator import FakeEstimator
from fake_replay import FakeReplay

from host.advantages.advantage_learner import AdvantageLearner
from host.agents.registry import ALGORITHMS
from host.algorithms.dqn import DQN, DQNPolicy, DQNUpdater
from host.replay.replay_learner import ReplayLearner
from host.runs.assembly import build
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.session import Seeds
from tests.host.round_parts import configured
from tests.host.short_training import small

NAME = "rlfabric-tests/Watched-v0"


class Watched(gymnasium.Env):
    """``made`` are all that there are, ``seeds`` what each was reset with."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    made = []

    def __init__(self):
        self.seeds, self.closed = [], False
        Watched.made.append(self)

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        return np.zeros(3, np.float32), {}

    def step(self, action):
        return np.zeros(3, np.float32), 1.0, False, False, {}

    def close(self):
        self.closed = True


gymnasium.register(NAME, entry_point=Watched)


@pytest.fixture
def asked(monkeypatch):
    """What policy and updater of dqn are made with; environments are counted from here on."""
    seen = SimpleNamespace()

    class Policy(DQNPolicy):
        def __init__(self, config, spec, **seeds):
            seen.policy = seeds
            super().__init__(config, spec, **seeds)

    class Updater(DQNUpdater):
        def __init__(self, policy, **options):
            seen.updater = options
            super().__init__(policy, **options)

    monkeypatch.setitem(ALGORITHMS, "dqn", replace(DQN, policy=Policy, updater=Updater))
    monkeypatch.setattr(Watched, "made", [])
    return seen


def state(sequence):
    return sequence.generate_state(4).tolist()


def test_a_session_with_a_replay_memory(asked):
    config = small(env=NAME, seed=5, alpha=0.3, priority_epsilon=0.02, device="cpu")

    def factory(fields, **options):
        asked.factory = fields, options
        return FakeReplay(fields, **options)

    session = build(config, factory)
    seeds = Seeds(5)
    fields, options = asked.factory
    assert fields == session.policy.spec.fields and session.policy.spec.shape == (3,)
    assert options == dict(capacity=1000, alpha=0.3, epsilon=0.02, seed=seeds.buffer)
    given = asked.policy["weights"], asked.policy["exploration"], asked.updater["seed"]
    assert [state(each) for each in given] == [state(each) for each in seeds.agent]
    assert asked.policy.keys() == {"weights", "exploration"} and asked.updater["device"] == "cpu"
    assert type(session.learner) is ReplayLearner and session.learner.policy is session.policy
    assert session.learner.clock is session.clock
    assert session.learner.phases is session.collector.phases is session.phases
    first = seeds.environments(0)
    assert [env.seeds for env in Watched.made] == [[first + i] for i in range(4)] + [[]] * 4
    session.close()
    assert session.learner.buffer.closed and all(env.closed for env in Watched.made)


def test_a_session_with_an_estimator():
    estimator = FakeEstimator()
    session = build(OnPolicyConfig(steps_per_launch=32), lambda: estimator)
    assert type(session.learner) is AdvantageLearner and session.learner.estimator is estimator
    assert session.learner.at_once and session.learner.clock is session.clock
    session.close()
    assert estimator.closed


@pytest.mark.parametrize("algo", ["ppo", "a3c"])
def test_environments_have_the_seeds_of_the_run(asked, algo):
    """Also those of agents that take rounds, group by group."""
    if algo == "ppo":
        session = build(OnPolicyConfig(env=NAME, seed=5, env_count=4), FakeEstimator)
    else:
        session = build(configured(env=NAME, seed=5, env_count=4, learner="cpu"), lambda: None)
    first = Seeds(5).environments(0)
    seeds = [env.seeds for env in Watched.made if env.seeds]
    assert seeds == [[first + i] for i in range(4)]
    session.close()


def test_what_experiences_are_made_of(asked):
    """Rewards of 1, clipped to a quarter and scaled by 4; a discount of two steps."""
    agent = dict(n_step=2, gamma=0.5, reward_scale=4.0, reward_clip=0.25)
    session = build(small(env=NAME, agent=agent), FakeReplay)
    for count in (0, 4):
        records, _ = session.collector.collect(session.policy, session.clock)
        assert len(records) == count
    assert records["reward"].tolist() == [1.5] * 4 and records["discount"].tolist() == [0.25] * 4
    session.close()


@pytest.mark.parametrize("total, wanted", [(None, 900), (300, 300), (2000, 2000)])
def test_schedules_are_as_long_as_is_asked(total, wanted):
    """However long the run is now; what it saves says so as well, for the run after the next."""
    session = build(small(env=NAME, steps=900), FakeReplay, total)
    assert session.clock.total == session.state_dict()["total"] == wanted
    assert session.config.agent.beta_steps == wanted and session.config.steps == 900
    session.close()


def test_environments_are_closed_where_there_comes_no_session(asked):
    def factory(fields, **options):
        raise ValueError("capacity must be another")

    with pytest.raises(ValueError, match="^capacity must be another$"):
        build(small(env=NAME), factory)
    assert len(Watched.made) == 8 and all(env.closed for env in Watched.made)

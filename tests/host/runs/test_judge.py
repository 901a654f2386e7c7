"""host.runs.judge: when it evaluates, on which episodes, what it keeps, and when it is solved."""

from types import SimpleNamespace

import numpy as np
import pytest

import host.runs.judge as judge
from host.agents.policy_file import load_policy
from host.algorithms.config import Clock
from host.algorithms.dqn import DQN, DQNConfig
from host.environments.spec import Spec
from host.runs.session import Seeds
from hw.errors import UsageError

SPEC = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
SEEDS = Seeds(5)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """``make(returns, **options)``: a Judge whose evaluations give these means one after another,
    and ``seen``, how they were asked for."""
    made = []

    def make(returns=(), **options):
        returns, seen = list(returns), []

        def evaluate(acting, copies, *, seed, limit):
            seen.append((acting, copies.episodes, seed, limit))
            return np.array([returns[0] - 1, returns.pop(0) + 1])

        monkeypatch.setattr(judge, "evaluate", evaluate)
        made.append(judge.Judge(tmp_path / "b.npz", DQN, "CartPole-v1", seeds=SEEDS, **options))
        return made[-1], seen

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize(
    "steps, launched, updates, due",
    [
        (99, 95, 5, False),
        (100, 96, 5, True),
        (105, 95, 5, True),
        (104, 100, 5, False),
        (310, 90, 1, True),
        (105, 95, 0, False),
        (500, 499, 0, True),
        (501, 500, 9, True),
    ],
)
def test_when_it_is_due(make, steps, launched, updates, due):
    clock = Clock(steps=steps, launched=launched, updates=updates, total=500)
    assert make(every=100)[0].due(clock) is due


def test_the_best_policy_is_kept(make, tmp_path):
    """The later one of equal ones, and without a threshold nothing is ever solved."""
    one, seen = make([7.0, 7.0, 6.0], every=10, episodes=3, limit=44)
    policy = DQN.policy(DQNConfig(hidden=(3,)), SPEC, weights=1)
    for value, best in ((1.0, 1.0), (2.0, 2.0), (3.0, 2.0)):
        policy.networks["q"].parameters[...] = value
        assert one(policy) == (7 if value < 3 else 6)
        kept, info = load_policy(tmp_path / "b.npz")
        assert (kept.networks["q"].parameters == best).all()
        assert info == {"algo": "dqn", "env": "CartPole-v1", "score": 7.0}
    assert seen == [(policy, 3, SEEDS.evaluation(0), 44)] * 3 and not one.solved


def test_a_solution_is_confirmed_on_other_episodes(make, tmp_path):
    one, seen = make([9.0, 3.0, 2.0, 8.0, 5.0], every=10, threshold=5.0)
    policy = DQN.policy(DQNConfig(hidden=(3,)), SPEC, weights=1)
    acting = SimpleNamespace()
    assert one(policy, acting) == 9 and not one.solved
    assert one(policy) == 2 and not one.solved
    assert one(policy) == 8 and one.solved, "at least the threshold"
    assert [seed for *_, seed, _ in seen] == [SEEDS.evaluation(k) for k in (0, 1, 0, 0, 2)]
    assert [each[0] for each in seen[:3]] == [acting, acting, policy]
    assert one.best == 8 and load_policy(tmp_path / "b.npz")[1]["score"] == 8, "not the 9 of before"


@pytest.mark.parametrize(
    "wrong", [dict(every=0), dict(every=1, episodes=0), dict(every=1, limit=0)]
)
def test_wrong_numbers_are_refused(make, wrong):
    with pytest.raises(UsageError, match="must be an integer in 1"):
        make(**wrong)

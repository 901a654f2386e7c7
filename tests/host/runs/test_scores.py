"""host.runs.scores: what is remembered of actors' episodes, over a checkpoint too."""

from types import SimpleNamespace

import numpy as np
import pytest

from host.phases import Phases
from host.runs.scores import Scores, mean_of


def scores(tmp_path):
    config = SimpleNamespace(env="CartPole-v1", threshold=None, until_solved=False)
    return Scores(config, None, SimpleNamespace(best=tmp_path / "best.npz"))


def test_the_last_hundred_episodes(tmp_path):
    one = scores(tmp_path)
    assert mean_of(one.returns) is None and mean_of(one.lengths) is None
    one.count([(10.0, 1), (20.0, 3)])
    assert (mean_of(one.returns), mean_of(one.lengths), one.episodes) == (15, 2, 2)
    one.count([(1.0, 7)] * 99)
    assert len(one.returns) == len(one.lengths) == 100 and one.episodes == 101
    assert mean_of(one.lengths) == (3 + 99 * 7) / 100


def test_they_go_on_from_a_checkpoint(tmp_path):
    one, two = scores(tmp_path), scores(tmp_path)
    one.count([(10.0, 1), (20.0, 3)])
    two.load_state_dict(one.state_dict())
    two.count([(30.0, 5)])
    assert list(two.returns) == [10, 20, 30] and list(two.lengths) == [1, 3, 5]
    assert two.episodes == 3
    kept = dict(episodes=9, attempts=4, best=2.5, solved=True, mean_return=-3.0)
    for name, value in kept.items():
        setattr(one, name, value)
    three = scores(tmp_path)
    three.load_state_dict(one.state_dict())
    assert {name: getattr(three, name) for name in kept} == kept


def test_an_interrupt_confirms_nothing(tmp_path):
    """Not where 0 would be more than the threshold either; nor does it end in a solution."""
    found, kept = [np.full(3, -100.0), None, None, np.full(3, -100.0)], []
    config = SimpleNamespace(env="Pendulum-v1", threshold=None, until_solved=True)
    session = SimpleNamespace(phases=Phases(), evaluate=lambda *_, **__: found.pop(0))
    records = SimpleNamespace(keep_best=kept.append, best_policy=lambda: ("policy", {}))
    own = Scores(config, session, records)
    own.evaluate(["now"])
    assert not own.solved and own.mean_return is None and kept == [-100] and own.attempts == 1
    own.conclude(["now"])
    assert not own.solved and own.mean_return is None
    own.conclude(())
    assert own.solved and own.mean_return == -100


@pytest.mark.parametrize("own, mean, solved", [(0.0, -0.5, False), (0.0, 0.0, True)])
def test_the_final_evaluation(tmp_path, own, mean, solved):
    """Of the best policy, on episodes of their own, a mean of all."""
    asked, config = [], SimpleNamespace(env="CartPole-v1", threshold=own, until_solved=False)

    def evaluate(*arguments, stop, progress):
        asked.append((*arguments, stop))
        return np.array([mean - 1, mean + 3, mean - 2])

    session = SimpleNamespace(phases=Phases(), evaluate=evaluate)
    records = SimpleNamespace(keep_best=lambda mean: None, best_policy=lambda: ("best", {}))
    found, stop = Scores(config, session, records), []
    found.conclude(stop)
    assert [each[:-1] for each in asked] == [(0, None), (1, "best")]
    assert all(each[-1] is stop for each in asked)
    assert (found.mean_return, found.solved, found.best, found.threshold) == (mean, solved, mean, 0)


def test_of_equal_policies_the_last_is_kept(tmp_path):
    """It has learned longer; one that is worse is not."""
    means, kept = iter((8.0, 8.0, 7.0, 9.0)), []
    config = SimpleNamespace(env="CartPole-v1", threshold=None, until_solved=False)
    session = SimpleNamespace(phases=Phases(), evaluate=lambda *a, **k: np.full(3, next(means)))
    own = Scores(config, session, SimpleNamespace(keep_best=kept.append))
    for _ in range(4):
        own.evaluate(())
    assert kept == [8, 8, 9] and own.best == own.evaluation == 9 and own.attempts == 0


def test_what_is_confirmed_is_the_best_policy(tmp_path):
    """Although one that was not confirmed had a higher mean; each attempt has its own episodes."""
    means, kept, asked = iter((12.0, 9.0, 10.0, 11.0)), [], []
    config = SimpleNamespace(env="CartPole-v1", threshold=10.0, until_solved=True)

    def evaluate(attempt, policy, stop, progress):
        asked.append(attempt)
        return np.full(3, next(means))

    session = SimpleNamespace(phases=Phases(), evaluate=evaluate)
    own = Scores(config, session, SimpleNamespace(keep_best=kept.append))
    own.evaluate(())
    assert not own.solved and own.mean_return is None and own.best == 12
    own.evaluate(())
    assert own.solved and own.mean_return == 11 and own.best == own.evaluation == 10
    assert kept == [12, 10] and asked == [0, 1, 0, 2]
    own.conclude(())
    assert asked == [0, 1, 0, 2], "it is confirmed already"

"""Runs whose agents share theta as in GA3C or PAAC, on card ``model``."""

import numpy as np

from host.a3c.card_network import Infer, Sync, Train
from tests.host.round_parts import *


def recorded(session, launches):
    """The tasks of each launch."""
    executor, found = session.learner.executor, []
    prepare = executor.prepare
    executor.prepare = lambda tasks: (found.append(tasks), prepare(tasks))[1]
    for _ in range(launches):
        session.iterate()
    return found


def kept_errors(learner):
    """A list that gets what the learner's ``errors`` return."""
    made, errors_of = [], learner._errors
    learner._errors = lambda *args: (made.append(errors_of(*args)), made[-1])[1]
    return made


def test_ga3c():
    """Each population has two snapshots: a round reads the one that its round before made last."""
    with session_of(configured(sharing="ga3c")) as session:
        rounds = recorded(session, 40)
        session.learner.fetch()
        assert session.learner.clock.updates > 20
        evaluated = session.learner.policy.predict(np.zeros((1, 4), np.float32))
        with session.learner.actor() as actor:
            found = actor.infer(np.zeros((1, 4), np.float32))
        np.testing.assert_allclose(found, evaluated, atol=1e-5)
    for number, tasks in enumerate(rounds[:40]):
        turn, population = divmod(number, 2)
        now, later = (2 * population + (turn + k) % 2 for k in (0, 1))
        syncs = [task.snapshot for task in tasks if isinstance(task, Sync)]
        assert syncs == ([now] if turn == 0 else []) + [later]
        assert isinstance(tasks[-1], Sync)
        assert {task.snapshot for task in tasks if not isinstance(task, Sync)} == {now}


def test_paac():
    """A training has the errors of all agents, and learner cpu makes the same update of them."""
    parameters, config = [], dict(sharing="paac", populations=1, env_count=4, group=None)
    for learner in ("card", "cpu"):
        with session_of(configured(**config, learner=learner)) as session:
            first = session.learner.policy.networks["actor_critic"].parameters.copy()
            made = kept_errors(session.learner)
            rounds = recorded(session, 14 + 1)  # 3 steps of 4 agents, bootstraps, the training
            kinds = [[type(task) for task in tasks] for tasks in rounds]
            assert kinds[:14] == [[Sync, Infer], *[[Infer]] * 11, [Infer] * 2, [Train]]
            assert kinds[14] == [Sync, Infer]
            [train] = rounds[13]
            [(errors, _)] = made  # [steps, agents, outputs]: samples lie step by step
            np.testing.assert_array_equal(train.errors, errors.reshape(12, 3))
            assert len(np.unique(train.errors)) > 20
            session.learner.fetch()
            trained = session.learner.policy.networks["actor_critic"].parameters
            assert session.learner.clock.updates == 1 and session.learner.clock.steps == 12
            parameters.append(trained - first)
    assert np.abs(parameters[0]).max() > 1e-4
    np.testing.assert_allclose(*parameters, atol=1e-2 * np.abs(parameters[0]).max())


def test_paac_goes_on():
    """Over the ends of episodes, by their values too."""
    config = dict(sharing="paac", populations=1, env_count=4, group=None)
    with session_of(configured(**config)) as session:
        rounds = recorded(session, 14 * 12)
        assert session.learner.clock.updates == 12
    samples = [len(t.errors) for tasks in rounds for t in tasks if isinstance(t, Train)]
    assert samples == [12] * 12

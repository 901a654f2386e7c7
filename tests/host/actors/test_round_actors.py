"""Environments of rounds that actors step: calls of whole groups, and what a lost actor costs."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from host.a3c.remote_environments import ActorEnvs, RoundHosts
from host.a3c.round_collector import _Group
from host.actors.messages import ActorLoss
from host.actors.pool import Pool
from host.environments.environment import Actor
from hw.errors import Failure
from tests.host.actors.fake_transport import FakeTransport, Worker
from tests.host.round_parts import Numbered

KILLED = ActorLoss("killed")


class Stepper(Worker):
    """Its observations are ``[seed or step's number, actor's generation]``."""

    def reply(self, method, arguments):
        strike = super().reply(method, arguments)
        if method == "open" or isinstance(strike, (ActorLoss, str)):
            return strike
        [groups], found = arguments, {}
        for own, value in groups.items():
            size = (2, 1)[own]
            obs = np.full((size, 3), self.name[1], np.float32)
            if method == "reset":
                obs[:, 0] = value + np.arange(size)
                found[own] = obs, {}
            else:
                obs[:, 0] = value
                never = np.zeros(size, bool)
                found[own] = obs, np.ones(size), never, never, {}
        return found


def made(strikes=None):
    """Two actors with groups of two and of one environment: ``(envs, hosts, transport)``."""
    transport, sizes = FakeTransport(), [2, 1, 2, 1]

    def make(index, generation):
        return Stepper, (index, generation), (strikes or {}).get((index, generation), ())

    told = dict(fixed=False, limit=5.0, losses=3, report=lambda *_: None, clock=transport.clock)
    hosts = RoundHosts(Pool(transport, make, 2, **told), sizes, lambda i, g: 1000 * i + 100 * g)
    like = SyncVectorEnv([Numbered])
    like.metadata = like.metadata | {"autoreset_mode": "SameStep"}
    envs = [ActorEnvs(hosts, group, size, like) for group, size in enumerate(sizes)]
    return envs, hosts, transport


def test_groups_of_an_actor_are_one_call():
    envs, _, transport = made()
    for group, each in enumerate(envs):
        obs, _ = each.reset(seed=10 * group)
        assert obs[:, 0].tolist() == [10 * group + i for i in range(each.num_envs)]
    for group in (0, 2, 3):
        envs[group].step_async(np.full(envs[group].num_envs, group))
    for group in (3, 0, 2):
        obs, reward, *_ = envs[group].step_wait()
        assert set(obs[:, 0]) == {group} and len(reward) == envs[group].num_envs
    calls = [[call[0] for call in worker.calls] for worker in transport.made]
    assert calls == [["open", "reset", "reset", "step"]] * 2
    assert list(transport.made[1].calls[-1][1]) == [0, 1], "both groups"
    assert envs[1].step(np.array([7]))[0][0, 0] == 7


def test_a_lost_actor_begins_anew():
    """In all its groups, with seeds of its own; no other group notices."""
    envs, hosts, _ = made(strikes={(0, 0): {3: KILLED}})
    actors = [Actor(each, seed=0) for each in envs]
    for actor in actors:
        actor.begin(np.ones(actor.envs.num_envs, int))
    steps = [actor.end()[0] for actor in actors]
    assert [step.restarted for step in steps] == [True, True, False, False]
    for group, seed in ((0, 100), (1, 102)):
        step, actor = steps[group], actors[group]
        assert not step.valid.any() and not step.reward.any()
        assert not step.terminated.any() and not step.truncated.any()
        assert actor.obs[:, 0].tolist() == [seed + i for i in range(actor.envs.num_envs)]
    assert steps[2].valid.all() and hosts.pool.lost == 1
    for actor in actors:
        step, _ = actor.step(np.ones(actor.envs.num_envs, int))
        assert step.valid.all() and not step.restarted


def test_a_group_that_was_not_stepped_begins_anew_at_its_next_step():
    envs, _, transport = made(strikes={(0, 0): {3: KILLED}})
    actors = [Actor(each, seed=0) for each in envs]
    assert actors[0].step(np.ones(2, int))[0].restarted
    before = len(transport.made[2].calls)
    assert actors[1].step(np.ones(1, int))[0].restarted
    assert len(transport.made[2].calls) == before, "it was reset already, and nobody is asked"
    assert not actors[1].step(np.ones(1, int))[0].restarted


def test_a_group_that_is_reset_has_begun_anew():
    """A resumed run resets all groups: what a lost actor left is forgotten."""
    envs, _, _ = made(strikes={(0, 0): {3: KILLED}})
    actors = [Actor(each, seed=0) for each in envs]
    assert actors[0].step(np.ones(2, int))[0].restarted
    obs, _ = envs[1].reset(seed=7)
    assert obs[:, 0].tolist() == [7]
    assert envs[1].step(np.array([1]))[4] == {}


def test_lost_while_it_is_reset():
    envs, _, _ = made(strikes={(1, 0): {1: KILLED}, (1, 1): {1: KILLED}})
    obs, _ = envs[2].reset(seed=3)
    assert obs[:, 0].tolist() == [1200, 1201], "the seeds of the third actor in this place"
    assert envs[3].step(np.array([1]))[4] == {"restarted": True}


def test_no_other_has_its_groups():
    envs, _, _ = made(strikes={(0, 0): {2: KILLED}, (0, 1): {0: "silent"}})
    envs[0].reset(seed=1)
    with pytest.raises(Failure, match="actor 0 must be there, since its groups are nowhere else"):
        envs[0].step(np.ones(2, int))


def test_nothing_is_learned_of_a_rollout_that_was_broken_off():
    envs, _, _ = made(strikes={(0, 0): {4: KILLED}})
    actor, outputs = Actor(envs[0], seed=0), np.zeros((2, 3), np.float32)
    group, valid = _Group(actor, 0, 4), []
    for step in range(4):
        taken, _ = actor.step(np.ones(2, int))
        group.keep(step, outputs, np.ones(2, int), taken)
    valid = group.finish(np.zeros(2)).valid
    assert valid.tolist() == [[False] * 2] * 3 + [[True] * 2]
    for step in range(4):
        taken, _ = actor.step(np.ones(2, int))
        group.keep(step, outputs, np.ones(2, int), taken)
    assert group.finish(np.zeros(2)).valid.all(), "the next one is whole"
    assert actor._length.tolist() == [5, 5], "steps of the new episodes alone"

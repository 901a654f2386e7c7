"""The public API: actors of a program."""

from collections import Counter

import gymnasium
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

import rlfabric
from host.actors.local_transport import InlineTransport
from host.actors.worker import CollectingWorker
from rlfabric import training as rl

OPEN = Counter()


class Counted(CartPoleEnv):
    def __init__(self):
        super().__init__()
        OPEN["made"] += 1

    def close(self):
        OPEN["closed"] += 1


@pytest.fixture
def counted():
    OPEN.clear()
    gymnasium.register("Counted-v0", entry_point=Counted, max_episode_steps=9)
    yield
    gymnasium.registry.pop("Counted-v0")


def opened(algorithm="dqn", env="CartPole-v1", **changes):
    agent = rl.algorithm(algorithm).config(hidden=(4,), batch_size=4).in_run(100)
    told = dict(count=2, env_count=4, inline=True) | changes
    return rl.open_actors(algorithm, env, agent, rl.Seeds(1), **told)


def policy_of(algorithm, pool):
    agent = rl.algorithm(algorithm).config(hidden=(4,), batch_size=4).in_run(100)
    return rl.algorithm(algorithm).policy(agent, pool.spec, weights=0, exploration=0)


def test_environments_are_made_and_closed(counted):
    with opened(env="Counted-v0") as pool:
        actors, clock = pool.experiences(), rl.Clock(total=100)
        for launches in range(1, 20):
            actors.collect(policy_of("dqn", pool), clock)
            assert clock.steps == 4 * launches
        assert OPEN == {"made": 5}
    assert OPEN == {"made": 5, "closed": 5}


@pytest.mark.parametrize("launches, steps, wanted", [(None, 1, 16), (None, 20, 1), (3, 1, 3)])
def test_launches_of_a_message(monkeypatch, launches, steps, wanted):
    asked, collect = set(), CollectingWorker.collect

    def seen(worker, request, parameters):
        asked.add(request.launches)
        return collect(worker, request, parameters)

    monkeypatch.setattr(CollectingWorker, "collect", seen)
    with opened(steps=steps, launches=launches) as pool:
        assert (pool.message_launches, pool.launch_steps) == (wanted, 4 * steps)
        pool.experiences().collect(policy_of("dqn", pool), rl.Clock(total=100))
    assert asked == {wanted}


@pytest.mark.parametrize("told, fixed", [({}, True), ({"inline": False}, False),
                                         ({"inline": False, "fixed": True}, True)])  # fmt: skip
def test_inline_is_in_turn(monkeypatch, told, fixed):
    monkeypatch.setattr(rl.placement, "_started", lambda *_: InlineTransport())
    with opened(**told) as pool:
        assert pool._fixed is fixed


def test_losses_are_told(capsys):
    with opened() as pool:
        pool._actors.report(0, "a machine", None, "actor 0 was lost")
    assert capsys.readouterr().err.endswith("actor 0 was lost\n")


@pytest.mark.parametrize(
    "changes, collect, said",
    [
        ({"count": 0}, "experiences", r"count must be an integer in 1\.\.256, not 0"),
        ({"count": 257}, "experiences", r"count must be an integer in 1\.\.256, not 257"),
        ({"count": 3}, "experiences", r"env_count must be a multiple of 3 \(actors\), not 4"),
        ({"count": 3, "algorithm": "ppo"}, "rollouts", r"multiple of 3 \(actors\), not 4"),
        ({"address": "h:1"}, "experiences", "inline must be without an address, not with 'h:1'"),
        ({"env": "Pendulum-v1"}, "experiences", "env must have"),
    ],
)
def test_refusals(changes, collect, said):
    with pytest.raises(rlfabric.UsageError, match=said), opened(**changes) as pool:
        getattr(pool, collect)()


def test_groups_that_actors_cannot_share():
    schedule = rl.round_schedule(6, 2, 5)
    with opened(count=2, env_count=6) as pool:
        with pytest.raises(rlfabric.UsageError, match=r"groups .* multiple of 2 \(actors\), not 3"):
            pool.rounds([2, 2, 2], schedule, populations=1)

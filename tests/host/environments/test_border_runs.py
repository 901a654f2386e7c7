"""Runs of all algorithms whose environments have bad habits, in one process and with actors: the
same bytes as without them, or one line that names the cause."""

import warnings
from contextlib import ExitStack

import pytest

import rlfabric
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.request import request
from host.runs.start_run import on_card
from hw.errors import RlfabricError
from tests.host.actors.acted import INLINE, SMALL, digest
from tests.host.habits import EQUAL, FAILS, named

_OFF_POLICY = dict(hidden=(8,), batch_size=8, capacity=256, learning_starts=16, env_count=4)
_SETTINGS = SMALL | {"td3": _OFF_POLICY, "sac": _OFF_POLICY, "ppo": SMALL["ppo"] | {"epochs": 2}}
#: those that get a Box of actions here
_BOX = ("ddpg", "td3", "sac")

ALGORITHMS = pytest.mark.parametrize("name", ["dqn", "ddpg", "td3", "sac", "ppo", "a3c"])
PLACES = pytest.mark.parametrize("actors", [0, 2], ids=["one process", "actors"])


def settings(name, habit):
    shared = dict(env_count=4, evaluation_episodes=3, evaluation_steps=20)
    return shared | _SETTINGS[name] | {"env": named(habit, name not in _BOX)}


def trained(name, habit, actors, launches=8):
    """Every byte of the state after some launches, and the returns of an evaluation."""
    fields = settings(name, habit) | (dict(actors=actors, actor_order="fixed") if actors else {})
    config = request(name, options={}, settings=fields)[0]
    with ExitStack() as stack:
        stack.enter_context(single_threaded(with_torch=True))
        factory, _, _ = stack.enter_context(on_card(config, "model"))
        session = build(config, factory, actors=INLINE if actors else None)
        stack.callback(session.close)
        for _ in range(launches):
            session.iterate()
        return digest(session.state_dict()), session.evaluate().tolist()


@PLACES
@ALGORITHMS
def test_one_array(name, actors):
    """All environments of the process write into it again and again."""
    assert trained(name, "shared", actors) == trained(name, "none", actors)


@PLACES
@ALGORITHMS
@pytest.mark.parametrize("habit", EQUAL)
@pytest.mark.long
def test_equal(name, actors, habit):
    assert trained(name, habit, actors, 40) == trained(name, "none", actors, 40)


def train(name, habit, actors, folder):
    """``rlfabric.train``, long enough for evaluations; the warnings are its lines."""
    fields = settings(name, habit) | dict(evaluation_interval_steps=100)
    env, kernel = fields.pop("env"), fields.pop("design", None)
    assert kernel in (None, "own")
    told = dict(actors=actors, inline=True) if actors else {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = rlfabric.train(
            name, env, steps=240, out=folder, config=fields, progress=False, **told
        )
    return run, [str(each.message) for each in said]


@PLACES
@ALGORITHMS
@pytest.mark.parametrize("habit", FAILS)
@pytest.mark.long
def test_named(name, actors, habit, tmp_path):
    with pytest.raises(RlfabricError) as it:
        train(name, habit, actors, tmp_path / "run")
    said, (cause, place) = str(it.value), FAILS[habit]
    assert cause in said and place in said and "\n" not in said


@PLACES
@ALGORITHMS
@pytest.mark.long
def test_endless(name, actors, tmp_path):
    """Episodes of an evaluation are broken off, aloud."""
    run, said = train(name, "endless", actors, tmp_path / "run")
    assert run.steps >= 240 and any("must end within 20 steps" in line for line in said)

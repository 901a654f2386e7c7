"""Fixed order: actors in processes of their own give the bytes of actors in this process."""

from contextlib import ExitStack

import pytest

from host.runs.assembly import build
from host.runs.start_run import on_card
from tests.host.actors.acted import INLINE, SMALL, acted, config_of, digest

#: Launches of a run, and where it is saved and resumed.
LAUNCHES = {"dqn": (40, 17), "ddpg": (24, 9), "ppo": (4, 2), "a3c": (40, 15)}


@pytest.mark.parametrize("name", SMALL)
def test_processes(remote, name):
    launches, _ = LAUNCHES[name]
    config = config_of(name)
    inline, apart = (acted(config, each, launches) for each in (INLINE, remote()))
    assert inline["updates"] > 0 and digest(apart) == digest(inline)


def test_four_actors_across_a_checkpoint(remote):
    launches, broken_at = LAUNCHES["dqn"]
    config = config_of("dqn", actors=4, launches_per_message=3)
    inline, apart = (acted(config, each, launches, broken_at) for each in (INLINE, remote()))
    assert inline["updates"] > 0 and digest(apart) == digest(inline)
    assert digest(acted(config, INLINE, launches)) != digest(inline), "new episodes"
    generations = inline["collector"]["generations"]
    assert generations == [1] * 4


@pytest.mark.parametrize("name", ["ppo", "a3c"])
def test_across_a_checkpoint(name):
    """Inline, twice: nothing of the run is outside of its state."""
    launches, broken_at = LAUNCHES[name]
    config = config_of(name)
    first, second = (acted(config, INLINE, launches, broken_at) for _ in range(2))
    assert digest(first) == digest(second) and first["updates"] > 0


@pytest.mark.parametrize("broken_at", [None, 15])
def test_rounds_are_those_without_actors(broken_at):
    alone = acted(config_of("a3c", actors=0, actor_order="free"), None, 40, broken_at)
    for actors in (2, 4):
        state = acted(config_of("a3c", actors=actors), INLINE, 40, broken_at)
        assert state.pop("collector")["lost"] == 0
        assert digest(state) == digest({k: v for k, v in alone.items() if k != "collector"})


def test_saving_changes_nothing():
    """A checkpoint waits for requests, whose order it does not change."""
    config, states = config_of("dqn", launches_per_message=2), []
    for saves in (False, True):
        with ExitStack() as stack:
            factory, _, _ = stack.enter_context(on_card(config, "model"))
            session = build(config, factory, actors=INLINE)
            stack.callback(session.close)
            for launch in range(24):
                session.iterate()
                if saves and launch % 5 == 0:
                    session.state_dict()
            states.append(digest(session.state_dict()))
    assert states[0] == states[1]

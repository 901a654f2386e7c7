"""Runs with actors, launch by launch, and every byte of their state."""

import hashlib
import io
from contextlib import ExitStack

import numpy as np

from host import checkpoint
from host.actors.local_transport import InlineTransport
from host.actors.placement import Actors
from host.runs.assembly import build
from host.runs.request import request
from host.runs.start_run import on_card

__all__ = ["INLINE", "SMALL", "acted", "config_of", "digest", "through_a_file"]

INLINE = Actors(transport=InlineTransport())

_SIZE = dict(hidden=(8,), batch_size=8)
_MEMORY = dict(capacity=256, learning_starts=16)
#: name -> fields of a small run, whose card trains if a kernel does
SMALL = {
    "dqn": _SIZE | _MEMORY | dict(env="CartPole-v1", n_step=3),
    "ddpg": _SIZE | _MEMORY | dict(env="Pendulum-v1", design="own"),
    "ppo": _SIZE | dict(env="CartPole-v1", steps_per_launch=16, normalize_observations=True),
    "a3c": dict(env="CartPole-v1", env_count=8, group=2, populations=2, hidden=(16,), batch_size=3),
}


def config_of(name, **changes):
    """The RunConfig of a SMALL run, with two actors in fixed order."""
    fields = {"env_count": 4, "evaluation_episodes": 1, "actor_order": "fixed", "actors": 2}
    settings = fields | SMALL[name] | changes
    return request(name, options={}, settings=settings)[0]


def acted(config, actors, launches, broken_at=None):
    """The session's state after so many launches on card ``model``, whose steps and updates go with
    it; saved, and continued by another session, after ``broken_at`` of them."""
    state, done = None, 0
    for until in (broken_at, launches):
        if until is None:
            continue
        with ExitStack() as stack:
            factory, _, _ = stack.enter_context(on_card(config, "model"))
            session = build(config, factory, actors=actors)
            stack.callback(session.close)
            if state is not None:
                session.load_state_dict(state)
            for _ in range(until - done):
                session.iterate()
            done, state = until, through_a_file(session.state_dict())
    return state


def through_a_file(state):
    file = io.BytesIO()
    checkpoint.save(file, "training", {}, state)
    file.seek(0)
    return checkpoint.load(file, "training")[1]


def digest(state):
    """A text for every byte of a state."""
    found = hashlib.sha256()

    def add(value):
        if isinstance(value, dict):
            for name in sorted(value):
                found.update(name.encode())
                add(value[name])
        elif isinstance(value, list):
            for each in value:
                add(each)
        elif isinstance(value, np.ndarray):
            found.update(str(value.dtype).encode() + value.tobytes())
        else:
            found.update(repr(value).encode())

    add(state)
    return found.hexdigest()

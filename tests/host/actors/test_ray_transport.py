"""Calls of workers through Ray: what is sent how, and what the death of one is called."""

import time

import numpy as np
import pytest

from host.actors.messages import ActorLoss, Lost
from host.actors.ray_transport import _INLINE, RayTransport, _loss

_DIED = "The actor died unexpectedly before finishing this task.\n\tclass_name: A\n"


class Echo:
    def size(self, parameters):
        return {name: array.shape for name, array in parameters.items()}

    def fails(self):
        return 1 / 0

    def sleeps(self):
        time.sleep(600)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        (_DIED + "Worker exit detail: Worker exits with an exit code 3. More.", "left"),
        (_DIED + "The actor died because its node has died. Node Id: 1.", "node"),
        (_DIED + "Worker unexpectedly exits with a connection error code 2.", "killed"),
        ("The actor is dead because it was killed by `ray.kill`.", "killed"),
    ],
)
def test_deaths(text, loss):
    assert _loss(text) == ActorLoss(loss, "exit code 3" if loss == "left" else "")


def test_weights(ray):
    """Small ones go with each call, large ones are stored once; both as they were then."""
    transport = RayTransport()
    worker = transport.make(Echo)
    for numbers, stored in ((3, False), (_INLINE // 8 + 1, True)):
        own = {"a": np.zeros(numbers), "b": np.zeros(0)}
        shared = transport.share(own)
        assert isinstance(shared, ray.ObjectRef) == stored
        ticket = transport.call(worker, "size", shared)
        assert transport.ready([ticket], 60) == [0]
        assert transport.answer(ticket) == {"a": (numbers,), "b": (0,)}
        own["a"][:] = 1
        assert not (ray.get(shared) if stored else shared)["a"].any()
    failed = transport.call(worker, "fails")
    transport.ready([failed], 60)
    with pytest.raises(Lost) as lost:
        transport.answer(failed)
    assert lost.value.loss.kind == "raised" and "1 / 0" in lost.value.loss.traceback
    assert lost.value.loss.text == "ZeroDivisionError: division by zero"
    dead = transport.call(worker, "sleeps")
    transport.kill(worker)
    assert transport.ready([dead], 60) == [0]
    with pytest.raises(Lost) as lost:
        transport.answer(dead)
    assert lost.value.loss == ActorLoss("killed")


def test_those_that_are_there(ray):
    """Positions of several answers; none after the time."""
    transport = RayTransport()
    workers = [transport.make(Echo) for _ in range(2)]
    tickets = [transport.call(worker, "size", {}) for worker in workers]
    found = set()
    while found < {0, 1}:
        found |= set(transport.ready(tickets, 60))
    never = transport.call(workers[0], "size", ray.remote(_sleep).remote())
    assert transport.ready([never], 0.1) == []
    assert transport.ready([never, tickets[1]], 60) == [1]
    for worker in workers:
        transport.kill(worker)


def _sleep():
    time.sleep(5)
    return {}

"""Calls of workers through Ray: what is sent how, and what the death of one is called."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import ray.exceptions as errors

from host.actors.messages import ActorLoss, Lost
from host.actors.placement import ActorOptions, open_actors
from host.actors.ray_process import RayFailed, Shared, loss_by
from host.actors.ray_session import RayPlan
from host.actors.ray_transport import _INLINE, RayTransport

_DIED = "The actor died unexpectedly before finishing this task.\n\tclass_name: A\n"


class Echo:
    def size(self, parameters):
        return {name: (array.shape, bool(array.any())) for name, array in parameters.items()}

    def made(self, size):
        return np.arange(size, dtype=np.uint8), "text"

    def fails(self):
        return 1 / 0

    def sleeps(self, seconds=600):
        time.sleep(seconds)


def alive_in(group):
    """Processes of a group that run; those of Ray's workers have groups of their own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, their = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has ended
            continue
        found += [folder.name] if int(their) == group and state not in "ZX" else []
    return found


def answered(transport, ticket):
    assert transport.ready([ticket], 60) == [0]
    return transport.answer(ticket)


def lost(transport, ticket):
    with pytest.raises(Lost) as found:
        answered(transport, ticket)
    return found.value.loss


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
    error = errors.RayActorError(error_msg=text)
    assert loss_by(error, errors) == ActorLoss(loss, "exit code 3" if loss == "left" else "")


def test_weights(transport):
    """Small ones go with each call, large ones are stored once; both as they were then."""
    worker = transport.make(Echo)
    for numbers, stored in ((3, False), (_INLINE // 8 + 1, True)):
        own = {"a": np.zeros(numbers), "b": np.zeros(0)}
        shared = transport.share(own)
        own["a"][:] = 1
        assert isinstance(shared, Shared) == stored
        found = answered(transport, transport.call(worker, "size", shared))
        assert found == {"a": ((numbers,), False), "b": ((0,), False)}
    for size in (10, 5_000_000):
        array, text = answered(transport, transport.call(worker, "made", size))
        np.testing.assert_array_equal(array, np.arange(size, dtype=np.uint8))
    failed = lost(transport, transport.call(worker, "fails"))
    assert failed.kind == "raised" and "1 / 0" in failed.traceback
    assert failed.text == "ZeroDivisionError: division by zero"
    dead = transport.call(worker, "sleeps")
    os.kill(transport.pid, 0)
    transport.kill(worker)
    assert dead not in transport._asked, "nobody waits for it"


def test_those_that_are_there(transport):
    """Positions of several answers; none after the time."""
    workers = [transport.make(Echo) for _ in range(2)]
    tickets = [transport.call(worker, "size", {}) for worker in workers]
    found = set()
    while found < {0, 1}:
        found |= set(transport.ready(tickets, 60))
    never = transport.call(workers[0], "sleeps", 5)
    assert transport.ready([never], 0.1) == []
    assert transport.ready([never, tickets[1]], 60) == [1]
    for worker in workers:
        transport.kill(worker)


def test_ray_ends():
    """What was answered before is not lost; all other tickets are, whenever they are asked for;
    nothing is left of it."""
    with open_actors(1, ActorOptions(start=120.0)) as actors:
        transport = actors.transport
        worker = transport.make(Echo)
        first = transport.call(worker, "size", {})
        assert transport.ready([first], 60) == [0]
        second = transport.call(worker, "sleeps")
        os.kill(transport.pid, signal.SIGKILL)
        assert transport.ready([second], 60) == [0]
        assert transport.answer(first) == {}
        for ticket in (second, transport.call(worker, "size", {})):
            assert lost(transport, ticket) == ActorLoss("ray", "exit code -9")
        transport.kill(worker)
    until = time.monotonic() + 20
    while alive_in(transport.pid):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("plan", "limit", "said"),
    [
        (RayPlan(1, store=1), 60, r"^Ray must work on this machine, not fail \(ValueError: "),
        (RayPlan(1, store=80 << 20), 0.01, r"^Ray must start within 0 s \(--actor-start\), not "),
    ],
)
def test_ray_does_not_start(plan, limit, said):
    with pytest.raises(RayFailed, match=said):
        RayTransport(plan, limit)

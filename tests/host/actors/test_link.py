"""The link between a run and its process for Ray, and that process's server; Ray is not needed."""

import signal
import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from host.actors import cluster, link, ray_process, ray_session
from host.actors.link import Link, LinkBroken
from host.actors.messages import ActorLoss
from host.actors.ray_process import RayFailed, Shared
from hw.errors import MissingTool


@pytest.fixture
def ends(monkeypatch):
    """Both ends: that of Ray's process, which is patient, and the run's. Their limit is 0.1 s."""
    monkeypatch.setattr(link, "_STUCK_S", 0.1)
    pair = socket.socketpair()
    yield Link(pair[0], patient=True), Link(pair[1])
    for each in pair:
        each.close()


def test_a_link_carries_all_values(monkeypatch):
    """Arrays of all sizes, without a copy in the pickle, in both directions at once."""
    ends = [Link(each, patient=True) for each in socket.socketpair()]
    sizes = (0, 1, 1 << 10, 3 << 20)
    sent = {size: np.arange(size, dtype=np.uint8) for size in sizes} | {"b": (b"", [None], 1.5)}
    threads = [threading.Thread(target=end.send, args=(sent,)) for end in ends]
    for thread in threads:
        thread.start()
    for end in ends:
        assert end.poll(60)
        found = end.receive()
        assert found["b"] == sent["b"]
        for size in sizes:
            np.testing.assert_array_equal(found[size], sent[size])
    for thread in threads:
        thread.join(10)
    assert not ends[0].poll(0)
    ends[1].close()
    assert ends[0].poll(0), "its end is seen"
    with pytest.raises(LinkBroken):
        ends[0].receive()
    with pytest.raises(LinkBroken):
        ends[0].send(1)


def test_an_answer_waits_for_a_run_that_evaluates(ends):
    """Longer than the limit, and whatever the process is told meanwhile: the limit of what it takes
    is not that of what it sends."""
    actors, run = ends
    answer = np.arange(4 << 20, dtype=np.uint8)  # more than the socket holds
    sends = threading.Thread(target=actors.send, args=(answer,), daemon=True)
    sends.start()
    run.send("kill")
    assert actors.receive() == "kill"
    sends.join(0.5)
    assert sends.is_alive()
    np.testing.assert_array_equal(run.receive(), answer)
    sends.join(10)
    assert not sends.is_alive()


def test_a_process_that_stands_still_breaks_the_link(ends):
    """It takes nothing that the run sends, or does not go on in the middle of a value."""
    actors, run = ends
    began = time.monotonic()
    with pytest.raises(LinkBroken):
        run.send(np.zeros(4 << 20, np.uint8))
    assert 0.1 <= time.monotonic() - began < 5
    assert not run.poll(-1.0), "a deadline that has passed"
    actors._socket.sendall(b"\1")
    broken = []
    waits = threading.Thread(
        target=lambda: broken.append(pytest.raises(LinkBroken, run.receive)), daemon=True
    )
    waits.start()
    waits.join(10)
    assert broken


class FakeRay:
    """As much of Ray as the server asks; ``put`` are the parameters that were shared, ``dead`` the
    daemons that have ended."""

    def __init__(self):
        self.put, self.dead, self.killed = [], [], []
        node = SimpleNamespace(dead_processes=lambda: [(name, None) for name in self.dead])
        self._private = SimpleNamespace(worker=SimpleNamespace(_global_node=node))
        self.exceptions = SimpleNamespace(RayTaskError=KeyError, RayActorError=LookupError)
        self.kill = lambda worker, no_restart: self.killed.append(worker)


class Answers:
    """What a server sends."""

    def __init__(self):
        self.sent = []

    def send(self, value):
        self.sent.append(value)


def test_a_dead_daemon_is_told_once():
    """Before the losses of its actors; one that others go on without is not told."""
    ray, answers = FakeRay(), Answers()
    server = ray_process._Server(answers, ray)
    future = SimpleNamespace(exception=lambda: LookupError("its node has died"))
    future.add_done_callback = lambda done: done(future)
    called = SimpleNamespace(remote=lambda: SimpleNamespace(future=lambda: future))
    server._workers[1] = SimpleNamespace(open=called)
    ray.dead = ["log_monitor"]
    server._look()
    ray.dead = ["log_monitor", "raylet"]
    for ticket in (7, 8):
        server.call(ticket, 1, "open", [])
    until = time.monotonic() + 10
    while len(answers.sent) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    error, *losses = answers.sent
    assert isinstance(error, RayFailed) and str(error) == "raylet has ended"
    assert losses == [(ticket, None, ActorLoss("node")) for ticket in (7, 8)]


def test_shared_parameters_stand_in_each_call():
    """Those that were shared last, at their place among the arguments; a worker that is not there
    may be killed."""
    ray, found = FakeRay(), []
    ray.put = lambda parameters: ("stored", parameters)
    server = ray_process._Server(Answers(), ray)
    future = SimpleNamespace(add_done_callback=lambda done: None)
    called = SimpleNamespace(remote=lambda *words: found.append(words) or handle)
    handle = SimpleNamespace(future=lambda: future)
    server._workers[1] = SimpleNamespace(collect=called)
    for parameters in ("a", "b"):
        server.share(parameters)
        server.call(1, 1, "collect", [3, Shared(), 4])
    assert found == [(3, ("stored", "a"), 4), (3, ("stored", "b"), 4)]
    server.kill(1)
    server.kill(1)
    assert len(ray.killed) == 1


def test_signals_are_the_run_s(monkeypatch):
    """A function: processes that Ray starts would inherit SIG_IGN."""
    found = {}
    monkeypatch.setattr(ray_session.signal, "signal", found.__setitem__)
    ray_session.ignore_signals()
    assert found.keys() == {signal.SIGINT, signal.SIGTERM}
    assert all(each(2, None) is None for each in found.values())


def test_without_ray(monkeypatch):
    """It is not imported to find that out, and then in one line."""
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingTool, match=r"^ray must be installed for actors \("):
        cluster.check_ray()

"""A transport without processes: answers come when a test says so, on a clock of its own."""

import math

from host.actors.messages import ActorLoss, Lost
from host.actors.pool import Pool

__all__ = ["FakeTransport", "Worker", "made", "received"]


class Worker:
    """Answers each call with ``(method, arguments)``; ``strikes`` has what it does instead, by the
    number of the call from ``open`` on: an ActorLoss, or "silent"; -1 is ``begin``."""

    def __init__(self, name, strikes=()):
        self.name, self.strikes, self.calls, self.killed = name, dict(strikes), [], False

    def reply(self, method, arguments):
        if method == "begin":
            return self.strikes.get(-1, f"worker {self.name}")
        self.calls.append((method, *arguments))
        strike = self.strikes.get(len(self.calls) - 1)
        if strike is not None:
            return strike
        return True if method == "open" else (method, *arguments)


class FakeTransport:
    """Makes Workers. ``now`` is the time, which passes while nobody answers; an answer is ready
    ``seconds`` after its call."""

    def __init__(self):
        self.now, self.seconds, self.made = 0.0, 0.0, []

    def clock(self):
        return self.now

    def make(self, kind, *arguments):
        self.made.append(kind(*arguments))
        return self.made[-1]

    def call(self, worker, method, *arguments):
        answer = worker.reply(method, arguments)
        return answer, math.inf if answer == "silent" else self.now + self.seconds

    def ready(self, tickets, timeout):
        first = min(at for _, at in tickets)
        if first > self.now:
            self.now = min(first, self.now + max(timeout, 0.01))
        return [k for k, (_, at) in enumerate(tickets) if at <= self.now]

    def answer(self, ticket):
        answer, _ = ticket
        if isinstance(answer, ActorLoss):
            raise Lost(answer)
        return answer

    def share(self, parameters):
        return parameters

    def kill(self, worker):
        worker.killed = True


def made(count=2, strikes=None, *, fixed=False, limit=5.0, losses=3, start=None):
    """``(pool, transport, lines)``: ``strikes[index, generation]`` are those of a Worker."""
    transport, lines = FakeTransport(), []

    def make(index, generation):
        return Worker, (index, generation), (strikes or {}).get((index, generation), ())

    told = dict(fixed=fixed, limit=limit, losses=losses, start=start, clock=transport.clock)
    pool = Pool(transport, make, count, report=lambda *row: lines.append(row), **told)
    return pool, transport, lines


def received(pool, count):
    """So many answers."""
    found = []
    while len(found) < count:
        found += pool.receive()
    return found

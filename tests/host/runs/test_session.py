"""host.runs.session: what follows what, with so many launches in flight; what is saved; seeds."""

from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from host.algorithms.config import Clock
from host.algorithms.learner import Learner
from host.phases import Phases
from host.runs import session as module
from host.runs.session import Seeds, Session


class Parts:
    """Collector, policy and environments in one; ``events`` is what was asked of them, in turn."""

    columns = ("idle", "loss")

    def __init__(self):
        self.events, self.collected = [], 0
        self.envs, self.parameters = self, {}

    def collect(self, policy, clock):
        self.collected += 1
        clock.steps += 2
        self.events.append(("collect", self.collected))
        return f"experience {self.collected}", [(1.0, self.collected)]

    def progress(self):
        return {"idle": self.collected}

    def restart(self, seed):
        self.events.append(("restart", seed))

    def state_dict(self):
        return {"collected": self.collected}

    def load_state_dict(self, state):
        self.collected = state["collected"]

    def close(self):
        self.events.append("close")


class Numbered(Learner):
    """Its launches have numbers, which are their results; a saved one is its result."""

    columns = ("mine", "loss")

    def __init__(self, parts, in_flight, clock):
        self.events, self.begun, self.clock, self.policy = parts.events, 0, clock, parts
        self.in_flight, self.at_once = max(in_flight, 1), not in_flight

    def begin(self, experience):
        self.begun += 1
        self.events.append(("begin", self.begun, experience))
        launch = Future()
        launch.set_result(self.begun)
        return launch

    def end(self, launch):
        self.clock.updates += 1
        self.events.append(("end", launch.result()))
        return {"mine": launch.result()}

    def progress(self):
        return {"mine": self.begun}

    def state_dict(self):
        return {"begun": self.begun}

    def load_state_dict(self, state):
        self.begun = state["begun"]

    def close(self):
        self.events.append("close learner")


def made(in_flight, seed=3):
    """``(session, events)``"""
    parts, clock = Parts(), Clock()
    config = SimpleNamespace(seed=seed, algorithm=SimpleNamespace(columns={"loss": "", "kl": ""}))
    learner = Numbered(parts, in_flight, clock)
    session = Session(
        config, policy=parts, collector=parts, learner=learner, clock=clock,
        copies=parts, phases=Phases(),
    )  # fmt: skip
    return session, parts.events


def expected(in_flight, count):
    """Events of the first ``count`` iterations."""
    for i in range(1, count + 1):
        before = f"experience {i - 1}" if i > 1 else None
        if in_flight:
            yield "begin", i, before
        yield "collect", i
        if not in_flight:
            yield "begin", i, f"experience {i}"
        done = i - max(in_flight - 1, 0)
        if done > 0:
            yield "end", done


@pytest.mark.parametrize("in_flight", [0, 1, 2, 3, 7])
def test_an_iteration(in_flight):
    session, events = made(in_flight)
    for i in range(1, 6):
        iteration = session.iterate()
        done = i - max(in_flight - 1, 0)
        assert iteration.measured == ({"mine": done} if done > 0 else {})
        assert iteration.episodes == [(1.0, i)] and session.launches == i
        assert session._copies.ended, "evaluations know that episodes end"
    assert events == list(expected(in_flight, 5))
    assert session.clock == Clock(steps=10, updates=max(0, 5 - max(in_flight - 1, 0)))


@pytest.mark.parametrize("in_flight", [0, 1, 2, 3, 7])
def test_a_saved_session_goes_on(in_flight):
    """With the launches that were under way, in their order, and what was to be stored next."""
    session, _ = made(in_flight)
    for _ in range(4):
        session.iterate()
    state = session.state_dict()
    assert len(state["flying"]) == min(4, max(0, in_flight - 1))
    assert state["pending"] == ("experience 4" if in_flight else None)
    other, events = made(in_flight)
    other.load_state_dict(state)
    assert events == [("restart", Seeds(3).environments(4))]
    assert (other.launches, other.clock) == (4, session.clock)
    for _ in range(6):
        other.iterate()
    assert events[1:] == list(expected(in_flight, 10))[len(list(expected(in_flight, 4))) :]
    again, events = made(in_flight)
    for _ in range(2):
        again.iterate()  # what it had under way is forgotten
    again.load_state_dict(state)
    events.clear()
    again.iterate()
    assert events == list(expected(in_flight, 5))[len(list(expected(in_flight, 4))) :]


def test_an_evaluation(monkeypatch):
    """Of the policy as it learns now, or of another one; each attempt has its own episodes."""
    session, events = made(1)
    session.config.evaluation_steps, session.config.evaluation_on = 77, "copies"

    @contextmanager
    def actor(policy=None):
        yield f"actor of {policy}"

    session.learner.actor, session.learner.fetch = actor, lambda: events.append("fetch")
    monkeypatch.setattr(module, "evaluate", lambda *of, **how: events.append((of, how)) or "found")
    stop = []
    assert session.evaluate(2, stop=stop) == session.evaluate(1, "best", stop) == "found"
    assert session.evaluate() == "found"
    fetch, (of, how), (other, others), again, (last, final) = events
    assert (fetch, again) == ("fetch", "fetch"), "the policy that learns is up to date"
    assert (
        how == dict(seed=Seeds(3).evaluation(2), limit=77, stop=stop, progress=None)
        and how["stop"] is stop
    )
    assert others == dict(seed=Seeds(3).evaluation(1), limit=77, stop=stop, progress=None)
    assert final == dict(seed=Seeds(3).evaluation(0), limit=77, stop=(), progress=None)
    assert [of[0], other[0], last[0]] == ["actor of None", "actor of best", "actor of None"]
    assert all(each[1] is session.policy for each in (of, other, last)), "its copies"


def test_where_a_launch_began():
    """Schedules are of the step at which a launch began; after a resumption, of the saved one."""
    session, _ = made(1)
    session.iterate()
    assert (session.clock.launched, session.clock.steps) == (0, 2)
    session.iterate()
    session.iterate()
    assert (session.clock.launched, session.clock.steps) == (4, 6)
    other, _ = made(1)
    state = session.state_dict()
    other.load_state_dict(state | {"steps": 10, "updates": 7})
    assert (other.clock.launched, other.clock.steps, other.clock.updates) == (10, 10, 7)
    kept = {"launches": 3, "steps": 6, "updates": 3, "total": session.clock.total}
    assert kept.items() <= state.items()


def test_the_policy_is_saved_as_it_is_now():
    """With what the card has learned since it was fetched last; and comes back."""
    session, events = made(1)
    session.learner.fetch = lambda: events.append("fetch")
    session.policy = SimpleNamespace(
        state_dict=lambda: events.append("saved") or "policy",
        load_state_dict=lambda state: events.append(("loaded", state)),
    )
    state = session.state_dict()
    assert events == ["fetch", "saved"] and state["policy"] == "policy"
    session.load_state_dict(state | {"launches": 6})
    assert events[2:] == [("loaded", "policy"), ("restart", Seeds(3).environments(6))]


def test_a_collection_that_fails():
    """What was collected before is in the launch that began, and in no other one."""
    session, _ = made(1)
    session.iterate()

    def fail(policy, clock):
        raise RuntimeError("no actors")

    session.collector.collect = fail
    with pytest.raises(RuntimeError):
        session.iterate()
    state = session.state_dict()
    assert state["pending"] is None and state["flying"] == [2]


def test_what_it_passes_on():
    session, events = made(1)
    assert session.columns == ("loss", "kl", "mine", "idle"), "each once, the algorithm's first"
    session.iterate()
    assert session.progress() == {"mine": 1, "idle": 1}
    events.clear()
    session.close()
    assert events == ["close learner", "close", "close"]


def test_seeds_are_streams_of_their_own():
    """Of agent, buffer, environments, play, evaluations; of each launch, attempt, run."""
    numbers, states = [], []
    for seed in (0, 1, (1 << 63) - 1):
        seeds = Seeds(seed)
        numbers += [seeds.buffer]
        numbers += [seeds.environments(n) for n in (0, 1, 2, 10**9)]
        numbers += [seeds.evaluation(n) for n in (0, 1, 2)]
        played = [seeds.play, np.random.SeedSequence(seeds.environments(0))]
        states += [tuple(each.generate_state(2)) for each in (*played, *seeds.agent)]
        actors = [seeds.actor(index, generation) for index in (0, 1, 9) for generation in (0, 1)]
        numbers += [environments for _, environments in actors]
        states[-3:-3] = [tuple(each.generate_state(2)) for each, _ in actors]
        again = Seeds(seed)
        assert (again.buffer, again.evaluation(2)) == (seeds.buffer, seeds.evaluation(2))
        assert [tuple(each.generate_state(2)) for each in again.agent] == states[-3:]
        assert [tuple(each.generate_state(2)) for each in seeds.agent] == states[-3:], "each time"
    assert len(set(numbers)) == len(numbers) and all(0 <= n < 1 << 31 for n in numbers)
    assert len(set(states)) == len(states) == 33 and all(type(n) is int for n in numbers)
    assert len({int(np.random.default_rng(s).integers(1 << 60)) for s in Seeds(0).agent}) == 3

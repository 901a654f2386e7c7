"""The place where gradient steps happen, as a session sees it."""

import queue
import threading
from concurrent.futures import Future, wait
from contextlib import contextmanager

from host.interrupt import leaving_behind

__all__ = ["Background", "Learner", "MemoryLearner"]

#: A launch that is given up ends within a tenth of a second, unless it is in the middle of
#: something that cannot be.
_PATIENCE_S = 0.5


class Learner:
    """Learns from experience, launch by launch; one class for each place, not for each algorithm.

    Parameters
    ----------
    config : RunConfig
    policy : Policy
        Its networks are up to date with what was learned after each ``end``, or after ``fetch``.
    clock : Clock
        ``begin`` or ``end`` counts its ``updates``.

    Attributes
    ----------
    in_flight : int
        Launches under way at most: the results of one are used when so many have begun.
    at_once : bool
        A launch begins with the experience that it takes; else beside the next collection.
    columns : tuple of str
        Of progress.csv: what ``end`` measures and ``progress`` tells.
    """

    in_flight = 1
    at_once = False
    columns = ()

    def __init__(self, config, policy, clock):
        self.config, self.policy, self.clock = config, policy, clock

    def begin(self, experience):
        """Start a launch with ``experience``, or None before there is one; what ``end`` takes."""
        raise NotImplementedError

    def end(self, launch):
        """Wait for what ``begin`` gave and learn from it: column -> number, or None."""
        raise NotImplementedError

    def fetch(self):
        """Bring the policy's networks up to date with what was learned, where ``end`` does not.
        Files are made of them; who acts needs no fetch."""

    @contextmanager
    def actor(self, policy=None):
        """What acts as the policy that learns, or as another ``policy`` of this agent, for as long
        as the ``with`` block lasts: the policy itself, or an InferredPolicy."""
        yield policy or self.policy

    def progress(self):
        """Column -> number now."""
        return {"learning_rate": self.config.agent.learning_rate_at(self.clock.launched)}

    @property
    def device_cycles(self):
        """Clocks of all launches of this session; None on a card that does not count."""
        raise NotImplementedError

    def state_dict(self):
        raise NotImplementedError

    def load_state_dict(self, state):
        raise NotImplementedError

    def close(self):
        """Let go of the card; a launch under way is given up."""


class Background:
    """Calls functions one after another in a thread of its own.

    ``concurrent.futures`` has the same, but waits for the thread when it is shut down and again
    when Python ends, so that an interrupt would wait for the launch, up to its time limit.
    """

    def __init__(self, name):
        self._calls, self._last = queue.SimpleQueue(), None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def submit(self, function, *arguments):
        """The Future of ``function(*arguments)``; the first call starts the thread."""
        if self._last is None:
            self._thread.start()
        self._last = future = Future()
        self._calls.put((future, function, arguments))
        return future

    def close(self, abort):
        """End the thread. Calls that do not end soon by themselves, which there are after an
        exception alone, are told to end by ``abort()``, and left behind if they do not."""
        if self._last is None:
            return
        if wait([self._last], _PATIENCE_S).not_done:
            abort()
        self._calls.put(None)
        with leaving_behind(self._thread):
            self._thread.join(_PATIENCE_S)

    def _work(self):
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)


class MemoryLearner(Learner):
    """Learns from a replay memory on the card, whose launches run while the policy acts.

    A subclass has ``plan``, what the next launch shall do besides storing; ``launch``, which does
    it, in a thread of its own; ``learned``, which takes its results; and the class ``BUFFER``.

    Parameters
    ----------
    buffer : PrioritizedReplayBuffer
        Of the class ``BUFFER``: what the kernel is to the host.
    phases : Phases
    """

    columns = ("td_error", "exploration", "beta", "learning_rate", "fill")

    def __init__(self, config, policy, clock, buffer, *, phases):
        super().__init__(config, policy, clock)
        self.buffer, self.phases = buffer, phases
        self.in_flight = config.launches_in_flight
        self._card, self._fill = Background("card"), 0
        if policy.exploration_at(0) is None:  # a column that would stay empty
            self.columns = tuple(name for name in self.columns if name != "exploration")

    def begin(self, experience):
        with self.phases("card"):
            # A launch draws from what was there before it, and counts what comes with it as there.
            before = self._fill
            if experience is not None:
                self._fill = min(before + len(experience), self.config.capacity)
            plan = self.plan(before, self._fill >= self.config.learning_starts)
            return self._card.submit(self.launch, experience, plan)

    def end(self, launch):
        with self.phases("card"):
            result = launch.result()
        with self.phases("learning"):
            return self.learned(result)

    def plan(self, fill, learning):
        """What ``launch`` is told. ``fill`` : experiences stored before it; ``learning`` : whether
        there will be enough to learn from with those that come with it."""
        raise NotImplementedError

    def launch(self, experience, plan):
        """Take the records to the card, do as planned; what ``learned`` takes."""
        raise NotImplementedError

    def learned(self, result):
        """As ``end``, of what ``launch`` brought."""
        raise NotImplementedError

    def progress(self):
        return super().progress() | {
            "exploration": self.policy.exploration_at(self.clock.steps),
            "beta": self.config.agent.beta_at(self.clock.launched),
            "fill": len(self.buffer),
        }

    @property
    def device_cycles(self):
        return self.buffer.device_cycles

    def state_dict(self):
        """Everything that the next launch depends on; no launch may be under way."""
        return {"buffer": self.buffer.state_dict(), "fill": self._fill}

    def load_state_dict(self, state):
        self.buffer.load_state_dict(state["buffer"])
        self._fill = int(state["fill"])

    def close(self):
        self._card.close(lambda: self.buffer.launcher.kernel.flight.abort())
        self.buffer.close()

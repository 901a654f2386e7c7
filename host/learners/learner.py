"""Base classes of learners, which do the gradient steps of a session."""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial

from host.algorithms.config import Clock
from host.algorithms.policy import InferredPolicy, Policy
from host.collect.collector import stored
from host.interrupt import leaving_behind

__all__ = ["Background", "Inline", "Learner", "MemoryLearner"]

#: A launch that is given up ends within a tenth of a second, unless it is inside a call that cannot
#: be given up.
_PATIENCE_S = 0.5


class Learner:
    """Learns from experience, launch by launch. There is one class for each place where gradient
    steps happen, not for each algorithm.

    Parameters
    ----------
    policy : Policy
        The policy that learns. Its networks are up to date after ``end``, or after ``fetch``.
    clock : Clock
        Its ``updates`` are counted by ``begin`` or by ``end``.

    Attributes
    ----------
    agent : AgentConfig
        That of the policy.
    in_flight : int
        Largest number of launches under way. When so many have begun, ``end`` is called for the
        oldest one.
    at_once : bool
        True: a launch begins as soon as its experience is collected. False: it begins together with
        the next collection, and runs beside it.
    columns : tuple of str
        Columns of progress.csv that ``end`` measures and ``progress`` returns.
    """

    in_flight = 1
    at_once = False
    columns = ()

    def __init__(self, policy: Policy, clock: Clock) -> None:
        self.policy, self.clock, self.agent = policy, clock, policy.config

    def begin(self, experience: object) -> object:
        """Begins a launch with the experience of a collection, or None in the first launch if
        ``at_once`` is False. Returns the argument of ``end``."""
        raise NotImplementedError

    def end(self, launch: object) -> dict[str, float | None]:
        """Waits for the launch that ``begin`` returned, and learns from it. Returns a dict, column
        of progress.csv -> number or None; it is empty if nothing was learned."""
        raise NotImplementedError

    def fetch(self) -> None:
        """Brings the policy's networks up to date. It must be called before the policy is written
        to a file; it is not needed before acting."""

    def inline(self) -> None:
        """Lets every launch run to its end in the thread that begins it, before ``begin`` returns,
        so that the time of a launch can be told from that of the collection beside it. It must be
        called before the first launch; the results of launches stay the same."""
        self._card = Inline()

    @contextmanager
    def actor(self, policy: Policy | None = None) -> Iterator[Policy | InferredPolicy]:
        """A context manager, whose value acts within the ``with`` block as the policy that learns,
        or as ``policy``, another policy of this agent, if it is given. The value is the policy
        itself, or an InferredPolicy, whose outputs are computed elsewhere."""
        yield policy or self.policy

    def progress(self) -> dict[str, float | None]:
        """Column -> present number."""
        return {"learning_rate": self.agent.learning_rate_at(self.clock.launched)}

    @property
    def device_cycles(self) -> int | None:
        """Clocks of all launches since this learner was made; None on a card that does not count
        them."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, object]:
        raise NotImplementedError

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Releases the card; a launch under way is given up."""


class Background:
    """Calls functions one after another, in the order of ``submit``, in a thread of its own, which
    is called ``name``.

    It stands in for an executor of ``concurrent.futures``, which waits for its thread when it is
    shut down and again when Python ends: an interrupt would have to wait for a launch under way, up
    to the launch's time limit.
    """

    def __init__(self, name: str) -> None:
        self._calls, self._last, self._closed = queue.SimpleQueue(), None, False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def submit(self, function: Callable[..., object], *arguments: object) -> Future[object]:
        """Lets the thread call ``function(*arguments)``, and returns the Future of its result;
        RuntimeError after ``close``."""
        if self._closed:
            raise RuntimeError(f"{self._thread.name} must be open, not closed")
        if self._last is None:
            self._thread.start()
        self._last = future = Future()
        self._calls.put((future, function, arguments))
        return future

    def call(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> object:
        """Lets the thread call ``function(*arguments, **options)`` after all that was submitted,
        waits for it, and returns its result."""
        return self.submit(partial(function, **options), *arguments).result()

    def close(self, abort: Callable[[], object]) -> None:
        """Ends the thread. If the calls that were submitted do not end within half a second,
        ``abort()`` is called, which must tell them to end. If they still do not end within half a
        second, nobody waits for them any more (``host.interrupt.leaving_behind``)."""
        self._closed = True
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


class Inline(Background):
    """As Background, but calls each function at once, in the thread of the caller."""

    def __init__(self) -> None:
        pass

    def submit(self, function: Callable[..., object], *arguments: object) -> Future[object]:
        future = Future()
        future.set_result(function(*arguments))
        return future

    def close(self, abort: Callable[[], object]) -> None:
        pass


class MemoryLearner(Learner):
    """Learns from a replay memory, whose launches run while the policy acts: launches of the card,
    or what a memory on the CPU does instead.

    A subclass has ``plan``, which decides what the next launch does besides storing; ``launch``,
    which runs the launch in a thread of its own; ``learned``, which takes its results; and
    ``BUFFER``, the class of its buffer.

    Parameters
    ----------
    buffer : ReplayMemory or SentReplay
        An object of the class ``BUFFER``, the host's runtime of the kernel, or one of
        ``host.memory`` with its surface.
    phases : Phases
        Counts the learner's time.
    config : OffPolicyConfig
    policy, clock
        As ``Learner``.
    """

    columns = ("td_error", "exploration", "beta", "learning_rate", "fill")

    def __init__(self, config, policy, clock, buffer, *, phases):
        super().__init__(policy, clock)
        self.config, self.buffer, self.phases = config, buffer, phases
        self.in_flight = config.launches_in_flight
        self._card, self._fill = Background("card"), 0
        if policy.exploration_at(0) is None:  # a column that would stay empty
            self.columns = tuple(name for name in self.columns if name != "exploration")

    def begin(self, experience):
        with self.phases("card"):
            # A launch draws from experiences that were stored before it. Those that come with it
            # count for learning_starts.
            before = self._fill
            records, _ = stored(experience)
            if records is not None:
                self._fill = min(before + len(records), self.config.capacity)
            plan = self.plan(before, self._fill >= self.config.learning_starts)
            return self._card.submit(self.launch, experience, plan)

    def end(self, launch):
        with self.phases("card"):
            result = launch.result()
        with self.phases("learning"):
            return self.learned(result)

    def plan(self, fill, learning):
        """Returns the plan for the next ``launch``.

        fill : number of experiences that are stored before this launch
        learning : whether these and the experiences that come with this launch are at least
            ``learning_starts``
        """
        raise NotImplementedError

    def launch(self, experience, plan):
        """Runs a launch, which stores ``experience``, Collected or None, and does as ``plan`` says.
        Returns the argument of ``learned``."""
        raise NotImplementedError

    def learned(self, result):
        """Learns from what ``launch`` returned; returns what ``end`` returns."""
        raise NotImplementedError

    def progress(self):
        return super().progress() | {
            "exploration": self.policy.exploration_at(self.clock.steps),
            "beta": self.agent.beta_at(self.clock.launched),
            "fill": len(self.buffer),
        }

    @property
    def device_cycles(self):
        return self.buffer.device_cycles

    def state_dict(self):
        """All state on which the next launch depends. It may be called only while no launch is
        under way."""
        return {"buffer": self.buffer.state_dict(), "fill": self._fill}

    def load_state_dict(self, state):
        self.buffer.load_state_dict(state["buffer"])
        self._fill = int(state["fill"])

    def close(self):
        self._card.close(self.buffer.abort)
        self.buffer.close()

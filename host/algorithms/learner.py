"""Base classes of learners, which do the gradient steps of a session."""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial

from host.algorithms.config import Clock
from host.algorithms.policy import InferredPolicy, Policy
from host.interrupt import leaving_behind

__all__ = ["Background", "Inline", "Learner"]

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
        try:
            future.set_result(function(*arguments))
        except Exception as error:  # an interrupt is for the caller, whose thread this is
            future.set_exception(error)
        return future

    def close(self, abort: Callable[[], object]) -> None:
        pass

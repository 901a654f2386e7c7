"""The actors of a run, each in its place: calls, answers, and what happens when an actor is lost.

An actor that is lost is replaced by a new one with new seeds: one with the old seeds would play the
same episodes again.
"""

import re
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from host.actors.messages import KINDS, ActorLoss, Lost
from hw.errors import Failure, UsageError

__all__ = ["ActorsFailed", "Pool", "Raised"]

#: Seconds for the first answer of an actor: at the start of the run, and of one that replaces
#: another, for which its machine must have space.
_START_S, _REPLACED_S = 60.0, 30.0
#: Least limit of an answer in seconds, and its multiple of the median answer.
_LEAST_S, _TIMES = 60.0, 20
#: So many losses with the same error of an environment end the run.
_SAME = 3
#: Numbers of an error's text that tell where it was raised: equal errors differ in them.
_PLACE = re.compile(r"\b(environment|number|step) \d+(, \d+)*")
#: Losses of the whole run, for each actor.
_EACH = 3
#: Longest wait without a look at the limits and, in Python, at signals.
_LOOK_S = 1.0


class ActorsFailed(Failure):
    """Too many actors were lost, or their environments raise the same error again and again, whose
    traceback is in ``__cause__`` then, a Raised. The run is between two launches, and can be
    saved."""


class Raised(Exception):
    """An error in another process; its text is the traceback."""


@dataclass
class _Place:
    """An actor and what it has been asked, the oldest first."""

    index: int
    generation: int = 0
    worker: object = None
    who: str = ""
    opened: bool = False
    alive: bool = True
    losses: int = 0
    tickets: deque = field(default_factory=deque)
    since: float = 0.0  # when it began with the oldest ticket, at the earliest


class Pool:
    """``count`` actors, numbered from 0. ``start`` makes them.

    Parameters
    ----------
    transport : InlineTransport or RayTransport
        Makes and calls the workers.
    make : callable
        ``make(index, generation)`` returns the class of a worker and its arguments; ``generation``
        is 0 at first, and one more each time that the actor is replaced or the run is resumed.
    count : int
    fixed : bool
        Whether a loss ends the run, whose bytes a new actor would change.
    limit : float, optional
        Seconds for an answer; None: a minute, or 20 times the median answer if that is longer.
    losses : int
        Losses of one actor that do not end the run; all actors together may have three for each.
    report : callable
        ``report(index, who, ActorLoss, text)`` is called for each loss; ``who`` is the actor's
        machine and process, ``text`` the line for the user.
    clock : callable
        The present time in seconds.

    Attributes
    ----------
    waited_s : float
        Seconds that ``receive`` has waited.
    lost : int
        Losses so far.
    """

    def __init__(
        self,
        transport,
        make: Callable,
        count: int,
        *,
        fixed: bool,
        limit: float | None,
        losses: int,
        report: Callable,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport, self._make, self._report, self._clock = transport, make, report, clock
        self._fixed, self._limit, self._losses = fixed, limit, losses
        self._places = [_Place(index) for index in range(count)]
        self._took, self._texts = deque(maxlen=100), Counter()
        self.waited_s, self.lost, self.started = 0.0, 0, False

    def __len__(self):
        return len(self._places)

    @property
    def alive(self):
        """Numbers of the actors that are there."""
        return [place.index for place in self._places if place.alive]

    @property
    def generations(self):
        return [place.generation for place in self._places]

    def asked(self, index):
        """Calls of an actor that it has not answered."""
        place = self._places[index]
        return len(place.tickets) - (place.alive and not place.opened)

    @property
    def waits(self):
        """Whether an actor has not answered."""
        return any(place.tickets for place in self._places)

    def go_on(self, generations, lost):
        """Counts on from those of a run that is resumed; actors that are replaced get new seeds."""
        self.lost = lost
        for place, generation in zip(self._places, generations, strict=True):
            place.generation = generation + 1

    def start(self):
        """Makes all actors, unless they are there; waits until each has its environments.
        UsageError if an algorithm or an environment cannot be made there, Failure if an actor does
        not answer."""
        if self.started:
            return
        self.started = True
        for place in self._places:
            self._open(place)
        until = self._clock() + _START_S
        while waiting := [place for place in self._places if not place.opened]:
            left = until - self._clock()
            if left <= 0:
                raise Failure(
                    f"actor {waiting[0].index} must answer within {_START_S:.0f} s of the start, "
                    "not be silent"
                )
            for place, answer in self._answers(min(left, _LOOK_S)):
                if isinstance(answer, ActorLoss):
                    raise self._refused(place, answer)

    def _open(self, place):
        kind, *arguments = self._make(place.index, place.generation)
        place.worker, place.opened = self._transport.make(kind, *arguments), False
        place.tickets.clear()
        place.since = self._clock()
        place.tickets.append(self._transport.call(place.worker, "open"))

    def _refused(self, place, loss):
        if loss.kind == "algo":
            return UsageError(f"algo must be importable by name on the actors ({loss.text})")
        if loss.kind == "env":
            return UsageError(
                f"env must be an environment that actor {place.index} can make, too ({loss.text})"
            )
        return Failure(f"actor {place.index} was lost at the start: {_what(loss)}")

    def share(self, parameters):
        """As ``InlineTransport.share``."""
        return self._transport.share(parameters)

    def call(self, index, method, *arguments):
        """Calls ``method`` of an actor after all that it was asked before."""
        place = self._places[index]
        if not place.tickets:
            place.since = self._clock()
        place.tickets.append(self._transport.call(place.worker, method, *arguments))

    def receive(self):
        """Waits until an actor answers, or is lost; returns a list of ``(index, answer)``. The
        answer is None if the actor was lost: what it had been asked is void, and a new one is in
        its place, unless ``alive`` is without it. The list is empty if all that was waited for is
        that a new actor has its environments. Failure if the run must end."""
        if not self.waits:
            raise RuntimeError("an actor must be asked before its answer is waited for")
        began, found = self._clock(), []
        while not found and self.waits:
            for place, answer in self._answers(self._patience()):
                if isinstance(answer, ActorLoss):
                    self._lose(place, answer)
                    found.append((place.index, None))
                elif answer is not None:
                    found.append((place.index, answer))
            found += [(place.index, None) for place in self._overdue()]
        self.waited_s += self._clock() - began
        return found

    def _answers(self, timeout):
        """``(place, answer)`` of the answers that are there; None is that of an actor that was
        opened, and an ActorLoss that of a lost one."""
        waiting = [place for place in self._places if place.alive and place.tickets]
        ready = self._transport.ready([place.tickets[0] for place in waiting], timeout)
        now, found = self._clock(), []
        for place in (waiting[position] for position in ready):
            try:
                answer = self._transport.answer(place.tickets.popleft())
            except Lost as lost:
                answer = lost.loss
            loss = answer if isinstance(answer, ActorLoss) else getattr(answer, "loss", None)
            if loss is None and place.opened:
                self._took.append(now - place.since)
            place.since = now
            if loss is None and not place.opened:
                place.who, place.opened, answer = answer, True, None
            found.append((place, loss or answer))
        return found

    @property
    def limit(self):
        """Seconds for an answer."""
        median = statistics.median(self._took) if self._took else 0
        return self._limit or max(_LEAST_S, _TIMES * median)

    def _deadline(self, place):
        return place.since + (self.limit if place.opened else _REPLACED_S)

    def _patience(self):
        ends = [self._deadline(place) for place in self._places if place.alive and place.tickets]
        return max(0.0, min(_LOOK_S, min(ends) - self._clock()))

    def _overdue(self):
        """Places whose actors have not answered in time; they are lost then."""
        now = self._clock()
        asked = [place for place in self._places if place.alive and place.tickets]
        late = [place for place in asked if now >= self._deadline(place)]
        for place in late:
            if place.opened:
                self._lose(place, ActorLoss("hung", f"no answer within {self.limit:.0f} s"))
            else:
                self._give_up(place)
        return late

    def _lose(self, place, loss):
        self._transport.kill(place.worker)
        place.losses += 1
        self.lost += 1
        end = self._end(place, loss)
        then = "the run ends" if end else f"replaced ({place.losses} of {self._losses})"
        who = f" ({place.who})" if place.who else ""
        text = f"actor {place.index}{who} was lost: {_what(loss)}; {then}"
        self._report(place.index, place.who, loss, text)
        place.tickets.clear()
        if end:
            place.alive = False
            raise end
        place.generation += 1
        self._open(place)

    def _end(self, place, loss):
        """The exception that ends the run for this loss; None if the actor is replaced."""
        what = f"actor {place.index} was lost ({_what(loss)})"
        if loss.traceback:
            same = _PLACE.sub(r"\1", loss.text)
            self._texts[same] += 1
            if self._texts[same] >= _SAME or self._fixed:
                end = ActorsFailed(what)
                end.__cause__ = Raised(f"\n{loss.traceback}")
                return end
        if self._fixed:
            return ActorsFailed(f"{what}, and with actor_order fixed none is replaced")
        if place.losses > self._losses:
            return ActorsFailed(f"{what} more than {self._losses} times (--actor-losses)")
        most = _EACH * len(self._places)
        if self.lost > most:
            return ActorsFailed(f"{what}, and more than {most} actors were lost in all")
        return None

    def _give_up(self, place):
        """Goes on without an actor, for which no machine has space."""
        self._transport.kill(place.worker)
        place.alive = False
        place.tickets.clear()
        loss = ActorLoss("node", f"no machine had space for it within {_REPLACED_S:.0f} s")
        text = f"actor {place.index} could not be replaced: {loss.text}; "
        text += f"{len(self.alive)} of {len(self._places)} are left"
        self._report(place.index, "", loss, text)
        if not self.alive:
            raise ActorsFailed("an actor must be left, not none")

    def close(self):
        """Ends all actors."""
        for place in self._places:
            if place.worker is not None:
                self._transport.kill(place.worker)
                place.worker = None
                place.tickets.clear()


def _what(loss):
    """A loss in words."""
    return f"{KINDS[loss.kind]}{': ' if loss.text else ''}{loss.text}"

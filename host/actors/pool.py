"""The actors of a run, each in its place: calls, answers, and what happens when an actor is lost.

An actor that is lost is replaced by a new one with new seeds: one with the old seeds would play the
same episodes again.
"""

import re
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from host.actors.messages import KINDS, ActorLoss, Lost
from hw.errors import Failure, UsageError

__all__ = ["ActorsFailed", "Pool", "Raised"]

#: Seconds in which all actors must be there at the start of the run, and one that replaces another:
#: its machine must have space for it. The latter at least three times what an actor took so far.
_START_S, _REPLACED_S, _OPENINGS = 60.0, 30.0, 3
#: Seconds after which an actor that could not be replaced is made again.
_AGAIN_S = 60.0
#: Least limit of an answer in seconds, and its multiple of the median answer.
_LEAST_S, _TIMES = 60.0, 20
#: So many losses with the same error of an environment end the run, or ``losses`` if that is more.
_SAME = 3
#: Seconds after which a loss is forgotten.
_AGE_S = 3600.0
#: Numbers of an error's text that tell where it was raised: equal errors differ in them.
_PLACE = re.compile(r"\b(environment|number|step) \d+(, \d+)*")
#: Losses of the whole run, for each actor.
_EACH = 3
#: The first calls of an actor.
_OPENING = ("begin", "open")
#: kind of a loss at the start that no new actor mends -> the message, with actor and text
_REFUSED = {
    "algo": "algo must be importable by name on the actors ({1})",
    "env": "env must be an environment that actor {0} can make, too ({1})",
}
#: Longest wait without a look at the limits and, in Python, at signals.
_LOOK_S = 1.0
#: Longest time without ``receive`` that counts for the limits: an evaluation takes longer.
_AWAY_S = 5.0


class ActorsFailed(Failure):
    """Ray has ended, the actors are not there in time, or too many were lost; or their environments
    raise the same error again and again, whose traceback is in ``__cause__`` then, a Raised. The
    run is between two launches, and can be saved."""


class Raised(Exception):
    """An error in another process; its text is the traceback."""


@dataclass
class _Place:
    """The place of an actor, and the tickets of its open calls, oldest first: ``begin`` and
    ``open`` at first. ``alive`` is False from a failed replacement until a later one succeeds."""

    index: int
    generation: int = 0
    worker: object = None
    who: str = ""
    begun: bool = False
    opened: bool = False
    alive: bool = True
    made: float = 0.0  # when it was made
    again: float | None = None  # when it is made again
    losses: deque = field(default_factory=deque)  # when
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
    start : float, optional
        Seconds within which all actors must have started; None: a minute. The limit of a
        replacement is the longest of half a minute, ``start``, ``limit`` and three times the
        longest start so far.
    losses : int
        Losses of one actor within an hour that do not end the run; all actors together may have
        three for each.
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
        start: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport, self._make, self._report, self._clock = transport, make, report, clock
        self._fixed, self._limit, self._losses, self._start = fixed, limit, losses, start
        self._places = [_Place(index) for index in range(count)]
        self._took, self._texts = deque(maxlen=100), defaultdict(deque)
        self._failure, self._ended, self._looked, self._opening = None, False, clock(), 0.0
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
        if not place.alive:
            return 0
        return len(place.tickets) - (len(_OPENING) - place.begun - place.opened)

    @property
    def waits(self):
        """Whether an actor has not answered."""
        return any(place.alive and place.tickets for place in self._places)

    def go_on(self, generations, lost):
        """Counts on from those of a run that is resumed; actors that are replaced get new seeds."""
        self.lost = lost
        for place, generation in zip(self._places, generations, strict=True):
            place.generation = generation + 1

    def start(self):
        """Makes all actors at the first call, and waits until each has its environments. Actors
        lost meanwhile are replaced. UsageError if an actor cannot make its algorithm or
        environment, ActorsFailed if the actors do not start in time."""
        if self.started:
            return
        self.started = True
        try:
            self._begin()
        except BaseException:
            self._abandon()
            raise

    def _begin(self):
        for place in self._places:
            self._open(place)
        limit = self._start or _START_S
        until = self._clock() + limit
        while waiting := [place for place in self._places if not place.opened]:
            left = until - self._clock()
            if left <= 0:
                raise ActorsFailed(
                    f"actor {waiting[0].index} must be there within {limit:.0f} s of the start "
                    f"(--actor-start), not {_so_far(waiting[0])}"
                )
            for place, answer in self._answers(min(left, _LOOK_S)):
                if isinstance(answer, ActorLoss) and place.alive:  # until Ray has ended
                    if answer.kind in _REFUSED:
                        raise UsageError(_REFUSED[answer.kind].format(place.index, answer.text))
                    self._lose(place, answer)
            self._fail()
        self._looked = self._clock()

    def _open(self, place):
        kind, *arguments = self._make(place.index, place.generation)
        place.worker = self._transport.make(kind, *arguments)
        place.begun = place.opened = False
        place.again, place.made = None, self._clock()
        place.since, place.who = place.made, ""
        place.tickets.clear()
        place.tickets.extend(self._transport.call(place.worker, each) for each in _OPENING)

    def _abandon(self):
        """Gives up all actors: none is alive, and none is replaced."""
        self._ended = True
        for place in self._places:
            place.alive, place.again = False, None
            place.tickets.clear()

    def share(self, parameters):
        """As ``InlineTransport.share``."""
        return self._transport.share(parameters)

    def call(self, index, method, *arguments):
        """Calls ``method`` of an actor after all that it was asked before. ActorsFailed if the
        actor is not there."""
        place = self._places[index]
        if not place.alive:
            raise self.failed(index)
        if not place.tickets:
            place.since = self._clock()
        place.tickets.append(self._transport.call(place.worker, method, *arguments))

    def failed(self, index):
        """The ActorsFailed for a run that cannot do without actor ``index``, which is not there."""
        own = ActorsFailed(f"actor {index} must be there, since its groups are nowhere else")
        failure, self._failure = self._failure or own, None
        return failure

    def receive(self):
        """Waits until an actor answers, or is lost; returns a list of ``(index, answer)``. The
        answer is None if the actor was lost: what it had been asked is void, and a new one is in
        its place, unless ``alive`` is without it. The list is empty if all that was waited for is
        that a new actor has its environments. ActorsFailed if the run must end; answers that came
        with the loss that ends it are returned before."""
        self._fail()
        if not self.waits:
            raise RuntimeError("an actor must be asked before its answer is waited for")
        began, found = self._clock(), []
        self._count_away(began)
        while not found and self.waits:
            self._make_again()
            for place, answer in self._answers(self._patience()):
                if not isinstance(answer, ActorLoss):
                    found += [] if answer is None else [(place.index, answer)]
                elif place.alive:
                    self._lose(place, answer)
                    found.append((place.index, None))
                else:
                    self._later(place)
            found += [(place.index, None) for place in self._overdue()]
        self._looked = self._clock()
        self.waited_s += self._looked - began
        if all(answer is None for _, answer in found):
            self._fail()
        return found

    def _fail(self):
        """Raises the pending ActorsFailed, if any, and clears it."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _count_away(self, now):
        """While the run evaluates, nobody takes answers: that time counts for no limit."""
        away = now - self._looked
        if away > _AWAY_S:
            for place in self._places:
                place.since = min(now, place.since + away)
                place.made = min(now, place.made + away)

    def _answers(self, timeout):
        """``[(place, answer)]`` of the calls that have ended; waits at most ``timeout`` seconds for
        the first. The answer to ``begin`` and ``open`` is None, a lost actor's is an ActorLoss."""
        waiting = [place for place in self._places if place.tickets]
        ready = self._transport.ready([place.tickets[0] for place in waiting], timeout)
        now, found = self._clock(), []
        for place in (waiting[position] for position in ready):
            if not place.tickets:  # Ray has ended, which the loss of another has told
                continue
            try:
                answer = self._transport.answer(place.tickets.popleft())
            except Lost as lost:
                answer = lost.loss
            loss = answer if isinstance(answer, ActorLoss) else getattr(answer, "loss", None)
            if loss is None and place.opened:
                self._took.append(now - place.since)
            elif loss is None:
                self._enter(place, answer, now)
                answer = None
            place.since = now
            found.append((place, loss or answer))
        return found

    def _enter(self, place, answer, now):
        """Takes the answer to ``begin`` or ``open``."""
        if not place.begun:
            place.begun, place.who = True, answer
            return
        place.opened = True
        self._opening = max(self._opening, now - place.made)
        if not place.alive:
            place.alive = True
            self._say(place, ActorLoss("again"), f"actor {place.index} is there again")

    @property
    def limit(self):
        """Seconds for an answer."""
        median = statistics.median(self._took) if self._took else 0
        return self._limit or max(_LEAST_S, _TIMES * median)

    @property
    def opening_limit(self):
        """Seconds for an actor that replaces another: once until it has a process, and once until
        it has its environments."""
        told = self._limit or 0, self._start or 0
        return max(_REPLACED_S, _OPENINGS * self._opening, *told)

    def _deadline(self, place):
        return place.since + (self.limit if place.opened else self.opening_limit)

    def _patience(self):
        ends = [self._deadline(place) for place in self._places if place.tickets]
        return max(0.0, min(_LOOK_S, min(ends) - self._clock()))

    def _overdue(self):
        """Places whose actors have not answered in time; they are lost then."""
        now, late = self._clock(), []
        for place in self._places:
            if not place.tickets or now < self._deadline(place):
                continue
            if not place.alive:
                self._later(place)
                continue
            late.append(place)
            if place.opened:
                self._lose(place, ActorLoss("hung", f"no answer within {self.limit:.0f} s"))
            else:
                self._give_up(place)
        return late

    def _lose(self, place, loss):
        self._transport.kill(place.worker)
        now = self._clock()
        place.losses.append(now)
        self.lost += 1
        end = self._end(place, loss, now)
        then = "the run ends" if end else f"replaced ({len(place.losses)} of {self._losses})"
        self._say(place, loss, f"actor {place.index}{_at(place)} was lost: {_what(loss)}; {then}")
        place.tickets.clear()
        if loss.kind == "ray":
            self._abandon()
        if end or self._ended:
            place.alive, self._ended = False, True
            self._failure = self._failure or end
            return
        place.generation += 1
        self._open(place)

    def _say(self, place, loss, text):
        if not self._ended:
            self._report(place.index, place.who, loss, text)

    def _end(self, place, loss, now):
        """The exception that ends the run for this loss; None if the actor is replaced, or if the
        run ends already."""
        if self._ended:
            return None
        what = f"actor {place.index} was lost ({_what(loss)})"
        if loss.kind == "ray":
            return ActorsFailed(f"Ray must go on as long as the run, not end ({loss.text})")
        if loss.traceback:
            same = self._texts[_PLACE.sub(r"\1", loss.text)]
            same.append(now)
            if _recent(same, now) >= max(_SAME, self._losses) or self._fixed:
                end = ActorsFailed(what)
                end.__cause__ = Raised(f"\n{loss.traceback}")
                return end
        if self._fixed:
            return ActorsFailed(f"{what}, and with actor_order fixed none is replaced")
        if _recent(place.losses, now) > self._losses:
            return ActorsFailed(f"{what} more than {self._losses} times an hour (--actor-losses)")
        most = _EACH * len(self._places)
        if sum(_recent(each.losses, now) for each in self._places) > most:
            return ActorsFailed(f"{what}, and more than {most} actors were lost in an hour")
        return None

    def _give_up(self, place):
        """Goes on without an actor for a minute."""
        left = [each for each in self._places if each.alive and each is not place]
        loss = ActorLoss("absent", f"{_so_far(place)} after {self.opening_limit:.0f} s")
        text = f"actor {place.index}{_at(place)} could not be replaced: {loss.text}; {len(left)} "
        text += f"of {len(self._places)} are left, and it is tried again every minute"
        self._say(place, loss, text)
        place.alive = False
        self._later(place)
        if not left:
            self._failure = ActorsFailed("an actor must be left, not none")
            self._abandon()

    def _later(self, place):
        """Ends what is made in a place that is given up, and makes it again in a minute."""
        self._transport.kill(place.worker)
        place.tickets.clear()
        place.again = self._clock() + _AGAIN_S

    def _make_again(self):
        for place in self._places:
            if place.again is not None and self._clock() >= place.again and not self._ended:
                place.generation += 1
                self._open(place)

    def close(self):
        """Ends all actors."""
        for place in self._places:
            if place.worker is not None:
                self._transport.kill(place.worker)
                place.worker = None
                place.tickets.clear()


def _recent(times, now):
    """How many of ``times``, the oldest first, are not forgotten yet."""
    while times and times[0] < now - _AGE_S:
        times.popleft()
    return len(times)


def _so_far(place):
    """What an actor that is not there yet has come to."""
    if place.begun:
        return "still making its environments"
    return "without a process, for which no machine has had a free CPU, or which is being started"


def _at(place):
    return f" ({place.who})" if place.who else ""


def _what(loss):
    """A loss in words."""
    return f"{KINDS[loss.kind]}{': ' if loss.text else ''}{loss.text}"

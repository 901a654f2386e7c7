"""Short trainings, whose launches run one after the other, so that the time of each part shows."""

import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import numpy as np

from host.cards import is_simulated
from host.cards.kernel import Flight
from host.phases import PHASES, Phases
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.start_run import on_card
from hw.errors import Failure

__all__ = ["PARTS", "Trial", "trial"]

#: Part of an iteration -> explanation.
PARTS = {
    "environments": "stepping the environments",
    "policy": "choosing actions",
    "packing": "converting experiences and rollouts",
    "memory": "a replay memory off the card, and the host's side of launches",
    "device": "the card",
    "learning": "gradient steps off the card",
    "other": "everything else",
}
#: The part to which all time of the phase "card" belongs that is not the card's own.
_BESIDE = "memory"
#: Experiences from which learning begins at the latest, and launches until it must have begun.
_STARTS, _PATIENCE = 1000, 10_000


class Trial:
    """A training of which only the first launches are run, to measure them.

    session : Session
    clock : callable
        The present time in seconds.
    kernel : Kernel or None
        Its flight counts the card's time.
    """

    def __init__(self, session, clock, kernel):
        self.session, self.phases = session, session.phases
        self._clock, self._kernel = clock, kernel

    def warm(self, launches):
        """Runs launches until there was a gradient step, and then ``launches`` more."""
        for _ in range(_PATIENCE):
            if self.session.clock.updates:
                break
            self.session.iterate()
        else:
            raise Failure(f"a trial must learn within {_PATIENCE} launches, not without end")
        for _ in range(launches):
            self.session.iterate()

    def run(self, launches):
        """``(microseconds, updates)`` of ``launches`` launches: an array [launches, parts], in the
        order of PARTS, and the number of gradient steps."""
        found, before = np.empty((launches, len(PARTS))), self.session.clock.updates
        last = self._seconds()
        for row in found:
            self.session.iterate()
            now = self._seconds()
            row[:] = now - last
            last = now
        return found * 1e6, self.session.clock.updates - before

    def elapsed(self, launches):
        """``(microseconds, updates)`` of ``launches`` launches together."""
        begin, before = self._clock(), self.session.clock.updates
        for _ in range(launches):
            self.session.iterate()
        return (self._clock() - begin) * 1e6, self.session.clock.updates - before

    def _seconds(self):
        """Seconds of each part so far. Phases that a trial does not have are other."""
        seconds = dict.fromkeys(PARTS, 0.0)
        for name, value in self.phases.seconds.items():
            seconds[_PART_OF.get(name, "other")] += value
        if self._kernel is not None:
            seconds["device"] = self._kernel.flight.seconds
            seconds[_BESIDE] -= seconds["device"]
        return np.array(list(seconds.values()))


#: Phase -> part.
_PART_OF = {name: name for name in PHASES if name in PARTS} | {"card": _BESIDE}


@contextmanager
def trial(config, *, card="model", board="u200", kernel=None, inline=True):
    """A context manager whose value is a Trial of the run with ``config``; nothing is written.

    Other arguments are as for ``host.runs.start_run.run``. Time is the processor's, of all threads;
    with a real card it is wall time, which has the time of waiting for it. ``inline`` : whether a
    launch ends before the next collection begins (``Learner.inline``); if not, launches run as in a
    run, and only ``elapsed`` means something.
    """
    clock = time.process_time if is_simulated(card) else time.perf_counter
    if hasattr(config, "learning_starts"):
        starts = min(config.learning_starts, max(_STARTS, config.agent.batch_size))
        config = replace(config, learning_starts=starts)
    with ExitStack() as stack:
        stack.enter_context(single_threaded(with_torch=config.learner == "cpu"))
        factory, loaded, _ = stack.enter_context(on_card(config, card, board, kernel))
        if loaded is not None:
            loaded.flight = Flight(clock)
        session = stack.enter_context(closing(build(config, factory, phases=Phases(clock))))
        if inline:
            session.learner.inline()
        yield Trial(session, clock, loaded)

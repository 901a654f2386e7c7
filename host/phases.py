"""Counts the time of a run by phases, which add up to all of it."""

import time

__all__ = ["ACTORS", "PHASES", "Phases"]

#: name -> explanation; the column of progress.csv is ``seconds_<name>``
PHASES = {
    "environments": "stepping the environments",
    "policy": "choosing actions",
    "packing": "converting experiences and rollouts for the card, and its results for the agent",
    "card": "beginning launches and waiting for them; those of a card's replay memory run "
    "beside the phases above, a twin's do not",
    "learning": "loss, backward pass and optimizer on the CPU",
    "evaluation": "greedy evaluations",
    "records": "checkpoints, policies, rows",
    "other": "everything else",
}
#: name -> explanation, of a further phase of runs with actors
ACTORS = {"actors": "waiting for actors in other processes"}


class Phases:
    """Counts the time that one thread spends in each phase. The thread is always in one phase: in
    the innermost phase whose ``with`` block it is in, or in "other" outside of all of them.
    ``more`` are names of phases besides PHASES.

        with phases("policy"):
            action = agent.act(obs)

    Attributes
    ----------
    seconds : dict
        Phase -> seconds so far. Their sum is the time since this object was made or ``restart``
        was called last, and the seconds that ``load`` added.
    """

    def __init__(self, clock=time.perf_counter, more=()):
        self._clock = clock
        self._seconds = dict.fromkeys((*PHASES, *more), 0.0)
        self._known = {name: _Phase(self, name) for name in self._seconds}
        self._stack, self._since = ["other"], clock()

    def __call__(self, name):
        """A context manager: the thread is in the phase ``name`` within its block."""
        return self._known[name]

    @property
    def seconds(self):
        self._count()
        return dict(self._seconds)

    def restart(self):
        """Sets the seconds of all phases to 0, because the time so far did not belong to the
        run."""
        self._count()
        self._seconds = dict.fromkeys(self._seconds, 0.0)

    def load(self, seconds):
        """Adds the seconds that a resumed run had before."""
        for name, value in seconds.items():
            self._seconds[name] += value

    def move(self, seconds, to):
        """Subtracts ``seconds`` from the phase that the thread is in now, and adds them to the
        phase ``to``."""
        self._seconds[self._stack[-1]] -= seconds
        self._seconds[to] += seconds

    def _count(self):
        now = self._clock()
        self._seconds[self._stack[-1]] += now - self._since
        self._since = now


class _Phase:
    __slots__ = ("_phases", "_name")

    def __init__(self, phases, name):
        self._phases, self._name = phases, name

    # The count of Phases, written out: each step of the environments passes here four times.

    def __enter__(self):
        phases = self._phases
        now, stack = phases._clock(), phases._stack
        phases._seconds[stack[-1]] += now - phases._since
        phases._since = now
        stack.append(self._name)

    def __exit__(self, *_):
        phases = self._phases
        now = phases._clock()
        phases._seconds[phases._stack.pop()] += now - phases._since
        phases._since = now

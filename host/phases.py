"""Where the time of a run goes, by phases that add up to all of it."""

import time

__all__ = ["PHASES", "Phases"]

#: name -> what it is; the column of progress.csv is ``seconds_<name>``
PHASES = {
    "environments": "stepping the environments",
    "policy": "choosing actions",
    "packing": "experiences and rollouts as the card takes them, results as the agent does",
    "card": "beginning launches and waiting for them; a replay memory's run beside what is above",
    "learning": "loss, backward pass and optimizer on the CPU",
    "evaluation": "greedy evaluations",
    "records": "checkpoints, policies, rows",
    "other": "all else",
}


class Phases:
    """A clock that is always in one phase: in "other" outside of all, and of two that are nested in
    the inner one. For one thread.

        with phases("policy"):
            action = agent.act(obs)

    Attributes
    ----------
    seconds : dict
        Phase -> seconds so far. Their sum is the time since this was made, and what
        ``load`` brought.
    """

    def __init__(self, clock=time.perf_counter):
        self._clock = clock
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._known = {name: _Phase(self, name) for name in PHASES}
        self._stack, self._since = ["other"], clock()

    def __call__(self, name):
        """A context manager for the time of its block."""
        return self._known[name]

    @property
    def seconds(self):
        self._count()
        return dict(self._seconds)

    def restart(self):
        """Forget the time so far, which was not the run's."""
        self._count()
        self._seconds = dict.fromkeys(PHASES, 0.0)

    def load(self, seconds):
        """Add what a run that goes on here had taken before."""
        for name, value in seconds.items():
            self._seconds[name] += value

    def move(self, seconds, to):
        """Say of the last ``seconds`` of the phase that it is in that they were those of ``to``."""
        self._seconds[self._stack[-1]] -= seconds
        self._seconds[to] += seconds

    def _count(self):
        now = self._clock()
        self._seconds[self._stack[-1]] += now - self._since
        self._since = now

    def _enter(self, name):
        self._count()
        self._stack.append(name)

    def _leave(self):
        self._count()
        self._stack.pop()


class _Phase:
    __slots__ = ("_phases", "_name")

    def __init__(self, phases, name):
        self._phases, self._name = phases, name

    def __enter__(self):
        self._phases._enter(self._name)

    def __exit__(self, *_):
        self._phases._leave()

"""A kernel's launches as another thread sees them: under way or not, how long, and given up."""

import time

__all__ = ["Flight", "GivenUp"]


class GivenUp(RuntimeError):
    """A launch was given up before its end."""


class Flight:
    """A context manager around each launch.

    Attributes
    ----------
    seconds : float
        Wall time of all launches so far.
    """

    def __init__(self, clock=time.perf_counter):
        self.seconds, self._clock, self._aborted = 0.0, clock, False

    def __enter__(self):
        self.check()
        self._began = self._clock()

    def __exit__(self, *_):
        self.seconds += self._clock() - self._began

    def abort(self):
        """From another thread: have the launch that is under way end, and every later one."""
        self._aborted = True

    def check(self):
        """Raise GivenUp after ``abort``: who waits for a launch asks now and then."""
        if self._aborted:
            raise GivenUp("launch must end by itself, not be given up")

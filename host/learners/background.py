"""One thread for launches, beside the one that acts; it can be left behind."""

import queue
import threading
from concurrent.futures import Future

from host.interrupt import leaving_behind

__all__ = ["Background"]

#: A launch that is given up ends within a tenth of a second, unless it is in the middle of
#: something that cannot be.
_PATIENCE_S = 0.5


class Background:
    """Calls functions one after another in a thread of its own.

    ``concurrent.futures`` has the same, but waits for the thread when it is shut down and again
    when Python ends, so that an interrupt would wait for the launch, up to its time limit.
    """

    def __init__(self, name):
        self._calls, self._last = queue.SimpleQueue(), None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, function, *arguments):
        """The Future of ``function(*arguments)``."""
        self._last = future = Future()
        self._calls.put((future, function, arguments))
        return future

    def close(self, abort):
        """End the thread. A call that is under way, which there is after an exception alone, is
        told to end by ``abort()``, and left behind if it does not."""
        if self._last is not None and not self._last.done():
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

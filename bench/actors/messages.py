"""What a message costs: the time from a request to its answer, and the processor's time for it in
the process that trains."""

import time
from statistics import median

import numpy as np

from bench import row
from bench.actors.processes import NOT_QUIET, quiet
from host.actors.messages import Launch, Message
from hw.errors import Failure

__all__ = ["LARGEST", "SIZES", "Sender", "rows"]

#: name -> bytes of a message; from 100 KB on Ray sends it through shared memory.
SIZES = {"1 KB": 1_000, "100 KB": 100_000, "5 MB": 5_000_000}
LARGEST = max(SIZES.values())
_CALLS, _FIRST = 200, 20
_LIMIT_S = 60.0


class Sender:
    """An actor without environments."""

    def send(self, size):
        """A Message of ``size`` bytes."""
        return Message(0, [Launch(np.zeros(size, np.uint8), [], 1)])

    def close(self):
        """Nothing: there are no environments."""


def rows(transport):
    """The list of rows message_us and driver_us of each size.

    message_us is the median time of 200 requests, one after another, until the answer's arrays can
    be read, on quiet cores. driver_us is the processor's time for a request in this process, of all
    its threads; two requests are under way meanwhile, as in a run.
    """
    worker, found, calm = transport.make(Sender), [], quiet()
    for name, size in SIZES.items():
        took, driver = _measured(transport, worker, size)
        took = round(took * 1e6, 1) if calm else NOT_QUIET
        found += [
            row("actors", name, "message_us", took, "us",
                source=f"wall time, one request at a time, median of {_CALLS}"),
            row("actors", name, "driver_us", round(driver * 1e6, 1), "us",
                source=f"processor time, all threads, two requests at a time, mean of {_CALLS}"),
        ]  # fmt: skip
    transport.kill(worker)
    return found


def _measured(transport, worker, size):
    """Seconds of a request, and seconds of processor time of this process."""

    def answer(ticket):
        if not transport.ready([ticket], _LIMIT_S):
            raise Failure(f"an actor must answer within {_LIMIT_S:.0f} s, not be silent")
        return transport.answer(ticket)

    times = []
    for _ in range(_FIRST + _CALLS):
        began = time.perf_counter()
        message = answer(transport.call(worker, "send", size))
        message.launches[0].experience[-1].item()
        times.append(time.perf_counter() - began)
    under_way = [transport.call(worker, "send", size)]
    began = time.process_time()
    for _ in range(_CALLS):
        under_way.append(transport.call(worker, "send", size))
        answer(under_way.pop(0))
    driver = (time.process_time() - began) / _CALLS
    answer(under_way.pop())
    return median(times[_FIRST:]), driver

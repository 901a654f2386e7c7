"""The process of a run that speaks to Ray. Ray ends the process that has started it, without a word
and from C++, when one of its daemons dies; and it changes signals, environment and threads of that
process. So it has a process of its own, and the run sees only that this one has ended.

``host.actors.ray_transport`` starts it, and has the other end of the Link.
"""

import queue
import socket
import threading
import time

from host.actors.link import Link, LinkBroken
from host.actors.messages import ActorLoss
from host.actors.ray_session import ignore_signals, ray_session
from hw.errors import Failure, RlfabricError

__all__ = ["RayFailed", "Shared", "loss_by", "main"]

#: Seconds from one look at Ray's daemons to the next.
_LOOK_S = 1.0
#: Those without which nothing goes on: the others end with them, or are not missed.
_DAEMONS = ("raylet", "gcs_server")


class RayFailed(Failure):
    """Ray did not start, or has ended."""


class Shared:
    """Stands for the parameters that were shared last, among the arguments of a call."""


def main(handle):
    """Starts Ray by the RayPlan that comes first over the socket ``handle``, answers with None or
    the error, and does what it is told until the socket is closed."""
    ignore_signals()
    link = Link(socket.socket(fileno=handle), patient=True)
    try:
        with ray_session(link.receive()) as ray:
            link.send(None)
            _Server(link, ray).run()
    except LinkBroken:  # the run has ended
        pass
    except RlfabricError as error:
        link.send(error)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        link.send(RayFailed(f"Ray must work on this machine, not fail ({text})"))


class _Server:
    """Does what the run tells it, as the methods of RayTransport say. Answers are sent by a thread
    of its own: the run takes none while it evaluates, and may tell something meanwhile."""

    def __init__(self, link, ray):
        self._link, self._ray = link, ray
        self._kinds, self._workers, self._stored = {}, {}, None
        self._answers, self._ended = queue.SimpleQueue(), False
        threading.Thread(target=self._send, daemon=True).start()

    def run(self):
        """Until the run closes the socket, which raises LinkBroken."""
        looked = time.monotonic()
        while True:
            if self._link.poll(_LOOK_S):
                what, *arguments = self._link.receive()
                getattr(self, what)(*arguments)
            if time.monotonic() - looked > _LOOK_S:
                self._look()
                looked = time.monotonic()

    def _look(self):
        """Tells the run once if a daemon of Ray that this process has started has ended. Ray ends
        this process then, or waits for it for a minute."""
        node = self._ray._private.worker._global_node
        ended = [name for name, _ in node.dead_processes() if name in _DAEMONS]
        if ended and not self._ended:
            self._ended = True
            self._answers.put(RayFailed(f"{ended[0]} has ended"))

    def _send(self):
        try:
            while True:
                self._link.send(self._answers.get())
        except LinkBroken:  # which ``run`` sees too
            pass

    def make(self, worker, kind, arguments):
        if kind not in self._kinds:
            options = dict(num_cpus=1, max_restarts=0, max_task_retries=0)
            self._kinds[kind] = self._ray.remote(scheduling_strategy="SPREAD", **options)(kind)
        self._workers[worker] = self._kinds[kind].remote(*arguments)

    def call(self, ticket, worker, method, arguments):
        def done(future):
            error = future.exception()
            if error is None:
                self._answers.put((ticket, future.result(), None))
            else:
                self._look()  # first, so that its actors are not taken for lost one by one
                self._answers.put((ticket, None, loss_by(error, self._ray.exceptions)))

        arguments = [self._stored if isinstance(each, Shared) else each for each in arguments]
        future = getattr(self._workers[worker], method).remote(*arguments).future()
        future.add_done_callback(done)

    def share(self, parameters):
        self._stored = self._ray.put(parameters)

    def kill(self, worker):
        worker = self._workers.pop(worker, None)
        if worker is not None:
            self._ray.kill(worker, no_restart=True)


def loss_by(error, errors):
    """The ActorLoss by an ``error`` of Ray, whose classes of errors are in ``errors``."""
    text = str(error)
    if isinstance(error, errors.RayTaskError):  # first: it is what a call has raised
        return ActorLoss("raised", text.strip().splitlines()[-1], text)
    if not isinstance(error, errors.RayActorError):  # the object was on a machine that died
        return ActorLoss("node", type(error).__name__)
    if "node has died" in text or "node died" in text:
        return ActorLoss("node")
    code = text.partition("exits with an exit code ")[2].split(".")[0].strip()
    return ActorLoss("left", f"exit code {code}") if code else ActorLoss("killed")

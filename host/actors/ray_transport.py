"""Actors as actors of Ray, each in a process of its own.

Ray's: processes, placement, transport, detection of deaths. Not Ray's: a new actor in the place of
a lost one, since Ray's own restart would begin with the seeds of the old one, and says for a while
that a call may or may not have run.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

from host.actors.link import Link, LinkBroken
from host.actors.messages import ActorLoss, Lost, Message, sealed
from host.actors.ray_process import RayFailed, Shared
from host.actors.ray_session import PLACE
from hw.extras import python
from system.disk import clear_dead

__all__ = ["RayTransport"]

#: Bytes up to which Ray sends an argument with the call; larger ones are stored once for all.
_INLINE = 100 << 10
#: Seconds that Ray has to end, and a process that was killed.
_END_S, _KILLED_S = 20.0, 5.0

_PROGRAM = f"""
import importlib, json
sys.path[:] = json.loads(sys.argv[1])
importlib.import_module({Shared.__module__!r}).main(int(sys.argv[2]))
"""


class RayTransport:
    """As ``InlineTransport``, over a Ray that a process of its own has started or joined. Each
    worker takes one CPU; workers are spread over the machines. Workers and tickets are numbers.

    If Ray or its process ends, all tickets are ready, and each answer is Lost by a loss of kind
    ``ray``.

    Parameters
    ----------
    plan : RayPlan
        How Ray is started.
    limit : float
        Seconds for its start.

    Attributes
    ----------
    pid : int
        The process.

    RayFailed if Ray does not start within ``limit`` seconds, or ends before; Failure if it cannot
    be started as the plan says.
    """

    def __init__(self, plan, limit):
        here, there = socket.socketpair()
        self._errors = tempfile.TemporaryFile()
        self._number, self._asked, self._answers, self._died = 0, {}, {}, None
        with there:
            handle = there.fileno()
            self._process = subprocess.Popen(
                python(_PROGRAM, json.dumps(sys.path), str(handle)),
                pass_fds=[handle],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # where Ray has much to say about a dead machine
                stderr=self._errors,
                start_new_session=True,  # signals to the run's group are not Ray's
            )
        self.pid, self._link = self._process.pid, Link(here)
        try:
            self._tell(plan)
            if not self._link.poll(limit):
                raise RayFailed(f"Ray must start within {limit:.0f} s (--actor-start), not later")
            error = self._received()
            if self._died is not None:
                raise RayFailed(f"Ray must start, not end: {self._died.text}")
            if error is not None:
                raise error
        except BaseException:
            self._end(0)
            raise

    def make(self, kind, *arguments):
        self._number += 1
        self._tell("make", self._number, kind, arguments)
        return self._number

    def call(self, worker, method, *arguments):
        self._number += 1
        self._asked[self._number] = worker
        self._tell("call", self._number, worker, method, arguments)
        return self._number

    def ready(self, tickets, timeout):
        until = time.monotonic() + timeout
        while True:
            while self._died is None and self._link.poll(0):
                self._take()
            found = [k for k, ticket in enumerate(tickets) if self._is_ready(ticket)]
            left = until - time.monotonic()
            if found or left <= 0:
                return found
            self._link.poll(left)

    def answer(self, ticket):
        self._asked.pop(ticket, None)
        answer, loss = self._answers.pop(ticket, (None, self._died))
        if loss is not None:
            raise Lost(loss)
        return sealed(answer) if isinstance(answer, Message) else answer

    def share(self, parameters):
        if sum(array.nbytes for array in parameters.values()) <= _INLINE:
            return {name: array.copy() for name, array in parameters.items()}
        self._tell("share", parameters)
        return Shared()

    def kill(self, worker):
        for ticket in [ticket for ticket, each in self._asked.items() if each == worker]:
            del self._asked[ticket]
            self._answers.pop(ticket, None)
        self._tell("kill", worker)

    def close(self):
        """Ends Ray, and all processes that it has started on this machine."""
        self._end(_END_S)

    def _is_ready(self, ticket):
        return ticket in self._answers or self._died is not None

    def _tell(self, *words):
        if self._died is None:
            try:
                self._link.send(words[0] if len(words) == 1 else words)
            except LinkBroken:  # ``ready`` takes what it has sent before, and then sees its end
                self._process.kill()

    def _take(self):
        """Takes an answer, unless its worker was killed since."""
        received = self._received()
        if isinstance(received, RayFailed):
            self._process.kill()
            self._died = ActorLoss("ray", str(received))
        elif received is not None and received[0] in self._asked:
            ticket, *answer = received
            self._answers[ticket] = answer

    def _received(self):
        """A value of the process; None if it has ended, too."""
        try:
            return None if self._died is not None else self._link.receive()
        except LinkBroken:
            self._bury()
            return None

    def _bury(self):
        """Notes that the process has ended, and why as far as it is known."""
        self._wait(_KILLED_S)
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        text = f"exit code {self._process.poll()}"
        self._died = ActorLoss("ray", ": ".join([text, *words])[:300])

    def _wait(self, seconds):
        """Waits at most ``seconds`` for the process to end, and then kills the rest of its process
        group: Ray's agents would stay for a minute. Returns whether the process has ended."""
        if self._process.returncode is None:
            until = time.monotonic() + seconds
            # Not reaped before: as long as it is not, nothing else gets the number of its group.
            how = os.WEXITED | os.WNOWAIT | os.WNOHANG
            while os.waitid(os.P_PID, self.pid, how) is None:
                if time.monotonic() >= until:
                    return False
                time.sleep(0.01)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        return True

    def _end(self, seconds):
        self._link.close()  # which tells the process to end
        self._died = self._died or ActorLoss("ray", "it was ended")
        try:
            self._wait(seconds)
        finally:
            if self._process.returncode is None:
                self._process.kill()
                self._wait(_KILLED_S)
            self._errors.close()
            clear_dead(PLACE)

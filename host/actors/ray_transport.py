"""Actors as actors of Ray, each in a process of its own.

Ray's: processes, placement, transport, detection of deaths. Not Ray's: a new actor in the place of
a lost one, since Ray's own restart would begin with the seeds of the old one, and says for a while
that a call may or may not have run.
"""

import importlib

from host.actors.messages import ActorLoss, Lost

__all__ = ["RayTransport"]

#: Bytes up to which Ray sends an argument with the call; larger ones are stored once for all.
_INLINE = 100 << 10
#: Seconds for fetching an answer that is there, from another machine.
_FETCH_S = 60.0


class RayTransport:
    """As ``InlineTransport``, over a Ray that was initialized. Each worker takes one CPU; workers
    are spread over the machines. A ticket is an ObjectRef."""

    def __init__(self):
        self._ray = importlib.import_module("ray")
        self._kinds = {}

    def make(self, kind, *arguments):
        if kind not in self._kinds:
            options = dict(num_cpus=1, max_restarts=0, max_task_retries=0)
            self._kinds[kind] = self._ray.remote(scheduling_strategy="SPREAD", **options)(kind)
        return self._kinds[kind].remote(*arguments)

    def call(self, worker, method, *arguments):
        return getattr(worker, method).remote(*arguments)

    def ready(self, tickets, timeout):
        found, _ = self._ray.wait(tickets, num_returns=1, timeout=timeout, fetch_local=False)
        if found and len(tickets) > 1:
            found, _ = self._ray.wait(tickets, num_returns=len(tickets), timeout=0)
        return [position for position, ticket in enumerate(tickets) if ticket in found]

    def answer(self, ticket):
        errors = self._ray.exceptions
        try:
            return self._ray.get(ticket, timeout=_FETCH_S)
        except errors.RayTaskError as error:  # before RayActorError: it is what a call has raised
            where = str(error)
            raise Lost(ActorLoss("raised", where.strip().splitlines()[-1], where)) from None
        except errors.GetTimeoutError:
            raise Lost(ActorLoss("hung", f"its answer took over {_FETCH_S:.0f} s")) from None
        except errors.RayActorError as error:
            raise Lost(_loss(str(error))) from None
        except errors.RayError as error:  # the object was on a machine that died
            raise Lost(ActorLoss("node", type(error).__name__)) from None

    def share(self, parameters):
        if sum(array.nbytes for array in parameters.values()) > _INLINE:
            return self._ray.put(parameters)
        return {name: array.copy() for name, array in parameters.items()}

    def kill(self, worker):
        self._ray.kill(worker, no_restart=True)


def _loss(text):
    """The ActorLoss by the text of Ray's error about a dead actor."""
    if "node has died" in text or "node died" in text:
        return ActorLoss("node")
    code = text.partition("exits with an exit code ")[2].split(".")[0].strip()
    return ActorLoss("left", f"exit code {code}") if code else ActorLoss("killed")

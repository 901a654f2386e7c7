"""Actors in this process, which answer when they are asked: the same bytes as actors of their own,
without any speed."""

from host.actors.messages import Message, sealed

__all__ = ["InlineTransport"]


class InlineTransport:
    """Makes workers in this process, and calls them at once. A ticket is the answer.

    Every transport has these methods; see ``host.actors.ray_transport.RayTransport`` too.
    """

    def make(self, kind, *arguments):
        """A worker of class ``kind``."""
        return kind(*arguments)

    def call(self, worker, method, *arguments):
        """Calls a method of ``worker``; returns the ticket for its answer."""
        answer = getattr(worker, method)(*arguments)
        return sealed(answer) if isinstance(answer, Message) else answer

    def ready(self, tickets, timeout):
        """The positions in the list ``tickets`` of those whose answers are there; waits at most
        ``timeout`` seconds for the first."""
        return list(range(len(tickets)))

    def answer(self, ticket):
        """The answer of a ready ticket. ``Lost`` if its worker is lost."""
        return ticket

    def share(self, parameters):
        """An argument for ``call`` that stands for ``parameters``, a dict of arrays, as they are
        now; the one of the call before is given up."""
        return {name: array.copy() for name, array in parameters.items()}

    def kill(self, worker):
        """Ends a worker."""
        worker.close()

    def close(self):
        """Does nothing: the transport has no process or thread of its own."""

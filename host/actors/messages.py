"""What the process that trains and its actors send each other."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from hw.errors import UsageError

__all__ = ["KINDS", "Launch", "ActorLoss", "Lost", "Message", "ActorRequest", "WorkerPlan"]
__all__ += ["check_shared", "message_bytes", "message_launches", "sealed"]

#: Steps of a message by default, and most bytes of its experiences.
_STEPS, _BYTES = 64, 8 << 20

#: kind of a loss -> what happened to the actor
KINDS = {
    "killed": "its process was killed",
    "node": "its machine has died",
    "ray": "Ray has ended",
    "absent": "it was not there in time",
    "again": "it is there again",
    "raised": "its environment failed",
    "algo": "its algorithm could not be imported",
    "env": "its environment could not be made",
    "hung": "it gave no answer in time",
    "left": "its process ended by itself",
}


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """What an actor is made of: names and JSON values, so that it is made from the code of its own
    machine.

    algo : name of the algorithm, as ``--algo``.
    agent : ``to_dict`` of the agent's config, whose schedules have lengths.
    env : id of the environment.
    sizes : environments of each of the actor's vector environments: one of them, or with rounds one
        for each group.
    steps : steps of each environment for a launch of the run.
    actors : actors of the run.
    td_errors : whether TD errors go with experiences, for their first priorities.
    """

    algo: str
    agent: dict
    env: str
    sizes: tuple
    steps: int
    actors: int
    td_errors: bool = False


@dataclass(frozen=True)
class ActorRequest:
    """Asks an actor for the experience of ``launches`` launches by the weights that are sent with
    it. ``version`` is the number of gradient steps that these weights have had; ``steps`` is the
    run's environment steps, on which exploration depends."""

    version: int
    steps: int
    launches: int


@dataclass(frozen=True)
class Launch:
    """What one launch of the run learns from: ``experience`` as a local collector returns it,
    ``episodes`` that ended, and the environment ``steps`` that it took."""

    experience: object
    episodes: list
    steps: int


@dataclass(frozen=True)
class ActorLoss:
    """Why an actor is lost: its ``kind`` (KINDS), one line of ``text``, and where it was raised, or
    an empty text."""

    kind: str
    text: str = ""
    traceback: str = ""


class Lost(Exception):
    """An actor is lost; ``loss`` is the ActorLoss."""

    def __init__(self, loss):
        super().__init__(loss.text)
        self.loss = loss


@dataclass(frozen=True)
class Message:
    """An actor's answer to an ActorRequest.

    version : that of the ActorRequest.
    launches : list of Launch, as many as were asked for; fewer with a ``loss``.
    busy_s, idle_s : seconds that the answer took, and seconds without a request before it.
    statistics : arrays of ``Normalizer.arrays``, of the observations of these launches alone; None
        if the policy does not normalize.
    loss : the ActorLoss if the environments raised; the actor is of no use then.
    """

    version: int
    launches: list
    busy_s: float = 0.0
    idle_s: float = 0.0
    statistics: dict | None = None
    loss: ActorLoss | None = None

    @property
    def bytes(self):
        """Bytes of the arrays of all launches."""
        return sum(array.nbytes for launch in self.launches for array in _arrays(launch.experience))


def check_shared(count, places, what):
    """UsageError unless ``count`` actors can share ``places``, the value of what is called
    ``what``, so that each has as many."""
    if places % count:
        raise UsageError(f"{what} must be a multiple of {count} (actors), not {places}")


def message_launches(steps, size=1):
    """Launches of a message by default, if a launch has ``steps`` environment steps: those of 64
    steps, at least one, but no more than 8 MiB of experiences of ``size`` bytes."""
    return max(1, min(_STEPS, _BYTES // size) // steps)


def message_bytes(spec, steps):
    """A bound of a message's bytes: ``steps`` environment steps in an environment with a Spec."""
    observation = spec.size * (1 if spec.dtype == "uint8" else 4)
    return steps * (2 * observation + 64)


def sealed(message):
    """``message``, whose arrays nobody can write from now on: those that come from another process
    are so too."""
    for launch in message.launches:
        for array in _arrays(launch.experience):
            array.flags.writeable = False
    return message


def _arrays(experience):
    """The arrays of records, of a dict of arrays, or of a dataclass of arrays."""
    if isinstance(experience, dict):
        return list(experience.values())
    if is_dataclass(experience):
        return [getattr(experience, each.name) for each in fields(experience)]
    return [experience] if isinstance(experience, np.ndarray) else []

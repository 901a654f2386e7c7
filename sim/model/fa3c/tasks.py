"""The check of the list of a ROUND, before any task starts: the twin of ``hw.fa3c.round.rules``."""

import numpy as np

from hw.fa3c.records import AGENTS, CONSTANTS, TASK, Error, Task

__all__ = ["TaskCheck", "agents_of", "kind_of"]

#: Kind -> the fields that it does not use.
_FOREIGN = {
    Task.INFER: tuple(CONSTANTS),
    Task.TRAIN: ("step", "results"),
    Task.SYNC: ("unit", "step", "count", "operands", "results", *CONSTANTS),
}
_PLACES = ("operands", Error.OPERANDS), ("results", Error.RESULTS)


_KINDS = {kind.value: kind for kind in Task}


def _foreign(kind):
    """Which bytes of a TASK of this kind must be 0: bool [TASK.size]."""
    found = np.zeros(TASK.size, bool)
    found[TASK.used :] = True
    for name in _FOREIGN[kind]:
        dtype, offset = TASK.dtype.fields[name][:2]
        found[offset : offset + dtype.itemsize] = True
    return found


_ZEROS = {kind.value: _foreign(kind) for kind in Task}


def kind_of(task):
    """The ``Task`` of a TASK record: its kind."""
    return _KINDS[int(task["kind"])]


def agents_of(task):
    """Numbers of the agents that a TASK record names, as bytes: ``count`` of an INFER, one of a
    TRAIN, none of a SYNC."""
    kind = kind_of(task)  # compared by identity here and below: to hash an Enum takes longer
    if kind is Task.SYNC:
        return b""
    return task["agents"].tobytes()[: 1 if kind is Task.TRAIN else int(task["count"])]


class TaskCheck:
    """Checks the list of tasks of one ROUND, given the state before it. Make a new one for each
    list.

    Parameters
    ----------
    config : Fa3cConfig
    lengths : int array [agents]
        How many steps the rollout of each agent has.
    synced : int
        A bit for each snapshot, which is 1 if a SYNC has made the snapshot.
    room : callable
        Gives, for a buffer's name, how many bytes the buffer has.
    """

    def __init__(self, config, lengths, synced, room):
        self.config, self.lengths, self.synced, self.room = config, lengths, synced, room
        self.made, self.used, self.taken = 0, 0, set()

    def __call__(self, tasks):
        """``(error, position)`` of the first of ``tasks`` (TASK records) that breaks a rule, where
        error is the first rule that it breaks; ``(Error.NONE, 0)`` if none breaks one."""
        for position, task in enumerate(tasks):
            error = next(self._broken(task), None)
            if error:
                return error, position
            bit = 1 << int(task["snapshot"])
            if kind_of(task) is Task.SYNC:
                self.made |= bit
            else:
                self.used |= bit
            self.taken |= set(agents_of(task))
        return Error.NONE, 0

    def _broken(self, task):
        """Errors of a task; the first counts. After an Error.TASK the others have no meaning."""
        if not self._is_task(task):
            yield Error.TASK
        kind, config = kind_of(task), self.config
        if kind is not Task.SYNC:
            unit = int(task["unit"])
            if unit not in config.units_for(kind.name.lower()):
                yield Error.UNIT
        if not self._is_usable(kind, int(task["snapshot"])):
            yield Error.SNAPSHOT
        agents = agents_of(task)
        if (
            any(agent >= config.agents for agent in agents)
            or len(set(agents)) < len(agents)
            or self.taken & set(agents)
        ):
            yield Error.AGENT
        for agent in agents:
            step, length = int(task["step"]), self.lengths[agent]
            if kind is Task.TRAIN and int(task["count"]) > length:
                yield Error.STEP
            if kind is Task.INFER and step not in (length, config.steps):
                yield Error.STEP
        for (name, error), size in zip(_PLACES, self._sizes(kind, int(task["count"])), strict=True):
            if int(task[name]) % 64 or int(task[name]) + size > self.room(name):
                yield error

    def _is_task(self, task):
        """Whether kind and fields are in range, and the unused bytes are 0."""
        number = int(task["kind"])
        if number not in _KINDS:
            return False
        kind, config = _KINDS[number], self.config
        if np.frombuffer(task.tobytes(), np.uint8)[_ZEROS[number]].any():
            return False
        high = config.batch if kind is Task.INFER else config.steps
        if kind is not Task.SYNC and not 1 <= int(task["count"]) <= high:
            return False
        if kind is Task.TRAIN and not all(
            low <= int(task[name].view(np.uint32)) <= high
            for name, (low, high) in CONSTANTS.items()
        ):
            return False
        others = task["agents"].tobytes()[len(agents_of(task)) : AGENTS]
        return int(task["step"]) <= config.steps and not any(others)

    def _is_usable(self, kind, snapshot):
        if snapshot >= self.config.snapshots:
            return False
        if kind is Task.INFER:
            allowed = self.synced | self.made
        elif kind is Task.TRAIN:
            allowed = self.synced & ~self.made
        else:
            allowed = ~(self.made | self.used)
        return bool(allowed >> snapshot & 1)

    def _sizes(self, kind, count):
        """Bytes that the task has in operands, and in results."""
        config = self.config
        if kind is Task.SYNC:
            return 0, 0
        if kind is Task.TRAIN:
            return count * config.output_bytes, 0
        return count * config.screen_bytes, count * config.output_bytes

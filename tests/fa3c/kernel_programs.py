"""Random programs of the kernel ``a3c`` for cards ``sim`` and ``model``."""

import random

import numpy as np
import programs
from fa3c.modelled import CLOCKS
from fa3c.networks import theta
from fa3c.tasks import Lists, Reference, task_bits
from programs import Builder

from hw.fa3c.commands import COMMANDS, Opcode
from hw.fa3c.records import A3C_STATUS, TASK
from hw.fa3c.rows import ROW_BYTES

__all__ = ["RandomRounds", "Rig", "records"]

#: Bytes of operands and of results of every ROUND: what tasks are checked against.
SIZES = 1 << 13, 1 << 12
_CONSTANTS = dict(rate=0.01, decay=0.9, gain=0.1, epsilon=0.05)


class Rig(programs.Rig):
    """A kernel whose buffers have the size that its config needs, plus 64 bytes that no launch
    names."""

    def __init__(self, kernel, config, timeout_s=60.0):
        pointers = config.buffer_bytes
        room = {name: size + 64 for name, size in pointers.items()}
        super().__init__(kernel, room, A3C_STATUS, CLOCKS, timeout_s)
        self.sizes = {f"{name}_bytes": size for name, size in pointers.items()}

    def run(self, launch, **arguments):
        return super().run(launch, **{**self.sizes, **arguments})


def records(tasks):
    """The bytes of ``tasks``, which are dicts as in ``fa3c.tasks``, in the form of memory."""
    raw = b"".join(task_bits(task).to_bytes(TASK.size, "little") for task in tasks)
    return np.frombuffer(raw, np.uint8)


class RandomRounds:
    """Random launches, one after the other. ``reference`` knows the state before a launch; whoever
    runs a ROUND must tell the reference.

    Tasks and the data that they read share operands, so either may consist of any bytes.
    """

    def __init__(self, config, seed):
        self.config, self.reference = config, Reference(config)
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.lists = Lists(self.reference, seed, *SIZES)

    def images(self, tasks=()):
        """LOAD of theta and of g, a ROUND of ``tasks``, if there are any, and both back."""
        self.reference.load()
        builder = Builder(COMMANDS)
        images = theta(self.config, self.numbers), np.abs(theta(self.config, self.numbers))
        for image, rows in enumerate(images):
            builder.raw(Opcode.LOAD, image=image, source=builder.operand(rows))
        if tasks:
            builder.result(SIZES[1])
            builder.raw(Opcode.ROUND, count=len(tasks), source=builder.operand(records(tasks)))
        self.store(builder)
        return builder.launch()

    def store(self, builder):
        for image in (0, 1):
            place = builder.result(self.config.theta_rows * ROW_BYTES)
            builder.raw(Opcode.STORE, image=image, destination=place)

    @staticmethod
    def constants():
        """Of a TRAIN, as bits."""
        return {name: int(np.float32(v).view(np.uint32)) for name, v in _CONSTANTS.items()}

    def tasks(self, spoilt=False):
        """A list that the state allows; results of its tasks lie apart."""
        tasks = self.lists.good()
        constants = self.constants()
        place = 0
        for task in tasks:
            if task["kind"] == 0:
                task["results"] = place
                place += task["count"] * self.config.output_bytes
            if task["kind"] == 1:
                task.update(constants)
        return self.lists.spoilt(tasks) if spoilt else tasks

    def round(self, tasks, infinite=False):
        """A ROUND of ``tasks`` on random numbers; ``infinite``: but the last TRAIN's last."""
        rows = self.numbers.standard_normal((SIZES[0] // 4,)).astype("<f4").view(np.uint8)
        listed = records(tasks)
        place = self.rng.randrange((SIZES[0] - listed.nbytes) // 64 + 1) * 64
        for task in [task for task in tasks if task["kind"] == 1 and infinite][-1:]:
            end = task["operands"] + task["count"] * self.config.output_bytes
            rows[end - 4 : end].view("<f4")[:] = -np.inf
        rows[place : place + listed.nbytes] = listed
        builder = Builder(COMMANDS)
        builder.operand(rows)
        builder.result(SIZES[1])
        builder.raw(Opcode.ROUND, count=len(tasks), source=place)
        return builder.launch()

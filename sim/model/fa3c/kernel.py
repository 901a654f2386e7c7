"""Bit-exact twin of the kernel ``a3c``: ``hw.fa3c.core`` with its units.

It executes the tasks of a ROUND one after the other. The hardware works on several tasks at a time,
and leaves the same memory.
"""

import numpy as np

from hw.fa3c.commands import COMMANDS, IMAGES, buffers_of, commands_of
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.records import A3C_STATUS, TASK, Error, Task
from hw.fa3c.rows import ROW, ROW_BYTES
from sim.model.fa3c.layer import LayerTwin
from sim.model.fa3c.memory.rms import Coefficients, update_layer
from sim.model.fa3c.memory.transposed import transpose_layer, transpose_theta
from sim.model.fa3c.striped import Striped
from sim.model.fa3c.tasks import TaskCheck, agents_of, kind_of
from sim.model.program import CommandTwin, ProgramTwin

__all__ = ["A3cCore", "A3cKernel"]


class A3cCore(CommandTwin):
    """Executes the commands of ``hw.fa3c.commands`` on card memory."""

    COMMANDS = COMMANDS

    def __init__(self, config):
        self.config = config
        self.COMMANDS, self.BUFFERS = commands_of(config.local_masters), buffers_of(config)
        self.layers = [LayerTwin(config, number) for number in range(len(config.layers))]
        self._snapshot_rows = config.snapshot_rows  # asked for in every task
        self.lengths = np.zeros(config.agents, np.int64)
        self.loaded = self.synced = self.rounds = self.tasks = self.overflow = 0

    def status(self):
        """A3C_STATUS as an array of bytes, uint8. Its counts of clocks are 0, because a twin does
        not know them."""
        record = np.zeros((), A3C_STATUS.dtype)
        for name in ("loaded", "synced", "rounds", "tasks", "overflow"):
            record[name] = getattr(self, name)
        return np.frombuffer(record.tobytes(), np.uint8)

    def _load(self, c):
        image, source = self.words(c, IMAGES[c.image]), self.words(c, "source")
        image[: len(source)] = source
        if IMAGES[c.image] == "theta":
            transpose_theta(self.config, image.reshape(-1, ROW))
        self.loaded |= 1 << c.image
        self.overflow &= ~(1 << c.image)
        if IMAGES[c.image] == "theta":
            self.lengths[:], self.synced = 0, 0
        return Error.NONE, 0

    def _store(self, c):
        destination = self.words(c, "destination")
        destination[:] = self.words(c, IMAGES[c.image])[: len(destination)]
        return Error.NONE, 0

    def _round(self, c):
        tasks = self.at(c, "source")[: c.count * TASK.size].view(TASK.dtype)
        error, detail = TaskCheck(self.config, self.lengths, self.synced, self.room)(tasks)
        if error:
            return error, detail
        for position, task in enumerate(tasks):
            if kind_of(task) is Task.TRAIN and not np.isfinite(self._errors(task)).all():
                return Error.NUMBER, position
        self._local = Striped([self.words(c, name) for name in self.config.local_names])
        self._images = [self.words(c, name).reshape(-1, ROW) for name in IMAGES]
        self._snapshots = {}  # those of this round that were read
        works = (Task.INFER, self._infer), (Task.TRAIN, self._train), (Task.SYNC, self._sync)
        work = {kind.value: does for kind, does in works}
        for task in tasks:
            work[int(task["kind"])](task)
        self.rounds, self.tasks = self.rounds + 1, self.tasks + c.count
        return Error.NONE, 0

    # -- tasks

    def _infer(self, task):
        config, agents, step = self.config, agents_of(task), int(task["step"])
        screens = self._view("operands", task, len(agents) * config.screen_bytes)
        screens = screens.reshape(len(agents), -1)
        maps = [self.layers[0].numbers(screens)]
        for layer in self.layers:
            maps.append(layer.forward(self._parameters(task, layer), maps[-1]))
        results = self._view("results", task, len(agents) * config.output_bytes)
        results[:] = maps[-1].reshape(-1).view(np.uint8)
        if step == config.steps:
            return
        kept = [screens, *(each.view(np.uint8) for each in maps[1:-1])]
        kept = np.concatenate(kept, axis=1).view(np.uint32)
        for agent, words in zip(agents, kept, strict=True):
            self._local.write(config.rollout_row(agent, step), words.reshape(-1, ROW))
            self.lengths[agent] = step + 1

    def _train(self, task):
        config, count, (agent,) = self.config, int(task["count"]), agents_of(task)
        kept = self._local.read(config.rollout_row(agent, 0), count * config.step_rows)
        kept = kept.reshape(count, -1).view(np.uint8)
        cuts = np.cumsum(config.map_rows[:-1])[:-1] * ROW_BYTES
        maps = [np.ascontiguousarray(part) for part in np.split(kept, cuts, axis=1)]
        errors, squares = self._errors(task), self._images[1].view(np.float32)
        theta = self._images[0].view(np.float32)
        values = Coefficients(*(task[name] for name in Coefficients._fields))
        for number, layer in reversed(list(enumerate(self.layers))):
            inputs = layer.numbers(maps[number])
            gradients = layer.gradient(inputs, errors).reshape(-1, ROW)
            self.overflow |= update_layer(config, number, values, gradients, squares, theta)
            transpose_layer(config, number, theta)
            if number:
                errors = layer.backward(self._parameters(task, layer), errors, inputs)
        self.lengths[agent] = 0

    def _sync(self, task):
        snapshot = int(task["snapshot"])
        self._local.write(snapshot * self._snapshot_rows, self._images[0])
        self._snapshots.pop(snapshot, None)
        self.synced |= 1 << snapshot

    # -- memory

    def _view(self, buffer, task, size):
        return self.memory.view(self.arguments[buffer] + int(task[buffer]), size)

    def _errors(self, task):
        """Error rows of a TRAIN: float32 [count, words]."""
        count = int(task["count"])
        raw = self._view("operands", task, count * self.config.output_bytes)
        return raw.view(np.float32).reshape(count, -1)

    def _parameters(self, task, twin):
        """Parameters of the layer of ``twin`` in the task's snapshot."""
        snapshot, layer = int(task["snapshot"]), twin.layer
        if snapshot not in self._snapshots:
            rows = self._local.read(snapshot * self._snapshot_rows, self._snapshot_rows)
            self._snapshots[snapshot] = rows.view(np.float32)
        begin = self.config.parameter_bases[twin.number]
        rows = self._snapshots[snapshot][begin : begin + layer.rows]
        return rows.reshape(layer.groups, layer.group_rows, ROW)


class A3cKernel(ProgramTwin):
    """Twin of the whole kernel ``a3c``."""

    def make_core(self, description):
        return A3cCore(Fa3cConfig.from_dict(description.config))

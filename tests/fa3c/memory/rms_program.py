"""Commands of RMSProp, their gradients and words, and the memory that the twin makes of them."""

import json

import numpy as np
from fa3c.memory.numbers import USUAL, as_rows, normals, patterns

from hw.fa3c.memory.rms_command import RMS_COMMAND, RmsKind
from hw.fa3c.rows import ROW, ROW_BYTES
from sim.model.fa3c.memory.rms import Coefficients, update_layer
from sim.model.fa3c.memory.transposed import transpose_layer, transpose_theta

__all__ = ["BASES", "Program"]

#: Byte addresses of theta, of squares, and of the space of snapshots.
BASES = {"theta": 0x1_0000_0000, "squares": 0x2_0000_1000, "snapshot": 0}


def _texts(numbers):
    return [f"{row:x}" for row in as_rows(numbers)]


class Program:
    """``update``, ``sync``, ``load`` and ``store`` add a command each; ``save`` writes all of them
    to a file."""

    def __init__(self, config, seed):
        self.config, self.rng = config, np.random.default_rng(seed)
        rows = {"theta": config.snapshot_rows, "squares": config.theta_rows}
        self.arrays = {name: self._numbers((count, ROW)) for name, count in rows.items()}
        self.start = self._memory()
        self.snapshots = {}
        self.commands, self.kinds = [], []
        self.gradients = [[] for _ in config.units]
        self.words, self.reply = [], []

    def _numbers(self, shape):
        """A tenth of them anything."""
        count = int(np.prod(shape))
        usual, odd = normals(self.rng, count, -10, 3), patterns(self.rng, count)
        return np.where(self.rng.random(count) < 0.1, odd, usual).reshape(shape)

    def _add(self, kind, **fields):
        fields = {"unit": 0, "layer": 0, "snapshot": 0, "squares": 0} | fields
        c = fields.pop("coefficients", Coefficients(*patterns(self.rng, 4)))
        bits = dict(zip(c._fields, np.array(c, np.float32).view(np.uint32).tolist(), strict=True))
        const = RMS_COMMAND.const({"kind": kind, **bits, **fields})
        self.commands.append(const.as_bits())
        self.kinds.append((kind.name, fields["layer"]))

    def update(self, unit, layer, coefficients=USUAL):
        count = self.config.layers[layer].gradient_rows
        gradients = self._numbers((count, ROW))
        self._add(RmsKind.UPDATE, unit=unit, layer=layer, coefficients=coefficients)
        self.gradients[unit] += _texts(gradients)
        update_layer(
            self.config,
            layer,
            coefficients,
            gradients,
            self.arrays["squares"],
            self.arrays["theta"],
        )
        transpose_layer(self.config, layer, self.arrays["theta"])

    def sync(self, snapshot):
        self._add(RmsKind.SYNC, snapshot=snapshot)
        self.snapshots[snapshot] = self.arrays["theta"].copy()

    def load(self, name):
        self._add(RmsKind.LOAD, squares=name == "squares")
        words = self._numbers((self.config.theta_rows, ROW))
        self.arrays[name][: len(words)] = words
        self.words += _texts(words)
        if name == "theta":
            transpose_theta(self.config, self.arrays[name])

    def store(self, name):
        self._add(RmsKind.STORE, squares=name == "squares")
        self.reply += _texts(self.arrays[name][: self.config.theta_rows])

    def random(self, count):
        """Any commands; every other one an UPDATE."""
        rng, config = self.rng, self.config
        for _ in range(count):
            choice, layer, unit, snapshot = rng.integers(
                [8, len(config.layers), len(config.units), config.snapshots]
            ).tolist()
            name = ("theta", "squares")[choice % 2]
            if choice < 4:
                c = Coefficients(*normals(rng, 4, -8, 0)) if choice else USUAL
                self.update(unit, layer, c)
            elif choice < 6:
                self.sync(snapshot)
            elif rng.integers(2):
                self.load(name)
            else:
                self.store(name)

    def _memory(self):
        """Address -> row, of theta and squares."""
        return {
            BASES[name] + ROW_BYTES * row: word
            for name, array in self.arrays.items()
            for row, word in enumerate(_texts(array))
        }

    def save(self, path):
        """As the bench reads it; returns the path as text."""
        space = {
            ROW_BYTES * (number * self.config.snapshot_rows + row): word
            for number, array in self.snapshots.items()
            for row, word in enumerate(_texts(array))
        }
        path.write_text(
            json.dumps(
                dict(
                    commands=[f"{command:x}" for command in self.commands],
                    kinds=self.kinds,
                    gradients=self.gradients,
                    words=self.words,
                    reply=self.reply,
                    start=list(self.start.items()),
                    end=list(self._memory().items()),
                    snapshots=list(space.items()),
                )
            )
        )
        return str(path)

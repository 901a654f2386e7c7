"""Executes the tasks of a ROUND literally as ``hw.fa3c.records`` describes them, with the slow walk
through the table of passes."""

import numpy as np
from fa3c.plan_walk import Walk

from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.rows import ROW, ROW_BYTES
from sim.model.arith.float32 import add, multiply, rsqrt

__all__ = ["Literal"]


class Literal:
    """State of the kernel in rows.

    theta, squares : float32 [theta_rows, 16], copied

    Attributes
    ----------
    local : dict of row to uint32 [16]
        What tasks have written of local memory.
    """

    def __init__(self, config, theta, squares):
        self.config = config
        self.theta, self.squares, self.local = theta.copy(), squares.copy(), {}

    def sync(self, snapshot):
        begin = snapshot * self.config.theta_rows
        self.local |= {begin + k: row for k, row in enumerate(self.theta.copy().view(np.uint32))}

    def _snapshot(self, number):
        begin = number * self.config.theta_rows
        rows = [self.local[begin + k] for k in range(self.config.theta_rows)]
        return np.array(rows).view(np.float32)

    def _step(self, agent, step):
        """First row of each map of a step, and how many it has."""
        config = self.config
        row = config.snapshots * config.theta_rows
        row += (agent * config.steps + step) * config.step_rows
        for count in config.map_rows[:-1]:
            yield row, count
            row += count

    def infer(self, snapshot, agents, step, screens):
        """Outputs, uint32 [agents, words]; ``screens``: uint8 [agents, bytes]."""
        config = self.config
        walk = Walk(config, self._snapshot(snapshot), len(agents))
        walk.put(0, self._inputs(screens.reshape(len(agents), -1, ROW_BYTES)))
        for plan in forward_passes(config):
            walk.execute(plan)
        if step < config.steps:
            for sample, agent in enumerate(agents):
                for number, (row, count) in enumerate(self._step(agent, step)):
                    begin = config.map_bases[number] + sample * count
                    for k in range(count):
                        self.local[row + k] = walk.features[begin + k].view(np.uint32)
        return walk.get(len(config.layers)).view(np.uint32)

    def _inputs(self, rows):
        return rows.view(np.float32) if self.config.binary32 else rows

    def train(self, snapshot, agent, errors, *constants):
        """``errors``: float32 [steps, words]; constants: rate, decay, gain, epsilon."""
        config, count = self.config, len(errors)
        walk = Walk(config, self._snapshot(snapshot), count)
        maps = [[] for _ in config.layers]
        for step in range(count):
            for number, (row, rows) in enumerate(self._step(agent, step)):
                maps[number].append(np.array([self.local[row + k] for k in range(rows)]))
        walk.put(0, self._inputs(np.array(maps[0]).view(np.uint8)))
        for number in range(1, len(maps)):
            walk.put(number, np.array(maps[number]).view(np.float32))
        walk.put(len(maps), errors.reshape(count, -1, ROW))
        for plan in training_passes(config):
            walk.execute(plan)
            if plan.kind is Kind.GC:
                self._update(plan.layer, walk.gradients, *constants)
                walk.gradients.clear()

    def _update(self, number, gradients, rate, decay, gain, epsilon):
        layer, base = self.config.layers[number], self.config.parameter_bases[number]
        for k, d in enumerate(gradients):
            group, row = divmod(k, layer.depth + 1)
            row += base + group * layer.group_rows
            moment = add(multiply(decay, self.squares[row]), multiply(gain, multiply(d, d)))
            self.squares[row] = moment
            step = multiply(rate, multiply(d, rsqrt(add(moment, epsilon))))
            self.theta[row] = add(self.theta[row], -step)

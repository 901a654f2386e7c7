"""Rows of a gradient between a compute unit and RMSProp: a row a clock in and out.

The queue holds a whole gradient, so a compute unit never waits for RMSProp. FA3C (4.2.3) has two
buffers instead, each for a part of the gradient.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_WIDTH
from hw.shell.command import round_up
from hw.stream.queue import Queue
from hw.stream.ram import style_of

__all__ = ["GradientQueue"]

#: Rows of an UltraRAM block.
_ULTRA_ROWS = 4096


class GradientQueue(wiring.Component):
    """Rows leave ``o`` in the order in which they entered ``i``.

    Parameters
    ----------
    config : Fa3cConfig

    Attributes
    ----------
    depth : int
        Rows that the queue holds: all rows of a gradient. If the memory is UltraRAM, the number is
        rounded up to whole blocks.

    Members
    -------
    i : In(stream.Signature(unsigned(512)))
        Rows from the compute unit.
    o : Out(stream.Signature(unsigned(512)))
        Rows to RMSProp.
    """

    def __init__(self, config):
        self.config, self.depth = config, self.depth_of(config)
        row = stream.Signature(unsigned(ROW_WIDTH))
        super().__init__({"i": In(row), "o": Out(row)})

    @staticmethod
    def depth_of(config):
        """``depth`` of a queue with this Fa3cConfig."""
        rows = sum(layer.gradient_rows for layer in config.layers)
        ultra = style_of(rows, config.ultra_ram) == "ultra"
        return round_up(rows, _ULTRA_ROWS) if ultra else rows

    def elaborate(self, platform):
        m = Module()
        style = style_of(self.depth, self.config.ultra_ram)
        m.submodules.queue = queue = Queue(unsigned(ROW_WIDTH), self.depth, style)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        return m

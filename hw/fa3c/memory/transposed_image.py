"""The transposed image of theta: FA3C's Alt2 (5.4), whose BW reads it and needs no transpose unit.

It takes a row a clock; a row of a patch leaves when all 16 of the patch have come.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.rows import ROW, ROW_BYTES, ROW_WIDTH
from hw.shell.ports import write_port
from hw.stream.transpose import Transpose

__all__ = ["TransposedImage"]


class TransposedImage(wiring.Component):
    """Writes rows of theta, patch by patch of 16 x 16 words transposed::

        image[patch][k][j] = theta[patch][j][k]

    The image has the patches of all layers but the first, in the order of theta, from row
    ``theta_rows`` of theta's buffer on.

    Parameters
    ----------
    config : Fa3cConfig
        Has ``transposed_rows``.

    Members
    -------
    take, update, layer : In
        ``take``, one clock, when all that was taken before is written: rows come. If ``update``,
        they are the weights of ``layer``, from 1 on, without biases and padding; otherwise the
        whole theta behind its first layer.
    theta : In(64)
        Byte address of theta.
    rows : In(stream.Signature(unsigned(512)))
        The rows.
    write : Out(write_port(512))
        A request for each group of ``layer``, or one for the whole image.
    """

    LATENCY = ROW - 1 + Transpose.LATENCY

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "take": In(1),
                "update": In(1),
                "layer": In(3),
                "theta": In(64),
                "rows": In(stream.Signature(unsigned(ROW_WIDTH))),
                "write": Out(write_port(ROW_WIDTH)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.walk = walk = RunWalk(1, config.theta_rows)
        m.submodules.transpose = transpose = Transpose(WIDTH, ROW)
        first, layers = config.layers[0].rows, config.layers
        tables = {
            "row": (config.parameter_bases, first),
            "step": ([layer.group_rows for layer in layers], 0),
            "beats": ([layer.depth for layer in layers], config.transposed_rows),
            "count": ([layer.groups for layer in layers], 1),
        }
        m.d.comb += [
            walk.runs.valid.eq(self.take),
            walk.runs.p.targets.eq(1),
            *(
                walk.runs.p[name].eq(Mux(self.update, Array(values)[self.layer], whole))
                for name, (values, whole) in tables.items()
            ),
            walk.bases[0].eq(self.theta + config.transposed_base * ROW_BYTES),
            transpose.i.payload.eq(self.rows.payload),
            transpose.i.valid.eq(self.rows.valid),
            self.rows.ready.eq(transpose.i.ready),
            self.write.data.payload.eq(transpose.o.payload),
            self.write.data.valid.eq(transpose.o.valid),
            transpose.o.ready.eq(self.write.data.ready),
            self.write.done.ready.eq(1),
        ]
        wiring.connect(m, walk.requests[0], wiring.flipped(self.write.request))
        return m

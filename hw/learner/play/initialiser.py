"""INIT: online and target from one image, moments of zeros, by three LOADs of the learner. ::

LOAD online -> LOAD target -> LOAD moments
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import set_bytes
from hw.shell.ports import read_port

__all__ = ["Initialiser"]

_WEIGHTS = tuple(1 << PARAMETER_SETS.index(name) for name in ("online", "target"))
_MOMENTS = (1 << len(PARAMETER_SETS)) - 1 - sum(_WEIGHTS)


class Initialiser(wiring.Component):
    """Does an INIT.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1), address : In(64)
        A pulse: begin. Byte address of the sections of one set.
    running : Out(1), done : Out(1)
        ``running``: from the clock after ``start`` to ``done``, a pulse: all sets are loaded,
        unless memory has failed.
    load : Out(1), sets : Out(4), busy : In(1)
        As in ``LearnerSignature``.
    image : Out(stream of beats)
        The words that are loaded.
    read : Out(read_port)
        The port to memory.
    """

    def __init__(self, config):
        self.config, width = config, config.engine.data_width
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                **dict.fromkeys(("running", "done", "load"), Out(1)),
                "sets": Out(len(PARAMETER_SETS)),
                "busy": In(1),
                "image": Out(stream.Signature(unsigned(width))),
                "read": Out(read_port(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        engine, asks, turn = self.config.engine, Signal(), Signal(2)
        zeros = turn == len(_WEIGHTS)
        m.d.comb += [
            self.read.request.p.address.eq(self.address),
            self.read.request.p.beats.eq(set_bytes(self.config.learner) // engine.beat_bytes),
            self.read.request.valid.eq(asks),
            self.image.payload.eq(Mux(zeros, 0, self.read.data.p.data)),
            self.image.valid.eq(zeros | self.read.data.valid),
            self.read.data.ready.eq(self.image.ready & ~zeros),
            self.sets.eq(Array([*_WEIGHTS, _MOMENTS])[turn]),
        ]
        with m.If(self.read.request.ready):
            m.d.sync += asks.eq(0)
        with m.FSM() as fsm:
            m.d.comb += self.running.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.sync += turn.eq(0)
                with m.If(self.start):
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += self.load.eq(1)
                m.d.sync += asks.eq(~zeros)
                m.next = "LOAD"
            with m.State("LOAD"):
                with m.If(~self.busy):
                    m.d.sync += turn.eq(turn + 1)
                    m.next = "BEGIN"
                    with m.If(zeros):
                        m.d.comb += self.done.eq(1)
                        m.next = "IDLE"
        return m

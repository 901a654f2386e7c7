"""INIT: the target from the online parameters, moments of zeros, by the learner's STORE and LOAD.

The online set goes to results, and comes back from there as the target. ::

    STORE online -> LOAD target -> LOAD moments
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import set_bytes
from hw.shell.ports import read_port

__all__ = ["Initialiser"]

_ONLINE, _TARGET = (1 << PARAMETER_SETS.index(name) for name in ("online", "target"))


class Initialiser(wiring.Component):
    """Does an INIT.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1), address : In(64)
        A pulse: begin. Byte address of the online set in results.
    replied : In(1)
        Memory has the online set.
    running : Out(1), storing : Out(1)
        From the clock after ``start`` to ``done``; while the online set is stored.
    done : Out(1)
        A pulse: all sets are loaded, unless memory has failed.
    load, store : Out(1), sets : Out(4), busy : In(1)
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
                "replied": In(1),
                **dict.fromkeys(("running", "storing", "done", "load", "store"), Out(1)),
                "sets": Out(len(PARAMETER_SETS)),
                "busy": In(1),
                "image": Out(stream.Signature(unsigned(width))),
                "read": Out(read_port(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        engine, asked, zeros = self.config.engine, Signal(), Signal()
        m.d.comb += [
            self.read.request.p.address.eq(self.address),
            self.read.request.p.beats.eq(set_bytes(self.config.learner) // engine.beat_bytes),
            self.image.payload.eq(Mux(zeros, 0, self.read.data.p.data)),
            self.image.valid.eq(zeros | self.read.data.valid),
            self.read.data.ready.eq(self.image.ready & ~zeros),
        ]
        with m.FSM() as fsm:
            m.d.comb += [
                self.running.eq(~fsm.ongoing("IDLE")),
                self.storing.eq(fsm.ongoing("STORE") | fsm.ongoing("STORED")),
                zeros.eq(fsm.ongoing("ZEROS")),
            ]
            with m.State("IDLE"):
                with m.If(self.start):
                    m.next = "STORE"
            with m.State("STORE"):
                m.d.comb += [self.sets.eq(_ONLINE), self.store.eq(1)]
                m.next = "STORED"
            with m.State("STORED"):
                with m.If(self.replied & ~self.busy):
                    m.next = "TARGET"
            with m.State("TARGET"):
                m.d.comb += [self.sets.eq(_TARGET), self.load.eq(1)]
                m.d.sync += asked.eq(0)
                m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += self.read.request.valid.eq(~asked)
                with m.If(self.read.request.ready):
                    m.d.sync += asked.eq(1)
                with m.If(~self.busy):
                    m.next = "MOMENTS"
            with m.State("MOMENTS"):
                every = (1 << len(PARAMETER_SETS)) - 1
                m.d.comb += [self.sets.eq(every & ~(_ONLINE | _TARGET)), self.load.eq(1)]
                m.next = "ZEROS"
            with m.State("ZEROS"):
                with m.If(~self.busy):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m

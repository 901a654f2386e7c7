"""Multiply-accumulate of binary32 numbers: interval 1, latency 11. Two DSP blocks."""

from amaranth import *

from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import WIDTH
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.unit import Float32Config, Float32Unit

__all__ = ["Float32MultiplyAccumulate"]


class Float32MultiplyAccumulate(Float32Unit):
    """``result = round(round(a * b) + c)``: two roundings, not fused, as NumPy's ``a * b + c``.

    ``Float32Multiply`` with ``c`` beside the product, then ``Float32Add``; each flushes, see
    ``format``.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({a: 32, b: 32, c: 32, tag}))
    o : Out(stream.Signature({result: 32, tag}))
    """

    OPERANDS = ("a", "b", "c")
    LATENCY = Float32Multiply.LATENCY + Float32Add.LATENCY
    DSP = Float32Multiply.DSP + Float32Add.DSP

    def elaborate(self, platform):
        m = Module()
        tag_width = self.config.tag_width
        beside = Float32Config(tag_width=WIDTH + tag_width)
        m.submodules.multiply = multiply = Float32Multiply(beside)
        m.submodules.add = add = Float32Add(self.config)
        m.d.comb += [
            multiply.i.valid.eq(self.i.valid),
            self.i.ready.eq(multiply.i.ready),
            multiply.i.p.a.eq(self.i.p.a),
            multiply.i.p.b.eq(self.i.p.b),
            multiply.i.p.tag.eq(Cat(self.i.p.c, self.i.p.tag)),
            add.i.valid.eq(multiply.o.valid),
            multiply.o.ready.eq(add.i.ready),
            add.i.p.a.eq(multiply.o.p.result),
            Cat(add.i.p.b, add.i.p.tag).eq(multiply.o.p.tag),
            self.o.valid.eq(add.o.valid),
            add.o.ready.eq(self.o.ready),
            self.o.p.result.eq(add.o.p.result),
            self.o.p.tag.eq(add.o.p.tag),
        ]
        return m

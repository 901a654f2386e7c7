"""The actions of an ACT: the actor's tanh with exploration noise, observation by observation.

A number every three clocks, as the noise comes.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import SQ
from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import BIAS, FIELDS
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.unit import Float32Config
from hw.arith.noise import NOISE_FORMAT, Noise
from hw.arith.to_float import ToFloat, ToFloatConfig
from hw.comparison import below
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.learner.network.outputs import pack_numbers
from hw.learner.records import WORDS, action_granules
from hw.shared import SharedModule
from hw.stream.pack import Pack
from hw.stream.ready_register import ReadyRegister

__all__ = ["Actions", "action_format", "read_layout"]


def action_format(config):
    """The format of an action in its cell."""
    fraction = config.arithmetic.tanh_format.fraction
    return SQ(CODE_WIDTH - fraction, fraction)


_ONE = BIAS << FIELDS["exponent"].offset


def read_layout(config):
    """The address of a word in the memories of actions, of the policy's actions: the ``core``; the
    sample, or pair of samples, ``t`` of this core; the ``tile``, which word of a sample it is."""
    return data.StructLayout(
        {
            "core": range(config.cores),
            "t": range(max(2, config.samples)),  # so that there is a port
            "tile": range(config.networks["actor"][-1].output_tiles),
        }
    )


class Actions(wiring.Component):
    """``clip(action + noise * g, -1, 1)`` in binary32, g the numbers of ``Noise`` in order.

    If ``o`` never waits, the last beat comes ``interval * count + LATENCY`` clocks after ``start``.

    Parameters
    ----------
    config : FixarConfig
    data_width : int
        Bits of a beat.

    Attributes
    ----------
    interval : int
        Clocks of an observation: three for each action, and one for each zero that pads them.

    Members
    -------
    start : In(1), count : In
        ``start``: send the actions of ``count`` observations, at least one, whose cells have been
        written. Not while ``busy``.
    half : In(1), noise : In(32), seed : In(64)
        ``half``: the precision of the cells; in half precision an action is in its sample's half of
        a cell, else in the lower half. ``noise``: standard deviation, binary32. Both, and
        ``count``, are steady from ``start`` until ``busy`` falls; ``seed`` is read with ``start``.
    read : Out(read_layout(config)), word : In
        The cells of a word, two clocks after ``read``.
    o : Out(stream.Signature(data_width))
        Each observation's actions, rounded up to granules; without gaps, zeros after the last.
    busy : Out(1)
        High from the clock after ``start`` until the last beat is taken.
    """

    # To the first number of the generator; through the units of ``_noisy``, and into a beat. The
    # first number's own interval is among ``interval * count``.
    LATENCY = (
        Noise.LATENCY
        + 2 * ToFloat.LATENCY
        + Float32Multiply.LATENCY
        + Float32Add.LATENCY
        + Pack.LATENCY
        - Noise.INTERVAL
    )

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        self.numbers = WORDS * action_granules(config)
        self.interval = self.interval_of(config)
        super().__init__(
            {
                "start": In(1),
                "count": In(range(config.batch + 1)),
                "half": In(1),
                "noise": In(32),
                "seed": In(64),
                "read": Out(read_layout(config)),
                "word": In(data.ArrayLayout(CELL_WIDTH, config.side)),
                "o": Out(stream.Signature(unsigned(data_width))),
                "busy": Out(1),
            }
        )

    @staticmethod
    def interval_of(config):
        """Clocks of an observation."""
        return Noise.INTERVAL * config.action + WORDS * action_granules(config) - config.action

    def elaborate(self, platform):
        m = Module()
        config = self.config
        left, place = Signal.like(self.count), Signal(range(self.numbers))
        core, sample = Signal(range(config.cores)), Signal(range(max(2, config.samples)))
        step, inside, ends, last = Signal(), Signal(), Signal(), Signal()
        lanes = (config.side - 1).bit_length()
        m.d.comb += [
            inside.eq(below(place, config.action)),
            ends.eq(place == self.numbers - 1),
            last.eq(ends & (left == 1)),
            self.read.core.eq(core),
            self.read.t.eq(Mux(self.half, sample >> 1, sample)),
            self.read.tile.eq(place[lanes:]),
        ]
        with m.If(step):
            m.d.sync += place.eq(Mux(ends, 0, place + 1))
            with m.If(ends):
                wraps = core == config.cores - 1
                m.d.sync += [
                    left.eq(left - 1),
                    core.eq(Mux(wraps, 0, core + 1)),
                    sample.eq(sample + wraps),
                ]
        with m.If(self.start):
            m.d.sync += [left.eq(self.count), core.eq(0), sample.eq(0)]

        # Two clocks after the walk moved, the memory has the action.
        here = Signal(2)
        m.d.sync += here.eq(Mux(step | self.start, 0, Cat(C(1, 1), here[0])))
        code = Signal(CODE_WIDTH)
        cell = self.word[place[:lanes]]
        m.d.comb += code.eq(cell.word_select(self.half & sample[0], CODE_WIDTH))

        m.submodules.random = random = Noise()
        item = stream.Signature(
            data.StructLayout({"g": NOISE_FORMAT.shape, "code": CODE_WIDTH, "flags": 2})
        ).create()
        go = Signal()
        m.d.comb += [
            random.load.eq(self.start),
            random.seed.eq(self.seed),
            go.eq((left != 0) & (~inside | here[1])),
            item.valid.eq(go & (~inside | random.o.valid)),
            item.p.g.eq(random.o.payload),
            item.p.code.eq(code),
            item.p.flags.eq(Cat(inside, last)),
            step.eq(item.valid & item.ready),
            random.o.ready.eq(go & inside & item.ready),
        ]
        pack = self._noisy(m, item)
        with m.If(self.start):
            m.d.sync += self.busy.eq(1)
        with m.Elif(self.o.valid & self.o.ready & pack.o.p.last):
            m.d.sync += self.busy.eq(0)
        return m

    def _noisy(self, m, item):
        """Adds the noise to actions, and sends them one number after the other."""
        flags = len(item.p.flags)
        units = {
            "noise_to_float": (
                ToFloat,
                ToFloatConfig(source=NOISE_FORMAT, tag_width=CODE_WIDTH + flags),
            ),
            "multiply": (Float32Multiply, Float32Config(tag_width=CODE_WIDTH + flags)),
            "to_float": (
                ToFloat,
                ToFloatConfig(source=action_format(self.config), tag_width=32 + flags),
            ),
            "add": (Float32Add, Float32Config(tag_width=flags)),
        }
        chain = [SharedModule(cls, config) for cls, config in units.values()]
        for name, unit in zip(units, chain, strict=True):
            m.submodules[name] = unit
        steps, scaled, action, total = chain
        pack = pack_numbers(m, self.o)
        # Each unit's ready needs the next one's: the two registers cut this path into three.
        m.submodules.steps_out = steps_out = ReadyRegister(steps.o.payload.shape())
        m.submodules.numbers = numbers = ReadyRegister(data.StructLayout({"number": 32, "last": 1}))
        passed = (steps, steps_out, scaled, action, total, numbers)
        for source, sink in zip((item, *(u.o for u in passed)), (*passed, pack), strict=True):
            m.d.comb += [sink.i.valid.eq(source.valid), source.ready.eq(sink.i.ready)]
        result = data.View(FIELDS, total.o.p.result)
        beyond = Signal()
        m.d.comb += [
            steps.i.p.raw.eq(item.p.g),
            steps.i.p.tag.eq(Cat(item.p.flags, item.p.code)),
            scaled.i.p.a.eq(self.noise),
            steps_out.i.payload.eq(steps.o.payload),
            scaled.i.p.b.eq(steps_out.o.p.result),
            scaled.i.p.tag.eq(steps_out.o.p.tag),
            action.i.p.raw.eq(scaled.o.p.tag[flags:].as_signed()),
            action.i.p.tag.eq(Cat(scaled.o.p.tag[:flags], scaled.o.p.result)),
            total.i.p.a.eq(action.o.p.result),
            total.i.p.b.eq(action.o.p.tag[flags:]),
            total.i.p.tag.eq(action.o.p.tag[:flags]),
            beyond.eq(result.exponent >= BIAS),
            numbers.i.p.last.eq(total.o.p.tag[1]),
            pack.i.p.data.eq(numbers.o.p.number),
            pack.i.p.last.eq(numbers.o.p.last),
        ]
        number = Cat(Mux(beyond, _ONE, total.o.p.result[:-1]), result.sign)
        m.d.comb += numbers.i.p.number.eq(Mux(total.o.p.tag[0], number, 0))
        return pack

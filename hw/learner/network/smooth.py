"""Target policy smoothing (TD3): noise on the actions of a target network, on their way to critics.

Actions pass a word a clock, ``latency_of`` clocks later. The noise of a super-sample comes in
``interval_of`` clocks, ahead of its actions.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import EXPONENT_MAX, PRECISION
from hw.arith.noise import NOISE_FORMAT, Noise
from hw.arith.to_float import ToFloat, to_float
from hw.estimate import times, together
from hw.learner.block.ports import word_layout
from hw.stream import estimate as stream
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["Smooth"]

_FLOAT = Binary32()
_ONE, _INFINITY = 0x3F80_0000, EXPONENT_MAX << (PRECISION - 1)


class Smooth(wiring.Component):
    """Adds clipped noise to actions, ``clip(a + clip(deviation * g, -clip, clip), -1, 1)``, on the
    data paths that are smoothed; others pass unchanged, in as many clocks (Fujimoto et al.,
    Addressing Function Approximation Error in Actor-Critic Methods, 2018, equation 14).

    ``Noise`` draws the numbers g from ``seed``, sample by sample, and action by action. The product
    and its clip are binary32, quantized once to the format of activations; the sum is rounded in
    binary32 and exact in fixed point. A NaN stays one.

    All noise of a batch lies in a memory, so the generator never waits: the noise of a super-sample
    is complete a fixed number of clocks after ``start``.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
        The layer with these outputs.
    paths : int
        Its data paths.

    Members
    -------
    start : In(1), samples : In
        ``start``, a pulse: a batch of ``samples`` super-samples begins, in a sweep with smoothed
        paths.
    seed : In(64), deviation, clip : In(32)
        Of the noise: its seed, its standard deviation and its largest magnitude, both binary32 and
        at least 0. Steady from ``start`` until the last action has left.
    smoothed : In(paths)
        Bit p: path p is smoothed. Steady while actions are on their way.
    begun : In(1), room : Out(1)
        ``begun``, a pulse: the layer begins a super-sample. ``room``: its noise is complete, or
        no path is smoothed.
    i : In(word_layout), o : Out(word_layout)
        Words of actions, [paths][lanes][output_word].
    """

    def __init__(self, config, shape, paths):
        self.config, self.shape, self.paths = config, shape, paths
        number = config.arithmetic.shape("activation")
        word = word_layout(number, shape.output_words, paths, config.lanes, shape.output_word)
        super().__init__(
            {
                "start": In(1),
                "samples": In(range(config.batch // config.lanes + 1)),
                "seed": In(64),
                "deviation": In(32),
                "clip": In(32),
                "smoothed": In(paths),
                "begun": In(1),
                "room": Out(1),
                "i": In(word),
                "o": Out(word),
            }
        )

    @staticmethod
    def latency_of(arithmetic):
        """Clocks of a word: to its noise, to the sum, to the clip."""
        return 1 + arithmetic.add_latency + 1

    @staticmethod
    def interval_of(lanes, outputs):
        """Clocks from the noise of a super-sample to the noise of the next."""
        return Noise.INTERVAL * lanes * outputs

    @classmethod
    def ready_of(cls, arithmetic, lanes, outputs):
        """Clocks from ``start`` to ``room`` for the first super-sample."""
        later = cls.interval_of(lanes, outputs) - Noise.INTERVAL
        return Noise.LATENCY + cls._scaled_latency(arithmetic) + later + 1

    @staticmethod
    def _scaled_latency(arithmetic):
        """Clocks from a number of ``Noise`` to the noise in an activation's format."""
        return ToFloat.LATENCY + _FLOAT.multiply_latency + 1 + arithmetic.quantize_latency

    @classmethod
    def estimate(cls, config, shape, paths):
        """Resources with these parameters."""
        arithmetic, lanes = config.arithmetic, config.lanes
        width = Shape.cast(arithmetic.shape("activation")).width
        depth, numbers = cls._depth(config, shape), paths * lanes * shape.output_word
        memory = Ram.estimate(shape.output_word * width, depth, style_of(depth))
        return together(
            [
                area("arith.noise"),
                area("arith.to_float", width=max(NOISE_FORMAT.width, PRECISION + 2)),
                area("arith.float32.multiply"),
                arith.quantize(arithmetic, "activation"),
                times(lanes, memory),
                times(
                    numbers,
                    arith.add(arithmetic, width + 1),
                    stream.delay(width, arithmetic.add_latency),
                ),
                area("learner.network.smooth", bits=numbers * width),
            ]
        )

    @staticmethod
    def _depth(config, shape):
        """Words of noise of a batch, for each lane."""
        return config.batch // config.lanes * shape.output_words

    def elaborate(self, platform):
        m = Module()
        config, shape, lanes = self.config, self.shape, self.config.lanes
        row = Signal(range(self._depth(config, shape)), name="read_row")
        rams, stored = self._stored(m, *self._noise(m))
        waiting = Signal(range(config.batch // lanes + 1))  # stored and not begun
        m.d.comb += self.room.eq((waiting != 0) | (self.smoothed == 0))
        m.d.sync += waiting.eq(waiting + stored - (self.begun & self.smoothed.any()))
        reads = self.i.valid & self.smoothed.any()
        with m.If(reads):
            m.d.sync += row.eq(row + 1)
        with m.If(self.start):
            m.d.sync += [row.eq(0), waiting.eq(0)]

        latency = self.latency_of(config.arithmetic)
        m.d.comb += [
            self.o.valid.eq(delay(m, self.i.valid, latency, name="valid", reset=True)),
            self.o.index.eq(delay(m, self.i.index, latency, name="index")),
        ]
        for lane, ram in enumerate(rams):
            m.d.comb += [ram.read_enable.eq(reads), ram.read_address.eq(row)]
            for path in range(self.paths):
                for place in range(shape.output_word):
                    noise = self._part(ram.read_data, place)
                    action = self.i.value[path][lane][place]
                    name = f"{path}_{lane}_{place}"
                    action = delay(m, action, 1, name=f"action_{name}")
                    smooth = self._smooth(m, action, noise, self.smoothed[path], name)
                    m.d.comb += self.o.value[path][lane][place].eq(smooth)
        return m

    def _part(self, word, place):
        """The number at ``place`` of a lane's word of noise."""
        shape = Shape.cast(self.config.arithmetic.shape("activation"))
        part = word.word_select(place, shape.width)
        return part.as_signed() if shape.signed else part

    def _noise(self, m):
        """``(valid, number)``: the noise of one action after the other, as activations."""
        config, arithmetic = self.config, self.config.arithmetic
        count = config.batch * self.shape.outputs
        left = Signal(range(count + 1))  # numbers of the batch that are not drawn
        m.submodules.random = random = Noise()
        takes, latency = Signal(), self._scaled_latency(arithmetic)
        m.d.comb += [
            random.load.eq(self.start),
            random.seed.eq(self.seed),
            random.o.ready.eq(left != 0),
            takes.eq(random.o.valid & random.o.ready),
        ]
        with m.If(takes):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            m.d.sync += left.eq(self.samples * (config.lanes * self.shape.outputs))
        g = to_float(m, random.o.payload, NOISE_FORMAT.fraction, name="g")
        noise = _FLOAT.multiply(m, g, self.deviation, name="noise")
        clipped = Signal(32, reset_less=True)
        beyond = noise[:-1] > self.clip[:-1]
        m.d.sync += clipped.eq(Mux(beyond, Cat(self.clip[:-1], noise[-1]), noise))
        number, _ = arithmetic.quantize(m, clipped, kind="activation", name="number")
        return delay(m, takes, latency, name="drawn", reset=True), number

    def _stored(self, m, valid, number):
        """``(memories, stored)``: a memory of words of noise for each lane, and a pulse when that
        of a super-sample is in them."""
        config, shape, lanes = self.config, self.shape, self.config.lanes
        width, together = Shape.cast(number.shape()).width, shape.output_word
        depth = self._depth(config, shape)
        place, word = Signal(range(together)), Signal(range(shape.output_words))
        lane, base = Signal(range(lanes)), Signal(range(depth))
        last, whole = Signal(), Signal()
        before = Signal(max(1, (together - 1) * width), reset_less=True)  # numbers of this word
        filled = shape.output_words_filled()[-1]
        ends = word == shape.output_words - 1
        value = Signal(together * width)
        m.d.comb += [
            last.eq(place == Mux(ends, filled - 1, together - 1)),
            whole.eq(valid & last & ends & (lane == lanes - 1)),
        ]
        # The numbers of a word come one by one; the latest is in none of the registers.
        registers = [before.word_select(k, width) for k in range(together - 1)]
        for k in range(together):
            kept = Mux(place == k, number, registers[k]) if k < together - 1 else number
            m.d.comb += value.word_select(k, width).eq(kept)
        with m.If(valid):
            for k, register in enumerate(registers):
                with m.If(place == k):
                    m.d.sync += register.eq(number)
            m.d.sync += place.eq(Mux(last, 0, place + 1))
            with m.If(last):
                m.d.sync += word.eq(Mux(ends, 0, word + 1))
            with m.If(last & ends):
                m.d.sync += lane.eq(Mux(lane == lanes - 1, 0, lane + 1))
        with m.If(whole):
            m.d.sync += base.eq(base + shape.output_words)
        with m.If(self.start):
            m.d.sync += base.eq(0)
        rams = []
        for k in range(lanes):
            ram = Ram(width=together * width, depth=depth, style=style_of(depth))
            m.submodules[f"lane_{k}"] = ram
            m.d.comb += [
                ram.write_enable.eq(valid & last & (lane == k)),
                ram.write_address.eq(base + word),
                ram.write_data.eq(value),
            ]
            rams.append(ram)
        return rams, whole

    def _smooth(self, m, action, noise, smoothed, name):
        """The action with its noise, ``latency_of`` clocks less one after the noise; not
        ``smoothed``, the action."""
        arithmetic = self.config.arithmetic
        total = arithmetic.add(m, action, noise, name=f"sum_{name}")
        late = delay(m, action, arithmetic.add_latency, name=f"late_{name}")
        result = Signal(action.shape(), name=f"smooth_{name}", reset_less=True)
        if arithmetic.saturates:
            one, target = 1 << arithmetic.activation.fraction, arithmetic.activation
            high, low = min(one, target.high), max(-one, target.low)
            clipped = Mux(total > high, high, Mux(total < low, low, total))
        else:
            beyond = (total[:-1] > _ONE) & (total[:-1] <= _INFINITY)
            clipped = Mux(beyond, Cat(Const(_ONE, 31), total[-1]), total)
        m.d.sync += result.eq(Mux(smoothed, clipped, late))
        return result

"""Experiences on their way from the batch memory into the cores' cells, four numbers a clock.

The memory is read beat by beat in the order of ``frame_steps``. The numbers are quantized, and in
half precision become codes. Words of the frame leave when they are complete. Nothing stalls: the
words of one experience are written while the next one is read.
"""

import operator

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.quantize import Quantize, quantize
from hw.fixar.batch.frame import FIELDS, QUAD
from hw.fixar.batch.intake_walk import IntakeWalk
from hw.fixar.config import CELL_WIDTH, MOST_CUT
from hw.fixar.numbers.encode import ENCODE_LATENCY, encode
from hw.fixar.precision import shift_limits
from hw.learner.records import record_words
from hw.learner.samples.batch_memory import BatchMemory
from hw.replay.config import GRANULE_WIDTH
from hw.stream.delay import delay

__all__ = ["Intake", "write_layout"]

# Clocks from an address to the numbers at it, to what they are in fixed point, and to cells.
_NUMBERS = 3
_RAW = _NUMBERS + Quantize.LATENCY
_CELL = _RAW + ENCODE_LATENCY


def write_layout(config):
    """A word that is written to a core's memories, in the clock of ``valid``.

    acts : the word goes to the action's cells, as ``Version.REPLAYED``; else to the X cells.
    next : the word is of s', else of s.
    word : its number in the frame, whose first words are the actions.
    t, halves : where in the core: the cell of a sample, and which halves of all numbers in it.
    data : the cells; a code is in both halves.
    """
    frame = config.networks["actor"][0].input_tiles
    return data.StructLayout(
        {
            "valid": 1,
            "acts": 1,
            "next": 1,
            "word": range(frame),
            "t": range(config.samples),
            "halves": 2,
            "data": data.ArrayLayout(CELL_WIDTH, config.side),
        }
    )


class Intake(wiring.Component):
    """Writes samples to cells. Sample b of the batch goes to core ``b mod cores`` as its number ``j
    = b // cores``: in half precision to half ``j mod 2`` of the cells of ``t = j // 2``, else to
    the whole cells of ``t = j``.

        raw = quantize(number, activation)
        code = clip(floor(raw * 2^-shift + 1/2))        (half precision; 16 bits, signed)

    ``done`` comes ``steps * batch + LATENCY`` clocks after ``start``; ``acting_steps`` instead of
    ``steps`` while acting. ``activation`` is the format of activations in full precision.

    Parameters
    ----------
    config : FixarConfig
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1), batch : In
        ``start``, one clock: read ``batch`` experiences, at least one. Not before ``done`` of the
        batch before.
    acting : In(1), half : In(1), shift : In, cut : In(8)
        ``acting``: the batch holds observations alone, which become s. ``half``, ``shift``,
        ``cut``: precision and shift of the frame, and a one for each lowest bit of its codes that
        is 0. All, and ``batch``, are steady from ``start`` to ``done``.
    address : Out, beat : In(data_width)
        An address of the batch memory, and the beat of that word one clock later.
    write : Out(write_layout(config)).array(cores)
        A word of the frame for the cells of each core.
    done : Out(1)
        One clock: everything is written; ``low``, ``high`` and ``saturations`` are valid until the
        next ``start``.
    low, high : Out(signed)
        Lowest and highest ``raw`` of the batch; while acting ``low`` is the format's highest
        number, and ``high`` its lowest.
    saturations : Out
        How many numbers and codes of the batch were clipped; 0 while acting.
    """

    # Until the address is out, until the cells are there; the word, and the sum of the clipped.
    LATENCY = 1 + _CELL + 2

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        self._depth = BatchMemory.depth_of(config, data_width)
        self._walk = IntakeWalk(config, self._depth // QUAD)
        self.steps, self.acting_steps = self._walk.steps, self._walk.acting_steps
        numbers = sum(record_words(config)[name][1] for name in FIELDS)
        raw = config.arithmetic.activation.shape
        super().__init__(
            {
                "start": In(1),
                "batch": In(range(config.batch + 1)),
                "acting": In(1),
                "half": In(1),
                "shift": In(range(shift_limits(config)[0] + 1)),
                "cut": In(MOST_CUT),
                "address": Out(range(self._depth)),
                "beat": In(data_width),
                "write": Out(write_layout(config)).array(config.cores),
                "done": Out(1),
                "low": Out(raw),
                "high": Out(raw),
                "saturations": Out(range(2 * config.batch * numbers + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.walk = walk = self._walk
        m.d.comb += [
            *(getattr(walk, k).eq(getattr(self, k)) for k in ("start", "batch", "acting", "half")),
            self.address.eq(walk.granule << (QUAD.bit_length() - 1)),
        ]
        step, place, valid = walk.step, walk.place, walk.valid
        numbers = self._numbers(m)

        # To fixed point, and to a cell. A lane that is not used has 0, which nothing clips.
        raw, wide, cells, codes = [], [], [], []
        for k, number in enumerate(numbers):
            value, clipped = quantize(m, number, self.config.arithmetic.activation, name=f"raw_{k}")
            cell, beyond = encode(m, value, self.half, self.shift, self.cut, name=f"cell_{k}")
            raw.append(value), wide.append(clipped), cells.append(cell), codes.append(beyond)
        self._range(m, delay(m, step.used, _RAW, name="used"), raw)
        valid = delay(m, valid, _CELL, name="cell_valid", reset=True)
        step = delay(m, step, _CELL, name="cell_step")
        self._assemble(m, valid, step, delay(m, place, _CELL, name="cell_place"), cells)

        flags = Cat(delay(m, Cat(wide), ENCODE_LATENCY, name="wide"), codes)
        count = Signal(range(len(flags) + 1), reset_less=True)
        m.d.sync += [
            count.eq(sum((flag for flag in flags), Const(0, 1))),
            self.saturations.eq(self.saturations + count),
        ]
        with m.If(self.start | self.acting):
            m.d.sync += self.saturations.eq(0)
        m.d.comb += self.done.eq(delay(m, walk.last, self.LATENCY - 1, name="done", reset=True))
        return m

    def _numbers(self, m):
        """The numbers of a step for each lane, ``_NUMBERS`` clocks after its address."""
        walk = self._walk
        parts = (self.data_width // GRANULE_WIDTH).bit_length() - 1
        part = delay(m, walk.granule[:parts], 1, name="part")
        step = delay(m, walk.step, _NUMBERS - 1, name="numbers_step")
        new, old = (Signal(GRANULE_WIDTH, name=name, reset_less=True) for name in ("new", "old"))
        # A step that stays at its granule needs nothing of the one before: all that was taken.
        m.d.sync += [new.eq(self.beat.word_select(part, GRANULE_WIDTH)), old.eq(new)]
        either = Array(
            Mux(step.old[k], old.word_select(k, 32), new.word_select(k, 32)) for k in range(QUAD)
        )
        numbers = Signal(data.ArrayLayout(32, QUAD), reset_less=True)
        for lane in range(QUAD):
            number = either[step.place[lane]]
            m.d.sync += numbers[lane].eq(Mux(step.used[lane], number, 0))
        return numbers

    def _assemble(self, m, valid, step, place, cells):
        """Collects words until their last number comes; then they go to the sample's core."""
        side = self.config.side
        layout = write_layout(self.config)
        word = Signal(data.ArrayLayout(CELL_WIDTH, side))
        out = Signal(layout, reset_less=True)
        for feature in range(side):
            slot, lane = divmod(feature, QUAD)
            cell, mine = word[feature], Signal(CELL_WIDTH, name=f"mine_{feature}")
            used, head = step.used[lane], step.head[lane]
            tail = used & ~head & (step.slot == slot)
            m.d.comb += mine.eq(Mux(tail, cells[lane], cell))
            with m.If(valid):
                begun = Mux(used & head & (step.head_slot == slot), cells[lane], 0)
                m.d.sync += cell.eq(Mux(step.closes, begun, mine))
            m.d.sync += out.data[feature].eq(mine)
        m.d.sync += [
            out.acts.eq(step.acts),
            out.next.eq(step.next),
            out.word.eq(step.word),
            out.t.eq(place.t),
            out.halves.eq(place.halves),
        ]
        closed = Signal(self.config.cores)
        m.d.sync += closed.eq(Mux(valid & step.closes, place.core, 0))
        for write, core in zip(self.write, closed, strict=True):
            m.d.comb += [write.eq(out), write.valid.eq(core)]

    def _range(self, m, used, raw):
        """Lowest and highest number, in two stages and then of all lanes; without a number, the
        opposite limit."""
        number = self.config.arithmetic.activation
        for name, empty, better in (
            ("low", number.high, operator.lt),
            ("high", number.low, operator.gt),
        ):
            values = [Mux(bit, x, empty) for bit, x in zip(used, raw, strict=True)]
            for stage in range(2):
                pairs, values = list(zip(values[::2], values[1::2], strict=True)), []
                for k, (a, b) in enumerate(pairs):
                    best = Signal(number.shape, name=f"{name}_{stage}_{k}", reset_less=True)
                    m.d.sync += best.eq(Mux(better(a, b), a, b))
                    values.append(best)
            so_far = getattr(self, name)
            with m.If(self.start):
                m.d.sync += so_far.eq(empty)
            with m.Elif(~self.acting & better(values[0], so_far)):
                m.d.sync += so_far.eq(values[0])

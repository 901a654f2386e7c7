"""From sums of products to numbers and to cells: round, clip, relu or mask, then the codes.

Free-running, a word a clock: numbers after 4 clocks, cells after 8.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.config import CELL_WIDTH, CODE_WIDTH, MOST_CUT
from hw.fixar.numbers.rounding import LARGEST_SHIFT, Rounding
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["RoundAndEncode", "round_and_encode_layout"]

#: Lanes whose clipped numbers are counted in one clock.
_COUNTED = 4

_CODE = Rounding(CODE_WIDTH - 1, 1, MOST_CUT)
_CODE_BITS = CELL_WIDTH + 1  # a code's shift begins at the number's lowest bit: one below it


def round_and_encode_layout(side, width):
    """The input of ``RoundAndEncode``; the fields are described there."""
    return data.StructLayout(
        {
            "valid": 1,
            "pair": 1,
            "shift": range(LARGEST_SHIFT + 1),
            "error": 1,
            "relu": 1,
            "half": 1,
            "code_shift": range(LARGEST_SHIFT + 1),
            "code_signed": 1,
            "code_cut": MOST_CUT,
            "keep": 2,
            "mask": data.ArrayLayout(2, side),
            "word": data.ArrayLayout(2 * width, side),
        }
    )


def _number(arithmetic):
    """Rounding to activations of 32 bits, or to the narrower errors."""
    low = arithmetic.gradient.width - 1
    return Rounding(low, CELL_WIDTH - 1 - low)


def _bits(width, arithmetic):
    """``(begin, end)``: the bits of a sum that are shifted and rounded; for a pair, up to its last
    bit."""
    begin = arithmetic.operand.fraction - 1 - LARGEST_SHIFT
    return begin, max(begin + LARGEST_SHIFT + CELL_WIDTH + 1, width)


class RoundAndEncode(wiring.Component):
    """``r = clip(floor(v * 2**(shift - fraction) + 1/2))`` for each sum v of a word, with the
    operands' ``fraction``.

    Rounds sums to numbers and encodes them. With ``relu`` the number is ``max(r, 0)``; if the mask
    is 0, it is 0. In half precision its code is ``clip(floor(number * 2**-code_shift + 1/2))`` in
    16 bits.

    Parameters
    ----------
    side : int
        Lanes.
    width : int
        A word's half: a lane has one sum of ``2 * width`` bits, or with ``pair`` two of ``width``.
    arithmetic : DualPrecision

    Members
    -------
    i : In(round_and_encode_layout(side, width))
        valid, word : a word comes, with the sums of each lane.
        pair : a lane has two sums, of two samples; else one sum, of one sample.
        shift : 0 to 16, of the streamed operand's codes; 0 without ``pair``. With ``error``
        (the result is one, else an activation) no more than an error's width less 16.
        relu : negative numbers become 0.
        half : cells are codes, of both samples; else they are the first sample's number.
        code_shift, code_signed : of the codes; those without a sign are of numbers that have none.
        code_cut : a one for each of a code's lowest bits that are 0; the code is rounded half up to
        the bit above them.
        keep : which samples exist, for ``saturated``; the second only with ``pair``.
        mask : for each lane, a bit for each sample; if it is 0, the number is 0.
    value : Out({valid, number: [side] of two signed(32)})
        The numbers, after ``VALUE_LATENCY`` clocks; the second sample's is undefined without
        ``pair``.
    cell : Out({valid, word: [side] of 32 bits})
        The cells, after ``LATENCY`` clocks.
    saturated : Out
        Numbers and codes that were clipped, of the word of ``COUNT_LATENCY`` clocks ago; a number
        that ``relu`` or the mask cleared counts too.
    """

    VALUE_LATENCY = Rounding.LATENCY
    LATENCY = 2 * Rounding.LATENCY
    COUNT_LATENCY = LATENCY + 1

    def __init__(self, side, width, arithmetic):
        self.side, self.width, self.arithmetic = side, width, arithmetic
        numbers = data.ArrayLayout(data.ArrayLayout(signed(CELL_WIDTH), 2), side)
        cells = data.ArrayLayout(CELL_WIDTH, side)
        super().__init__(
            {
                "i": In(round_and_encode_layout(side, width)),
                "value": Out(data.StructLayout({"valid": 1, "number": numbers})),
                "cell": Out(data.StructLayout({"valid": 1, "word": cells})),
                "saturated": Out(range(4 * side + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, number = self.i, _number(self.arithmetic)
        # x begins with the bit that is rounded away at the largest shift of the operand.
        begin, end = _bits(self.width, self.arithmetic)
        right = LARGEST_SHIFT - i.shift
        number_stages = number.controls(m, end - begin, right, i.error, name="number")
        late = {
            name: delay(m, getattr(i, name), self.VALUE_LATENCY, name=name)
            for name in ("half", "code_shift", "code_signed", "code_cut")
        }
        code_stages = []
        for k, full_shift in enumerate((0, LARGEST_SHIFT)):
            # The halves of a full number pass as codes without a sign that nothing clips.
            half = late["half"]
            shift, narrow = Mux(half, late["code_shift"], full_shift), half & late["code_signed"]
            cut = Mux(half, late["code_cut"], 0)
            code_stages += _CODE.controls(
                m, _CODE_BITS, shift, narrow, name=f"code_{k}", checked=half, cut=cut
            )
        m.d.comb += [
            self.value.valid.eq(delay(m, i.valid, self.VALUE_LATENCY, name="valued", reset=True)),
            self.cell.valid.eq(delay(m, i.valid, self.LATENCY, name="valid", reset=True)),
        ]
        clipped = []
        for k in range(self.side):
            lane = SharedModule(RoundAndEncodeLane, self.width, self.arithmetic)
            m.submodules[f"lane_{k}"] = lane
            m.d.comb += [
                lane.word.eq(i.word[k]),
                lane.mask.eq(i.mask[k]),
                lane.pair.eq(i.pair),
                lane.relu.eq(i.relu),
                lane.half.eq(late["half"]),
                *(port.eq(now) for port, now in zip(lane.number, number_stages, strict=True)),
                *(port.eq(now) for port, now in zip(lane.code, code_stages, strict=True)),
                self.value.number[k].eq(lane.value),
                self.cell.word[k].eq(lane.cell),
            ]
            clipped.append((lane.clipped, lane.code_clipped))
        self._count(m, clipped)
        return m

    def _count(self, m, clipped):
        """Counts clipped lanes: sums of a few lanes, then of all. The count of numbers waits until
        the codes are counted."""
        keep = delay(m, self.i.keep & self.i.valid.replicate(2), 3, name="keep", reset=True)
        code_keep = delay(m, keep, self.VALUE_LATENCY, name="code_keep", reset=True)
        counts = []
        for name, flags, kept in (
            ("numbers", [lane[0] for lane in clipped], keep),
            ("codes", [lane[1] for lane in clipped], code_keep),
        ):
            parts = []
            for k in range(0, self.side, _COUNTED):
                bits = [bit for lane in flags[k : k + _COUNTED] for bit in lane & kept]
                part = Signal(range(len(bits) + 1), name=f"{name}_{k}", reset_less=True)
                m.d.sync += part.eq(sum(bits))
                parts.append(part)
            counts.append(sum(parts))
        numbers = Signal(range(2 * self.side + 1), reset_less=True)
        m.d.sync += numbers.eq(counts[0])
        late = delay(m, numbers, self.VALUE_LATENCY - 1, name="late_numbers")
        m.d.sync += self.saturated.eq(late + counts[1])


class RoundAndEncodeLane(wiring.Component):
    """One lane of ``RoundAndEncode``, which decodes the controls of this clock and the next ones.

    Members
    -------
    word : In(2 * width), mask : In(2), pair : In(1), relu : In(1)
        The lane's sum, or with ``pair`` two sums; if a bit of ``mask`` is 0, this sample's number
        is 0; with ``relu`` negative numbers become 0.
    half : In(1)
        ``Rounding.LATENCY`` clocks after ``word``: the cell holds codes.
    number, code : In, arrays of ``Rounding.layout``
        ``Rounding.controls`` of numbers, with ``word``, and of codes, with ``half``.
    value : Out([2] of signed(32)), cell : Out(32)
        Numbers of both samples after ``Rounding.LATENCY`` clocks, and the cell after twice as many.
    clipped, code_clipped : Out(2)
        A bit for each sample: its number, or its code, is clipped. They come a clock before numbers
        and cell.
    """

    def __init__(self, width, arithmetic):
        self.width, self.arithmetic = width, arithmetic
        begin, end = _bits(width, arithmetic)
        number = _number(arithmetic).layout(end - begin)
        super().__init__(
            {
                "word": In(2 * width),
                "mask": In(2),
                "pair": In(1),
                "relu": In(1),
                "half": In(1),
                "number": In(number).array(Rounding.LATENCY),
                "code": In(_CODE.layout(_CODE_BITS)).array(2 * Rounding.LATENCY),
                "value": Out(data.ArrayLayout(signed(CELL_WIDTH), 2)),
                "cell": Out(CELL_WIDTH),
                "clipped": Out(2),
                "code_clipped": Out(2),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number, width = _number(self.arithmetic), self.width
        begin, end = _bits(width, self.arithmetic)
        for k in range(2):
            half = self.word[k * width : (k + 1) * width]
            sign, different = half[-1], []
            x = Cat(half[begin:], sign.replicate(end - width))
            if k == 0:
                top = self.word[-1]
                sign = Mux(self.pair, half[-1], top)
                x = Cat(half[begin:], Mux(self.pair, x[width - begin :], self.word[width:end]))
                above = self.word[end:-1]
                different = [
                    (above[j : j + 4] != top.replicate(len(above[j : j + 4]))) & ~self.pair
                    for j in range(0, len(above), 4)
                ]
            zero = self.relu & sign | ~self.mask[k]
            value, clipped = number.round(
                m, x, sign, list(self.number), name=f"value_{k}", zero=zero, different=different
            )
            m.d.comb += [self.value[k].eq(value), self.clipped[k].eq(clipped)]
        first, second = (value.as_unsigned() for value in self.value)
        for k, value in enumerate((first, second)):
            stages = self.code[k * Rounding.LATENCY : (k + 1) * Rounding.LATENCY]
            x, whole = Cat(Const(0, 1), value), None
            if k == 0:
                sign = Mux(self.half, value[-1], value[CODE_WIDTH])
            else:  # in whose place the upper half of a full number goes
                sign = self.half & value[-1]
                upper = Cat(Const(0, 1), first[CODE_WIDTH:], Const(0, 1))
                whole = Mux(self.half, _CODE.whole(x, sign), upper)
            code, clipped = _CODE.round(m, x, sign, stages, name=f"code_{k}", whole=whole)
            m.d.comb += [
                self.cell.word_select(k, CODE_WIDTH).eq(code[:CODE_WIDTH]),
                self.code_clipped[k].eq(clipped),
            ]
        return m

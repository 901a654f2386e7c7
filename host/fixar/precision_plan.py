"""Numbers of FIXAR, and which 16 bits of them are kept in half precision: a power of two a layer,
by the range of the layer's numbers so far.

In half precision a number ``raw``, an integer, is its code ``clip(floor(raw 2^-s + 1/2))`` of 16
bits, which counts as ``code << s``; s is the layer's shift. Behind relu codes are unsigned, those
of inputs and of errors are signed. The paper (IV, Algorithm 1) has ``Q(A) = floor(A / delta) + z``,
``delta = (|Amin| + |Amax|) / 2^16``, instead: its step is any number and its zero anywhere, so a
product would need a multiplication more, and a sum a correction. A step of 2^s is less than twice
as long as the paper's, where the range reaches to both sides of 0 alike, or is of one side and
unsigned.
"""

from hw.arith.fixed import SQ
from hw.arith.fixed_point import DualPrecision
from hw.fixar.config import CODE_WIDTH
from hw.fixar.precision import code_limits

__all__ = ["ACTIVATION", "ERROR", "GRADIENT", "OPERAND", "WEIGHT", "shift_of", "shifts"]

_FORMATS = DualPrecision()
#: What the layers take and give.
ACTIVATION = _FORMATS.activation
#: What goes back, the gradient by a layer's sums.
ERROR = _FORMATS.gradient
#: Weights and biases as they are stored, targets' too.
WEIGHT = _FORMATS.weight
#: The same as they are multiplied.
OPERAND = _FORMATS.operand
#: Sums of a batch's gradients, as the optimizer takes them: of 48 bits.
GRADIENT = SQ(48 - _FORMATS.gradient_sum_fraction, _FORMATS.gradient_sum_fraction)


def shift_of(low, high, width, *, signed=True, bits=CODE_WIDTH):
    """The smallest shift s with which the codes ``floor(raw 2^-s + 1/2)`` of all integers ``raw``
    in ``low..high`` fit 16 bits; at most ``width - 16``, even if some codes are clipped with it.

    low, high : int
        Lowest and highest integer, inclusive; both 0 if nothing was captured.
    width : int
        Bits of the integers in full precision.
    signed : bool
        Whether codes have a sign.
    bits : int
        Bits of a code, the upper ones of 16; the others are 0.
    """
    (least, most), cut = code_limits(signed, bits), CODE_WIDTH - bits
    for shift in range(width - CODE_WIDTH):
        places = shift + cut
        first, last = (number + (1 << places >> 1) >> places << cut for number in (low, high))
        if least <= first and last <= most:
            return shift
    return width - CODE_WIDTH


def shifts(ranges, activation_bits=CODE_WIDTH):
    """The shift of each layer's numbers in half precision, from their captured ranges.

    Parameters
    ----------
    ranges : dict
        Network's name -> ``{"activation": [(low, high), ...], "error": [(low, high), ...]}``, of
        each layer's input and of the error at its sums, as integers of ACTIVATION and ERROR.
    activation_bits : int
        Bits of an activation's code (n of Algorithm 1).

    Returns
    -------
    shifts : dict
        Network's name -> ``{"activation": [shift, ...], "error": [shift, ...]}``. All networks
        have the same shift for the first layer's input, since one memory has all these inputs.
    """
    firsts = [each["activation"][0] for each in ranges.values()]
    common = min(low for low, _ in firsts), max(high for _, high in firsts)
    found = {}
    for name, each in ranges.items():
        inputs = [shift_of(*common, ACTIVATION.width, bits=activation_bits)]
        hidden = [
            shift_of(*pair, ACTIVATION.width, signed=False, bits=activation_bits)
            for pair in each["activation"][1:]
        ]
        errors = [shift_of(*pair, ERROR.width) for pair in each["error"]]
        found[name] = {"activation": inputs + hidden, "error": errors}
    return found

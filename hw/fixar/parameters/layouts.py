"""Ports of the parameters: requests for tiles, the biases that leave, the sums that come."""

from amaranth import *
from amaranth.lib import data

from hw.fixar.layouts import SHIFT_WIDTH, operands_layout

__all__ = ["WORD_BITS", "bias_layout", "first_feature", "next_column", "sums_layout"]
__all__ += ["tile_request_layout", "word_width"]

#: Of a number, in a memory as in an image.
WORD_BITS = 32


def word_width(config):
    """Bits of a word of a memory: ``side`` numbers."""
    return WORD_BITS * config.side


def tile_request_layout(config):
    """A request for a tile of weights. ``target``: those of the target network. ``transposed``: the
    tile leaves transposed.

    ``address``: address of its first row, a multiple of ``port_words``, which need not exist; rows
    ``low`` to ``high - 1`` exist.
    With ``bias`` the word at ``bias_address`` comes first.
    """
    address = range(config.weight_words)
    return data.StructLayout(
        {
            "target": 1,
            "transposed": 1,
            "address": address,
            "low": range(config.side + 1),
            "high": range(config.side + 1),
            "bias": 1,
            "bias_address": address,
        }
    )


def first_feature(config, weights):
    """The feature of the frame whose weights, if it has any, are a tile column's first word.
    ``weights``: ``PassTable.WEIGHTS``."""
    bits = (config.port_words - 1).bit_length()
    return Cat(C(0, bits), weights.first[bits:])


def next_column(config, weights):
    """Words from a tile column to the next one. ``weights``: ``PassTable.WEIGHTS``."""
    bits = (config.port_words - 1).bit_length()
    return Cat(C(0, bits), weights.bias[bits:] + 1)


def bias_layout(config):
    """``word``: biases, as operands, of the tile whose rows follow; ``valid`` is high for one
    clock."""
    return data.StructLayout({"valid": 1, "word": operands_layout(config)})


def sums_layout(config, width):
    """Sums of gradients of all cores for one word, each of ``width`` bits.

    address : address of the word of weights.
    keep : whether the word exists; if not, it does not change and nothing is counted.
    shift : how far the sums lie below full precision.
    """
    word = data.ArrayLayout(signed(width), config.side)
    return data.StructLayout(
        {
            "valid": 1,
            "keep": 1,
            "address": range(config.weight_words),
            "shift": SHIFT_WIDTH,
            "sums": data.ArrayLayout(word, config.cores),
        }
    )

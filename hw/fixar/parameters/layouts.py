"""Ports of the parameters: the sums that come, the biases that leave."""

from amaranth import *
from amaranth.lib import data

from hw.fixar.layouts import SHIFT_WIDTH, operands_layout

__all__ = ["WORD_BITS", "bias_layout", "sums_layout", "word_width"]

#: Of a number, in a memory as in an image.
WORD_BITS = 32


def word_width(config):
    """Bits of a word of a memory: ``side`` numbers."""
    return WORD_BITS * config.side


def bias_layout(config):
    """Biases of the tile whose rows follow; a pulse."""
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

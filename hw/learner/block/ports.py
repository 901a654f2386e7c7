"""How the units of a layer reach its parameters, and what passes between layers."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.nn.layouts import vector_layout

__all__ = ["backward_signature", "forward_signature", "gradient_write_layout", "weights_layout"]
__all__ += ["word_layout"]


def word_layout(shape, words, *counts):
    """A word of a sample, without back-pressure.

    valid : a word comes in this clock
    index : number of the word, 0..words - 1
    value : its numbers of ``shape``, an array of ``counts``, the last count within the word
    """
    value = vector_layout(shape, *counts)
    return data.StructLayout({"valid": 1, "index": range(words), "value": value})


def weights_layout(config, *counts):
    """Two words of weights of the same address: of the online and of the target network."""
    word = vector_layout(config.arithmetic.shape("weight"), *counts)
    return data.StructLayout({"online": word, "target": word})


def gradient_write_layout(number, depth, *counts):
    """A write to a gradient memory of ``depth`` words: ``enable``, ``address``, and ``value``."""
    value = vector_layout(number, *counts)
    return data.StructLayout({"enable": 1, "address": range(depth), "value": value})


def forward_signature(config, shape):
    """Ports for reading parameters, as seen from ``Forward``.

    address : of a block. Its ``weight`` [input_word][output_word] comes READ_LATENCY clocks later;
        the row of input k another ``k * dot_skew`` clocks later, as ``Arithmetic.dot`` wants it.
    bias_address : an output word, whose ``bias`` [output_word] comes READ_LATENCY clocks later.
    """
    return wiring.Signature(
        {
            "address": Out(range(shape.blocks)),
            "weight": In(weights_layout(config, shape.input_word, shape.output_word)),
            "bias_address": Out(range(shape.output_words)),
            "bias": In(weights_layout(config, shape.output_word)),
        }
    )


def backward_signature(config, shape):
    """Ports for reading online weights and adding to gradients, as seen from ``Backward``.

    address : of a block. Its ``weight`` [input_word][output_word] comes READ_LATENCY clocks later;
        the column of output k another ``k * dot_skew`` clocks later.
    gradient_address : of a block, whose ``gradient`` [input_word][output_word] comes
        ``gradient_latency(shape)`` clocks later. ``gradient_write`` writes new sums; they are
        read if the address comes a clock after the write.
    bias_address : an output word, whose ``bias_gradient`` [output_word] comes READ_LATENCY clocks
        later; ``bias_write`` as ``gradient_write``.
    """
    sums, bias_sums = config.arithmetic.gradient_sum_shape(config.batch), config.bias_sum_shape
    block = shape.input_word, shape.output_word
    return wiring.Signature(
        {
            "address": Out(range(shape.blocks)),
            "weight": In(vector_layout(config.arithmetic.shape("weight"), *block)),
            "gradient_address": Out(range(shape.blocks)),
            "gradient": In(vector_layout(sums, *block)),
            "gradient_write": Out(gradient_write_layout(sums, shape.blocks, *block)),
            "bias_address": Out(range(shape.output_words)),
            "bias_gradient": In(vector_layout(bias_sums, shape.output_word)),
            "bias_write": Out(
                gradient_write_layout(bias_sums, shape.output_words, shape.output_word)
            ),
        }
    )

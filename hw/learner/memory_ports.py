"""How ``Forward`` and ``Backward`` reach the parameters of their layer: its memories' ports."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.nn.layouts import vector_layout

__all__ = ["READ_LATENCY", "backward_signature", "bias_sum_shape", "forward_signature"]
__all__ += ["gradient_write_layout", "weights_layout"]

#: Clocks from an address to the word of a parameter memory: the memory's register and one more.
READ_LATENCY = 2


def weights_layout(config, vector):
    """A memory word of the online network and, of the same address, of the target."""
    word = vector_layout(config.arithmetic.shape("weight"), vector)
    return data.StructLayout({"online": word, "target": word})


def bias_sum_shape(config):
    """Shape of a bias gradient: the sum of a batch of gradients."""
    return config.arithmetic.sum_shape("gradient", count=config.batch)


def gradient_write_layout(shape, depth, vector=None):
    """A write of a gradient memory; ``vector`` None is a single number."""
    value = shape if vector is None else data.ArrayLayout(shape, vector)
    return data.StructLayout({"enable": 1, "address": range(depth), "value": value})


def forward_signature(config, layer):
    """Addresses out, weights and biases of both networks in, READ_LATENCY later."""
    bias = config.arithmetic.shape("weight")
    return wiring.Signature(
        {
            "address": Out(range(layer.depth)).array(layer.length),
            "weight": In(weights_layout(config, layer.vector)).array(layer.length),
            "bias_address": Out(range(layer.outputs)),
            "bias": In(data.StructLayout({"online": bias, "target": bias})),
        }
    )


def backward_signature(config, layer):
    """Addresses out, weights and gradients in, READ_LATENCY later; gradients out, to be written."""
    sums, bias_sums = config.arithmetic.gradient_sum_shape(config.batch), bias_sum_shape(config)
    weight = vector_layout(config.arithmetic.shape("weight"), layer.vector)
    write = gradient_write_layout(sums, layer.depth, layer.vector)
    return wiring.Signature(
        {
            "address": Out(range(layer.depth)).array(layer.length),
            "weight": In(weight).array(layer.length),
            "gradient": In(vector_layout(sums, layer.vector)).array(layer.length),
            "gradient_write": Out(write).array(layer.length),
            "bias_address": Out(range(layer.outputs)),
            "bias_gradient": In(bias_sums),
            "bias_write": Out(gradient_write_layout(bias_sums, layer.outputs)),
        }
    )

"""How ``Forward`` and ``Backward`` reach the parameters of their layer: its memories' ports."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.ports import (
    READ_LATENCY,
    bias_sum_shape,
    gradient_write_layout,
    weights_layout,
)
from hw.nn.layouts import vector_layout

__all__ = ["READ_LATENCY", "backward_signature", "bias_sum_shape", "forward_signature"]
__all__ += ["gradient_write_layout", "weights_layout"]


def forward_signature(config, layer):
    """Ports by which ``Forward`` reads parameters: it gives an address to the memory of each PE and
    one to that of the biases. Weights and bias of that address, of the online and of the target
    network, come READ_LATENCY clocks later. Directions are those of ``Forward``."""
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
    """Ports by which ``Backward`` reads weights and adds to gradients: it gives an address to the
    memory of each PE and one to that of the biases. Online weights and gradients of that address
    come READ_LATENCY clocks later; ``gradient_write`` and ``bias_write`` write the new sums.
    Directions are those of ``Backward``."""
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

"""How ``Forward`` and ``Backward`` reach the parameters: their memory ports, by the same names."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.chain.token_issue import weights_layout
from hw.learner.parameters.parameter_memory import bias_sum_shape, gradient_write_layout
from hw.nn.layouts import vector_layout

__all__ = ["attach", "backward_signature", "forward_signature"]


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


def attach(m, port, unit):
    """Wire ``port``, of the memories' side, to the ports of ``unit`` that have the same names.

    A name that ``unit`` lacks stays as it is: a layer whose input gradient is not wanted reads no
    weights.
    """
    for name, member in port.signature.members.items():
        if not hasattr(unit, name):
            continue
        ours, theirs = getattr(port, name), getattr(unit, name)
        if not member.dimensions:
            ours, theirs = [ours], [theirs]
        for own, other in zip(ours, theirs, strict=True):
            own, other = Value.cast(own), Value.cast(other)
            m.d.comb += own.eq(other) if member.flow == In else other.eq(own)

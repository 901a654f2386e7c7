"""A policy as an ONNX model, for every runtime that reads opset 17."""

from collections.abc import Callable

import numpy as np

from host.algorithms.activation import LEAK
from host.algorithms.layers import (
    Activate,
    Clip,
    Convolve,
    Dense,
    Dueling,
    Normalize,
    Part,
    Planes,
    Scale,
)
from hw.extras import needed

__all__ = ["onnx_file"]

_OPSET, _IR_VERSION = 17, 8
#: Name of ACTIVATIONS -> operator, attributes
_ACTIVATIONS = {
    "relu": ("Relu", {}),
    "leaky_relu": ("LeakyRelu", {"alpha": LEAK}),
    "tanh": ("Tanh", {}),
}


def onnx_file(described, spec, title):
    """The model as the bytes of a file. Its input is ``observation`` [n, ...], its outputs are
    ``action`` [n, ...], as the environment takes it, and the heads that are no action: ``q`` or
    ``logits`` [n, actions], ``value`` [n, 1]."""
    onnx = needed("onnx", "onnx", "to write ONNX")
    helper, graph = onnx.helper, _Graph(onnx)
    x = graph.layers("observation", described.layers)
    heads = {name: graph.layers(x, layers) for name, layers in described.heads.items()}

    def info(name, dtype, shape):
        return helper.make_tensor_value_info(name, graph.type_of(dtype), ["n", *shape])

    seen = info("observation", spec.dtype, spec.shape)
    graph.node("Identity", [graph.action(heads[described.acts], spec)], out="action")
    made = [info("action", spec.applied_dtype, () if spec.discrete else spec.action_shape)]
    for name, size in described.outputs(spec).items():
        graph.node("Identity", [heads[name]], out=name)
        made.append(info(name, "float32", (size,)))
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", [seen], made, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="rlfabric",
        doc_string=title,
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


class _Graph:
    """Nodes and constants of a model that is being made; each method returns a value's name."""

    def __init__(self, onnx):
        self._onnx, self.nodes, self.constants = onnx, [], []

    def type_of(self, dtype):
        return self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def node(self, kind, inputs, out=None, **attributes):
        out = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, [out], **attributes))
        return out

    def constant(self, values):
        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(values)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, x, dtype):
        return self.node("Cast", [x], to=self.type_of(dtype))

    def with_constant(self, kind, x, values):
        return self.node(kind, [x, self.constant(values)])

    def layers(self, x, layers):
        if x == "observation" and not isinstance(next(iter(layers), None), Normalize):
            x = self.cast(x, np.float32)
        for layer in layers:
            x = _NODES[type(layer)](self, x, layer)
        return x

    def dense(self, x, layer):
        flat = self.node("Flatten", [x], axis=1)
        inputs = [flat, self.constant(layer.weight), self.constant(layer.bias)]
        return self.node("Gemm", inputs, transB=1)

    def part(self, x, begin, end):
        limits = [self.constant(np.array([n], np.int64)) for n in (begin, end, 1)]
        return self.node("Slice", [x, *limits])

    def normalize(self, x, layer):
        x = self.with_constant("Sub", self.cast(x, np.float64), layer.mean)
        x = self.with_constant("Div", x, layer.deviation)
        limits = [self.constant(np.float64(n)) for n in (-layer.limit, layer.limit)]
        return self.cast(self.node("Clip", [x, *limits]), np.float32)

    def convolve(self, x, layer):
        inputs = [x, self.constant(layer.weight), self.constant(layer.bias)]
        return self.node("Conv", inputs, strides=[layer.stride] * 2)

    def dueling(self, x, layer):
        half = layer.value.weight.shape[1]
        value = self.dense(self.part(x, 0, half), layer.value)
        advantage = self.dense(self.part(x, half, 2 * half), layer.advantage)
        mean = self.node("ReduceMean", [advantage], axes=[1], keepdims=1)
        return self.node("Add", [advantage, self.node("Sub", [value, mean])])

    def activate(self, x, layer):
        kind, attributes = _ACTIVATIONS[layer.name]
        return self.node(kind, [x], **attributes)

    def clip(self, x, layer):
        return self.node("Clip", [x, *(self.constant(np.float32(n)) for n in (-1, 1))])

    def action(self, x, spec):
        """The environment's action, as ``Spec.applied`` makes it of the head ``x``."""
        if spec.discrete:
            x = self.node("ArgMax", [x], axis=1, keepdims=0)
            return self.cast(self.with_constant("Add", x, np.int64(spec.start)), spec.applied_dtype)
        low, half, high = spec.ends
        x = self.with_constant("Add", x, np.float32(1))
        x = self.with_constant("Mul", self.cast(x, low.dtype), half)
        x = self.with_constant("Add", x, low)
        if spec.applied_dtype.kind != "f":
            x = self.node("Round", [x])
        x = self.with_constant("Max", x, low)
        return self.cast(self.with_constant("Min", x, high), spec.applied_dtype)


_NODES: dict[type, Callable] = {
    Scale: lambda graph, x, layer: graph.with_constant("Mul", x, np.float32(layer.factor)),
    Planes: lambda graph, x, layer: graph.node("Transpose", [x], perm=[0, 3, 1, 2]),
    Dense: _Graph.dense,
    Part: lambda graph, x, layer: graph.part(x, layer.begin, layer.end),
    Normalize: lambda graph, x, layer: graph.normalize(graph.node("Flatten", [x], axis=1), layer),
    Convolve: _Graph.convolve,
    Dueling: _Graph.dueling,
    Activate: _Graph.activate,
    Clip: _Graph.clip,
}

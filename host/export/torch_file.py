"""A policy as an exported program of torch, which ``torch.export.load(file).module()`` runs without
rlfabric."""

import io

from host.algorithms.activation import ACTIVATIONS
from host.algorithms.autodiff import torch
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

__all__ = ["torch_file"]


def torch_file(described, spec, title):
    """The program as the bytes of a file. It takes observations [n, ...], and returns a dict with
    ``action`` and the heads, as ``host.export.onnx_file`` names them."""
    module = _module(described, spec)
    seen = torch.zeros((2, *spec.shape), dtype=getattr(torch, spec.dtype))
    rows = torch.export.Dim("n", min=1)
    program = torch.export.export(module, (seen,), dynamic_shapes=({0: rows},))
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"rlfabric": title})
    return file.getvalue()


def _module(described, spec):
    """The module that computes ``described``; a class here would import torch."""

    class Exported(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def constant(self, values):
            name = f"constant_{self.count}"
            self.count += 1
            self.register_buffer(name, torch.from_numpy(values.copy()))
            return name

        def forward(self, observation):
            x = trunk(self, observation)
            found = {name: head(self, x) for name, head in heads.items()}
            action = act(self, found[described.acts])
            return {"action": action} | {name: found[name] for name in described.outputs(spec)}

    module = Exported()
    trunk = _chain(module, described.layers)
    heads = {name: _chain(module, layers) for name, layers in described.heads.items()}
    act = _action(module, spec)
    return module.eval()


def _chain(module, layers):
    steps = [_STEPS[type(layer)](module, layer) for layer in layers]

    def apply(own, x):
        for step in steps:
            x = step(own, x)
        return x

    return apply


def _dense(module, layer):
    weight, bias = module.constant(layer.weight), module.constant(layer.bias)
    return lambda own, x: torch.nn.functional.linear(
        x.float().flatten(1), getattr(own, weight), getattr(own, bias)
    )


def _convolve(module, layer):
    weight, bias = module.constant(layer.weight), module.constant(layer.bias)
    return lambda own, x: torch.nn.functional.conv2d(
        x.float(), getattr(own, weight), getattr(own, bias), layer.stride
    )


def _normalize(module, layer):
    mean, deviation = module.constant(layer.mean), module.constant(layer.deviation)

    def apply(own, x):
        x = (x.flatten(1).double() - getattr(own, mean)) / getattr(own, deviation)
        return x.clamp(-layer.limit, layer.limit).float()

    return apply


def _dueling(module, layer):
    half = layer.value.weight.shape[1]
    value, advantage = _dense(module, layer.value), _dense(module, layer.advantage)

    def apply(own, x):
        a = advantage(own, x[:, half:])
        return a + (value(own, x[:, :half]) - a.mean(1, keepdim=True))

    return apply


def _activate(module, layer):
    function = ACTIVATIONS[layer.name].torch(torch)
    return lambda own, x: function(x)


def _action(module, spec):
    """The environment's action, as ``Spec.applied`` makes it."""
    kind = getattr(torch, str(spec.applied_dtype))
    if spec.discrete:
        return lambda own, x: (x.argmax(1) + spec.start).to(kind)
    low, half, high = map(module.constant, spec.ends)

    def apply(own, x):
        lowest, highest = getattr(own, low), getattr(own, high)
        x = lowest + (x + 1).to(lowest.dtype) * getattr(own, half)
        if spec.applied_dtype.kind != "f":
            x = x.round()
        return torch.minimum(torch.maximum(x, lowest), highest).to(kind)

    return apply


_STEPS = {
    Scale: lambda module, layer: lambda own, x: x.float() * layer.factor,
    Planes: lambda module, layer: lambda own, x: x.permute(0, 3, 1, 2),
    Part: lambda module, layer: lambda own, x: x[:, layer.begin : layer.end],
    Clip: lambda module, layer: lambda own, x: x.clamp(-1, 1),
    Dense: _dense,
    Convolve: _convolve,
    Normalize: _normalize,
    Dueling: _dueling,
    Activate: _activate,
}

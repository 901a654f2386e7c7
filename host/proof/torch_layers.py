"""The layers of a torch module that a card can have: Linear, ReLU or tanh, and Linear again."""

from dataclasses import dataclass
from operator import attrgetter

from host.algorithms.autodiff import torch
from hw.errors import UsageError

__all__ = ["Layers", "read_layers"]

#: Functions and methods that leave the numbers of a row as they are.
_SHAPES = {"squeeze", "flatten", "float", "contiguous"}
_ACTIVATIONS = {"relu", "tanh"}


@dataclass(frozen=True)
class Layers:
    """The layers of a network.

    linears : tuple of torch.nn.Linear, first to last.
    activations : tuple of "relu", "tanh" or "linear", one behind each.
    """

    linears: tuple
    activations: tuple

    @property
    def hidden(self):
        """Widths of the hidden layers."""
        return tuple(each.out_features for each in self.linears[:-1])

    @property
    def shapes(self):
        """(outputs, inputs) of each layer."""
        return tuple((each.out_features, each.in_features) for each in self.linears)


def read_layers(module, name):
    """The Layers of a ``torch.nn.Module``, the trainer's attribute ``name``, read by
    ``torch.fx.symbolic_trace``. Inputs side by side (``torch.cat``), ``squeeze`` and ``flatten``
    are no layers. UsageError for anything else."""
    place = f"{name}.forward"
    try:
        traced = torch.fx.symbolic_trace(module)
    except Exception as error:  # whatever the user's code raises with symbolic values
        line = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{place} must be what torch.fx can trace to train on the card, not other code ({line})"
        ) from error
    linears, activations, last = [], [], None
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            last = node if last is None else last
            continue
        kind = _kind(node, module)
        if kind == "cat" and not linears:
            last = node
            continue
        if not node.all_input_nodes == [last]:
            raise _refused(place, f"a branch at {node.name}")
        last = node
        if kind == "linear":
            linear = attrgetter(node.target)(module)
            if linear.bias is None:
                raise _refused(place, f"{node.name} without a bias")
            linears.append(linear)
            activations.append("linear")
        elif kind in _ACTIVATIONS and linears and activations[-1] == "linear":
            activations[-1] = kind
        elif kind not in _SHAPES:
            raise _refused(place, f"{node.name}")
    if not linears or "linear" in activations[:-1]:
        raise _refused(place, "a Linear without an activation" if linears else "none of these")
    return Layers(tuple(linears), tuple(activations))


def _refused(place, what):
    return UsageError(
        f"{place} must be Linear with bias, ReLU or Tanh, and Linear again to train on the card, "
        f"not {what}"
    )


def _kind(node, module):
    """linear, relu, tanh, cat or a function's name."""
    if node.op == "call_module":
        inner = attrgetter(node.target)(module)
        return {"identity": "flatten"}.get(name := type(inner).__name__.lower(), name)
    return node.target if node.op == "call_method" else getattr(node.target, "__name__", node.op)

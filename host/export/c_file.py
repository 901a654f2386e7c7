"""A policy in C99: one source file and its header, without malloc, for processors of any size.

In float the sums are in the order of the loops; in fixed point they are exact, and the results are
the bits of the kernel that learned (``host.export.fixed``).
"""

import re
from importlib.resources import files

import jinja2
import numpy as np

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
from hw.errors import UsageError

__all__ = ["array", "c_files"]

#: Type of an action's number in C.
_TYPES = {"float16": "float", "float32": "float", "float64": "double", "bool": "uint8_t"}
_LINE = 8
_KEYWORDS = """auto break case char const continue default do double else enum extern float for
goto if inline int long main register restrict return short signed sizeof static struct switch
typedef union unsigned void volatile while"""


def c_files(name, described, spec, title, fixed=None):
    """The texts of the source and its header, suffix -> text. The function is called ``name``;
    UsageError for a name that it cannot have. ``fixed``: the layers of a fixed-point learner,
    ``host.export.fixed.FixedLayers``; None: float."""
    body = fixed.body() if fixed else _Float(described, spec).body()
    shared = {
        "name": name,
        "title": title,
        "seen": int(np.prod(spec.shape)),
        "seen_type": "uint8_t" if spec.dtype == "uint8" else "float",
        "discrete": spec.discrete,
        "count": spec.action_count,
        "start": spec.start,
        "action_type": _TYPES.get(str(spec.applied_dtype), f"{spec.applied_dtype}_t"),
        "whole": spec.applied_dtype.kind != "f",
        "acts": described.acts,
        "heads": described.outputs(spec),
        **body,
    }
    if not spec.discrete:
        low, half, high = spec.ends
        shared["real"] = "double" if low.dtype == np.float64 else "float"
        shared["ends"] = [
            array(n, x) for n, x in zip(("low", "half", "high"), spec.ends, strict=True)
        ]
    texts = {suffix: _template(f"policy{suffix}.j2").render(shared) for suffix in (".c", ".h")}
    _check_name(name, texts[".c"])
    return texts


def _check_name(name, source):
    """UsageError unless the function of ``source`` may be called ``name``: it is no word of C, and
    no other name in the source."""
    code = re.sub(r'/\*.*?\*/|".*?"', "", source, flags=re.DOTALL)
    own = re.findall(rf"\b{re.escape(name)}\b", code)
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or name in _KEYWORDS.split() or len(own) > 1:
        raise UsageError(f"out must be named as a C function may be, not {name!r}")


def _template(name):
    return jinja2.Template(
        (files(__package__) / name).read_text(encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def array(name, values):
    """A constant array of C: numbers in hexadecimal, which are exact, or integers."""
    values = np.asarray(values).reshape(-1)
    if values.dtype.kind == "f":
        kind, suffix = ("double", "") if values.dtype == np.float64 else ("float", "f")
        texts = [f"{float(x).hex()}{suffix}" for x in values]
    else:
        kind, texts = f"{values.dtype}_t", [str(int(x)) for x in values]
    lines = [", ".join(texts[at : at + _LINE]) for at in range(0, len(texts), _LINE)]
    rows = ",\n    ".join(lines)
    return f"static const {kind} {name}[{len(values)}] = {{\n    {rows}\n}};"


class _Float:
    """The calls that compute a policy in float. Numbers go from one of two buffers to the other,
    and wait in a third for several heads."""

    def __init__(self, described, spec):
        self._arrays, self._used, self._calls = [], {"copy"}, []
        self._shape, self._size = spec.shape, int(np.prod(spec.shape))
        self._largest, self._sizes, self._trunk = self._size, {}, 0
        at = self._taken(layers := list(described.layers))
        at = self._chain(at, layers)
        if len(described.heads) > 1:
            self._trunk = self._size
            self._call("copy", at, self._size, into="trunk")
            at = "trunk"
        size, shape = self._size, self._shape
        for head, layers in described.heads.items():
            self._size, self._shape = size, shape
            last = self._chain(at, layers)
            self._sizes[head] = self._size
            self._call("copy", last, self._size, into=f"of_{head}")

    def body(self):
        """The template's values."""
        return {
            "fixed": None,
            "arrays": self._arrays,
            "calls": self._calls,
            "used": self._used,
            "largest": self._largest,
            "trunk": self._trunk,
            "sizes": self._sizes,
        }

    def _constant(self, values):
        name = f"constant_{len(self._arrays)}"
        self._arrays.append(array(name, values))
        return name

    def _call(self, function, *arguments, into):
        self._used.add(function)
        self._largest = max(self._largest, self._size)
        self._calls.append(f"{function}({', '.join(map(str, arguments))}, {into});")

    def _taken(self, layers):
        """The observation in a buffer; removes the layer that this includes."""
        if layers and isinstance(layers[0], Normalize):
            layer = layers.pop(0)
            names = self._constant(layer.mean), self._constant(layer.deviation)
            self._call("normalize", "observation", self._size, *names, layer.limit, into="a")
        else:
            factor = layers.pop(0).factor if layers and isinstance(layers[0], Scale) else 1.0
            self._call("take", "observation", self._size, f"{float(factor).hex()}f", into="a")
        return "a"

    def _chain(self, at, layers):
        for layer in layers:
            if type(layer) not in _CALLS:
                raise UsageError(f"RUN must have {type(layer).__name__} as its first layer for C")
            into = "b" if at == "a" else "a"
            _CALLS[type(layer)](self, layer, at, into)
            at = into
        return at

    def _planes(self, layer, at, into):
        height, width, channels = layer.shape
        self._shape = (channels, height, width)
        self._call("planes", at, height * width, channels, into=into)

    def _convolve(self, layer, at, into):
        filters, channels, kernel, _ = layer.weight.shape
        _, height, width = self._shape
        rows, columns = ((n - kernel) // layer.stride + 1 for n in (height, width))
        self._shape, self._size = (filters, rows, columns), filters * rows * columns
        names = self._constant(layer.weight), self._constant(layer.bias)
        sides = channels, height, width, filters, rows, columns, kernel, layer.stride
        self._call("convolve", at, *names, *sides, into=into)

    def _dense(self, layer, at, into):
        outputs, inputs = layer.weight.shape
        self._size = outputs
        names = self._constant(layer.weight), self._constant(layer.bias)
        self._call("dense", at, *names, inputs, outputs, into=into)

    def _dueling(self, layer, at, into):
        outputs, half = layer.advantage.weight.shape
        self._size = outputs
        value = self._constant(layer.value.weight), self._constant(layer.value.bias)
        other = self._constant(layer.advantage.weight), self._constant(layer.advantage.bias)
        self._used.add("dense")
        self._call("dueling", at, *value, *other, half, outputs, into=into)

    def _activate(self, layer, at, into):
        name = "tanh_of" if layer.name == "tanh" else layer.name
        self._call(name, at, self._size, into=into)

    def _part(self, layer, at, into):
        self._size = layer.end - layer.begin
        self._call("copy", f"{at} + {layer.begin}", self._size, into=into)

    def _clip(self, layer, at, into):
        self._call("clip", at, self._size, into=into)


_CALLS = {
    Planes: _Float._planes,
    Convolve: _Float._convolve,
    Dense: _Float._dense,
    Dueling: _Float._dueling,
    Activate: _Float._activate,
    Part: _Float._part,
    Clip: _Float._clip,
}

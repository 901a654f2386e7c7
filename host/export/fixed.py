"""The numbers of a fixed-point kernel, for a policy in C that gives the bits of its command ACT.

A sum is exact, then rounded half up and clipped once (``hw.arith.fixed_point``). Kernel ``fixar``
multiplies in full precision here.
"""

import json

import numpy as np

from host.algorithms.layers import Activate, Dense
from host.export.c_file import array
from host.kernels import find_design
from hw.arith.tanh import LIMIT, VALUE_FORMAT, X_FORMAT, tanh_table
from hw.config import ConfigBase
from hw.errors import UsageError

__all__ = ["FixedLayers", "fixed_layers"]

#: Precisions of ``fixar`` in which all numbers are whole.
_WHOLE = ("fixed32",)


def fixed_layers(folder, policy, described):
    """``(FixedLayers or None, the numbers in words)`` for the policy of the run in ``folder``. None
    if no fixed-point kernel trained it, or its codes of 16 bits are not in the policy's file."""
    file = folder / "summary.json"
    if not file.is_file():
        return None, "float32"
    try:
        kernel = json.loads(file.read_text(encoding="utf-8"))["kernel"]
        found = kernel and find_design(kernel["name"]).config_type.from_dict(kernel["config"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{file} must be of this release of rlfabric, not another's ({error})"
        ) from error
    arithmetic = getattr(getattr(found, "learner", None), "arithmetic", None)
    if arithmetic is None or not arithmetic.saturates:
        return None, "float32"
    precision = getattr(policy.config, "precision", "float32")
    if arithmetic.kind == "dual" and precision not in _WHOLE:
        return None, (
            f"float32: the codes of precision {precision} depend on ranges that only the "
            "checkpoint has"
        )
    words = f"the kernel's: weights {arithmetic.weight}, activations {arithmetic.activation}"
    return FixedLayers(arithmetic, described), words


class FixedLayers:
    """The body of a C function in the fixed point of ``arithmetic``, a FixedPoint."""

    def __init__(self, arithmetic: ConfigBase, described) -> None:
        self._arithmetic, self._arrays, self._calls, self._used = arithmetic, [], [], set()
        self._split = arithmetic.kind == "dual"
        self._number = arithmetic.activation
        [head, *others] = described.heads
        if others:
            raise UsageError(f"RUN must have one head, not {', '.join(described.heads)}")
        layers = described.layers + described.heads[head]
        first = next(layer for layer in layers if isinstance(layer, Dense))
        self._sizes = [first.weight.shape[1]]
        at = "a"
        self._calls.append(f"take(observation, {self._sizes[0]}, a);")
        for layer in layers:
            into = "b" if at == "a" else "a"
            if isinstance(layer, Dense):
                self._dense(layer, at, into)
            elif isinstance(layer, Activate):
                name = "tanh_of" if layer.name == "tanh" else layer.name
                self._used.add(name)
                self._calls.append(f"{name}({at}, {self._sizes[-1]}, {into});")
            else:
                raise UsageError(f"RUN must have dense layers only, not {type(layer).__name__}")
            at = into
        fraction = self._number.fraction
        if self._split and "tanh_of" in self._used:
            fraction = arithmetic.tanh_format.fraction
        unit = f"{(2.0**-fraction).hex()}f"
        self._calls.append(f"report({at}, {self._sizes[-1]}, {unit}, of_{head});")
        self._head = head

    def _dense(self, layer, at, into):
        outputs, inputs = layer.weight.shape
        bits = self._weight.width + self._number.width + int(inputs).bit_length()
        if bits > (80 if self._split else 62):
            raise UsageError(f"kernel must have sums of at most 62 bits for C, not {bits}")
        names = []
        for part in (layer.weight, layer.bias):
            names.append(f"constant_{len(self._arrays)}")
            self._arrays.append(array(names[-1], self._raw(part).astype(np.int32)))
        self._calls.append(f"dense({at}, {', '.join(names)}, {inputs}, {outputs}, {into});")
        self._sizes.append(outputs)

    @property
    def _weight(self):
        return self._arithmetic.operand if self._split else self._arithmetic.weight

    def _raw(self, weights):
        """Weights as the kernel multiplies them."""
        stored = self._arithmetic.weight
        raw, _ = stored.quantize(np.asarray(weights, np.float64))
        drop = stored.fraction - self._weight.fraction
        return np.minimum((raw + (1 << drop >> 1)) >> drop, self._weight.high)

    def body(self):
        """The template's values."""
        number, drop = self._number, self._weight.fraction
        bias = number.fraction - (16 if self._split else 0)
        if bias < 0 or drop < (16 if self._split else 0):
            raise UsageError(f"kernel must have 16 fraction bits or more for C, not {number!r}")
        fixed = {
            "split": self._split,
            "low": number.low,
            "high": number.high,
            "fraction": number.fraction,
            "unit": f"{float(1 << number.fraction)}",
            "bias_unit": 1 << bias,
            "drop": drop,
            "half": 1 << drop >> 1,
        }
        if "tanh_of" in self._used:
            fixed["tanh"] = self._tanh()
        return {
            "fixed": fixed,
            "arrays": self._arrays,
            "calls": self._calls,
            "used": self._used,
            "largest": max(self._sizes),
            "trunk": 0,
            "sizes": {self._head: self._sizes[-1]},
        }

    def _tanh(self):
        table, number = tanh_table(), self._number
        for name in ("base", "slope", "curve"):
            self._arrays.append(array(f"tanh_{name}", getattr(table, name).astype(np.int32)))
        narrow = self._arithmetic.tanh_format if self._split else number
        if narrow.fraction > X_FORMAT.fraction:
            raise UsageError(f"kernel must have at most {X_FORMAT.fraction} fraction bits for C")
        cut, fraction = number.fraction - narrow.fraction, VALUE_FORMAT.fraction - 1
        return {
            "limit": LIMIT << narrow.fraction,
            "one": 1 << narrow.fraction,
            "unit": 1 << (X_FORMAT.fraction - narrow.fraction),
            "rest": table.rest_width,
            "mask": (1 << table.rest_width) - 1,
            "guard": table.guard,
            "fraction": fraction,
            "half": 1 << (fraction - 1),
            "cut": cut,
            "cut_half": 1 << cut >> 1,
            "low": narrow.low,
            "high": narrow.high,
        }

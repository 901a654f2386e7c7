"""Components that a design has many times: elaborated and written out once, then instantiated.

Amaranth writes a module for every instance of a component. A learner has hundreds of multipliers:
with ``SharedModule`` each is an instance of one Verilog module, so that generating, compiling and
reading a design do not grow with the number of its PEs.
"""

import functools
import hashlib
import re

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.errors import UsageError

__all__ = ["SHARED", "SharedModule"]

#: Verilog name -> component of every shared module that was elaborated.
SHARED = {}


def _name(cls, arguments):
    """``rlfabric_float32_add``; with arguments, their digest behind it."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", cls.__name__)
    name = "_".join(["rlfabric", *(word.lower() for word in words)])
    if not arguments:
        return name
    return f"{name}_{hashlib.sha256(repr(arguments).encode()).hexdigest()[:8]}"


@functools.cache
def _unit(cls, arguments):
    return cls(*arguments)


class SharedModule(wiring.Component):
    """An instance of the one Verilog module that all ``SharedModule(cls, *arguments)`` share.

    Its members are those of ``cls(*arguments)``.

    Parameters
    ----------
    cls : type
        A Component with registers that are reset, in the domain ``sync`` alone.
    arguments : hashable values, such as configs, whose ``repr`` describes them completely

    An instance has the ports of the class, but not its attributes: read latencies from the class.
    ValueError if another class of the same name has taken the module's name.
    """

    def __init__(self, cls, *arguments):
        self.cls, self.arguments = cls, arguments
        self.name = _name(cls, arguments)
        super().__init__(_unit(cls, arguments).signature)

    def elaborate(self, platform):
        unit = _unit(self.cls, self.arguments)
        if SHARED.setdefault(self.name, unit) is not unit:
            other = type(SHARED[self.name])
            raise UsageError(
                f"cls must be the only one of its name: {self.name} is of {other.__module__}, "
                f"not {self.cls.__module__!r}"
            )
        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for path, member, value in self.signature.flatten(self):
            direction = "o" if member.flow == Out else "i"
            value = Value.cast(value)
            if direction == "i" and not len(value):
                # Verilog has no port of zero bits: it is written as [-1:0], two bits that would be
                # left open.
                value = C(0, 2)
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        return Instance(self.name, **ports)

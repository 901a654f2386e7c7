"""What a kernel looks like from outside: arguments, masters, hash. Host, card, packaging read it.

Argument offsets follow the spacing that HLS tools use: 12 bytes a 64-bit pointer, 8 a scalar.
"""

import json
from dataclasses import asdict, dataclass

from hw.shell.control_map import ARGUMENTS

__all__ = ["Argument", "KernelDescription", "Master", "standard_arguments"]

#: The master that carries program, operands, results and status in every kernel.
HOST_MASTER = "m_axi_host"


@dataclass(frozen=True, kw_only=True)
class Argument:
    """``kind``: "pointer" (64 bits, on ``master``) or "scalar" (32 bits)."""

    id: int
    name: str
    kind: str
    offset: int
    master: str | None = None

    @property
    def size(self):
        """Bytes."""
        return 8 if self.kind == "pointer" else 4


@dataclass(frozen=True, kw_only=True)
class Master:
    """An AXI4 master; ``arguments`` names the pointers that go through it."""

    name: str
    data_width: int
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KernelDescription:
    """``config`` is the kernel config as a dict; ``config_hash`` its ``hash64``."""

    name: str
    config: dict
    config_hash: int
    arguments: tuple[Argument, ...]
    masters: tuple[Master, ...]
    verilog: str

    def argument(self, name):
        for argument in self.arguments:
            if argument.name == name:
                return argument
        raise ValueError(
            f"argument must be one of {', '.join(a.name for a in self.arguments)}, not {name!r}"
        )

    def to_json(self):
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text):
        values = json.loads(text)
        values["arguments"] = tuple(Argument(**a) for a in values["arguments"])
        values["masters"] = tuple(
            Master(**{**m, "arguments": tuple(m["arguments"])}) for m in values["masters"]
        )
        return cls(**values)


def standard_arguments(extra_pointers=()):
    """Arguments of every kernel, then one pointer for each ``(name, master)``, then the scalars.

    program, operands, results, status on the host master; command_count (commands), operands_bytes
    and results_bytes (sizes of those buffers, which the kernel never leaves).
    """
    pointers = [(name, HOST_MASTER) for name in ("program", "operands", "results", "status")]
    arguments, offset = [], ARGUMENTS
    for name, master in [*pointers, *extra_pointers]:
        arguments.append(
            Argument(id=len(arguments), name=name, kind="pointer", offset=offset, master=master)
        )
        offset += 12
    for name in ("command_count", "operands_bytes", "results_bytes"):
        arguments.append(Argument(id=len(arguments), name=name, kind="scalar", offset=offset))
        offset += 8
    return tuple(arguments)

"""A kernel as seen from outside: arguments, masters, hash. Host, card and packaging read it.

Argument offsets are spaced as by HLS tools: 12 bytes for a 64-bit pointer, 8 for a scalar.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

from hw.config import check_range
from hw.errors import UsageError
from hw.names import LABEL, WORD
from hw.shell.buffers import HOST, HOST_BUFFERS, masters_of
from hw.shell.control_map import ARGUMENTS

__all__ = [
    "HOST_MASTER",
    "Argument",
    "KernelDescription",
    "Master",
    "digest",
    "master_descriptions",
    "standard_arguments",
]

#: The master that carries program, operands, results and status in every kernel.
HOST_MASTER = f"m_axi_{HOST}"
_ACCESSES = ("r", "w", "rw")
_CHOICES = {"kind": ("pointer", "scalar"), "access": (None, *_ACCESSES)}
#: Bits of a beat that AXI4 knows.
_WIDTHS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument of a kernel: a register that the host writes before a launch.

    ``id`` is its position among the arguments, ``offset`` the register's byte in the control
    slave. ``kind`` is "pointer" (64 bits) or "scalar" (32 bits). A pointer has a ``master``
    (``m_axi_<name>``) and an ``access`` ("r", "w" or "rw"); both are None for a scalar. A scalar
    that is the size of a buffer has the buffer's name in ``buffer``, and counts ``unit`` bytes.
    """

    id: int
    name: str
    kind: str
    offset: int
    master: str | None = None
    access: str | None = None
    buffer: str | None = None
    unit: int = 1

    def __post_init__(self):
        WORD.check("name of an argument", self.name)
        own = vars(self)
        for field in ("master", "buffer"):
            if own[field] is not None:
                WORD.check(f"{field} of {self.name}", own[field])
        for field, values in _CHOICES.items():
            _check_choice(f"{field} of {self.name}", own[field], values)
        check_range(f"id of {self.name}", self.id, 0, 1 << 10)
        check_range(f"offset of {self.name}", self.offset, 0, 1 << 12)
        check_range(f"unit of {self.name}", self.unit, 1, 1 << 30)

    @property
    def size(self):
        """Bytes."""
        return 8 if self.kind == "pointer" else 4


@dataclass(frozen=True, kw_only=True)
class Master:
    """An AXI4 master of a kernel.

    ``name`` is that of its pins (``m_axi_host``), ``data_width`` the bits of a beat, ``arguments``
    the names of the pointers that go through it. ``access`` is "r", "w" or "rw": what these
    arguments need together; a direction that none of them needs stays silent.
    """

    name: str
    data_width: int
    arguments: tuple[str, ...]
    access: str = "rw"

    def __post_init__(self):
        WORD.check("name of a master", self.name)
        for argument in self.arguments:
            WORD.check(f"argument of {self.name}", argument)
        _check_choice(f"data_width of {self.name}", self.data_width, _WIDTHS)
        _check_choice(f"access of {self.name}", self.access, _ACCESSES)


@dataclass(frozen=True, kw_only=True)
class KernelDescription:
    """What host, simulated card and packaging know of a kernel.

    ``name`` is the design's, ``config`` the kernel's config as a dict. ``config_hash`` is
    ``digest`` of it and of every layout and number that host and kernel share. ``arguments`` and
    ``masters`` are in the kernel's order, and ``verilog`` is the name of its Verilog file.
    """

    name: str
    config: dict
    config_hash: int
    arguments: tuple[Argument, ...]
    masters: tuple[Master, ...]
    verilog: str

    def __post_init__(self):
        WORD.check("name of a kernel", self.name)
        LABEL.check("verilog", self.verilog)
        if not isinstance(self.config, dict):
            raise UsageError(f"config must be a dict, not {self.config!r}")
        check_range("config_hash", self.config_hash, 0, (1 << 64) - 1)

    def argument(self, name):
        for argument in self.arguments:
            if argument.name == name:
                return argument
        raise UsageError(
            f"argument must be one of {', '.join(a.name for a in self.arguments)}, not {name!r}"
        )

    def to_json(self):
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text):
        """The inverse of ``to_json``; UsageError for a text that ``to_json`` has not written."""
        try:
            values = json.loads(text)
            values["arguments"] = tuple(Argument(**a) for a in values["arguments"])
            values["masters"] = tuple(
                Master(**{**m, "arguments": tuple(m["arguments"])}) for m in values["masters"]
            )
            return cls(**values)
        except UsageError:
            raise
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                "kernel.json must be a whole file that rlfabric wrote, not damaged "
                f"({type(error).__name__}: {error})"
            ) from error


def _check_choice(name, value, values):
    """UsageError unless ``value`` is one of ``values``, and of its type: 8.0 is no width."""
    if not any(type(value) is type(each) and value == each for each in values):
        raise UsageError(f"{name} must be one of {values}, not {value!r}")


def standard_arguments(buffers=()):
    """The tuple of ``Argument`` of a kernel whose design declares ``buffers``.

    First come the pointers: program, operands, results, status, then ``buffers``. The scalars
    follow: command_count (the commands of the program), then the size of each buffer in the same
    order. The kernel accesses no byte beyond these sizes.
    """
    arguments, offset = [], ARGUMENTS
    for buffer in (*HOST_BUFFERS, *buffers):
        arguments.append(
            Argument(
                id=len(arguments),
                name=buffer.name,
                kind="pointer",
                offset=offset,
                master=f"m_axi_{buffer.master}",
                access=buffer.access,
            )
        )
        offset += 12
    sizes = [(b.size_name, dict(buffer=b.name, unit=b.unit)) for b in (*HOST_BUFFERS, *buffers)]
    for name, size in [("command_count", {}), *sizes]:
        arguments.append(
            Argument(id=len(arguments), name=name, kind="scalar", offset=offset, **size)
        )
        offset += 8
    return tuple(arguments)


def master_descriptions(buffers, data_width):
    """The tuple of ``Master`` of a kernel whose design declares ``buffers``.

    ``data_width`` is a function from a master's short name (as "host") to the bits of its beat.
    """
    every = (*HOST_BUFFERS, *buffers)
    return tuple(
        Master(
            name=f"m_axi_{master}",
            data_width=data_width(master),
            arguments=tuple(buffer.name for buffer in every if buffer.master == master),
            access=access,
        )
        for master, access in masters_of(every).items()
    )


def digest(config, arguments, layouts, errors, identity):
    """The hash that a kernel carries: 64 bits of SHA-256 over all that host and kernel share.

    It is an integer. A kernel has another hash if its config, an argument, an opcode, a field, a
    limit, an error code or a layout differs; the meanings of errors do not count.

    config : the kernel's; arguments : its ``Argument`` objects; layouts : ``Layout`` of commands,
    records and status blocks; errors : ``{code: (name, meaning)}``; identity : what
    ``Design.identity`` gives.
    """
    shared = {
        "config": [type(config).__name__, config.to_dict()],
        "arguments": [asdict(argument) for argument in arguments],
        "layouts": [
            [layout.name, layout.size, str(getattr(getattr(layout, "opcode", None), "value", ""))]
            + [[f.name, f.kind, f.count, layout.offsets[f.name]] for f in layout.fields]
            + [f.limits(config) for f in layout.fields]
            for layout in layouts
        ],
        "errors": [[int(code), name] for code, (name, _) in sorted(errors.items())],
        "identity": identity,
    }
    text = json.dumps(shared, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

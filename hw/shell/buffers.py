"""The buffers of card memory that a kernel may use; each is declared once.

Arguments, ports, banks, documents and the host's allocation follow from the declarations.
"""

from dataclasses import dataclass

from hw.errors import UsageError
from hw.shell.program import PAGE_BYTES

__all__ = ["HOST", "HOST_BUFFERS", "MAX_BYTES", "Buffer", "masters_of"]

#: The master that carries program, operands, results and status in every kernel.
HOST = "host"


#: Bytes of the largest buffer whose size counts bytes: whole pages, in an argument of 32 bits.
MAX_BYTES = (1 << 32) - PAGE_BYTES


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """A buffer, which a launch gives as a pointer and a size.

    Parameters
    ----------
    name : str
        Its name in the kernel's arguments and in a core's members.
    master : str
        ``m_axi_<master>`` reaches it; any number of buffers may share a master.
    access : str
        "r", "w" or "rw": what the kernel does with it.
    large : bool
        Whether its size counts pages of 4096 bytes (``<name>_pages``), because a register of 32
        bits could not hold its bytes (``<name>_bytes``).
    """

    name: str
    master: str = HOST
    access: str = "rw"
    large: bool = False

    def __post_init__(self):
        if self.access not in ("r", "w", "rw"):
            raise UsageError(f"access must be r, w or rw, not {self.access!r}")

    @property
    def unit(self):
        """Bytes of one unit of the size."""
        return PAGE_BYTES if self.large else 1

    @property
    def limit(self):
        """Bytes of the largest such buffer: whole pages whose size fits 32 bits."""
        return (1 << 32) * self.unit - PAGE_BYTES

    @property
    def size_name(self):
        """The name of the argument that holds its size."""
        return f"{self.name}_{'pages' if self.large else 'bytes'}"


#: Of every kernel.
HOST_BUFFERS = (
    Buffer(name="program", access="r"),
    Buffer(name="operands", access="r"),
    Buffer(name="results", access="w"),
    Buffer(name="status", access="w"),
)


def masters_of(buffers):
    """``{master: access}`` of ``buffers``, in the order in which the masters first occur.

    A master's access is "r", "w" or "rw": what its buffers need together.
    """
    masters = {}
    for buffer in buffers:
        wanted = masters.get(buffer.master, "") + buffer.access
        masters[buffer.master] = "".join(kind for kind in "rw" if kind in wanted)
    return masters

"""The protocol of the serial line between host and board: frames, requests, replies, addresses.

A frame is its bytes, then their CRC-32 (Ethernet's, low byte first), stuffed as in SLIP (RFC
1055): END ends a frame, and END and ESCAPE inside of one are two bytes each. So a receiver finds
the next frame after the next END, whatever came before it. Frames with a wrong CRC are ignored.

A request is HEADER and, for WRITE, ``count`` bytes. A reply is the request's sequence number, for
READ ``count`` bytes, and a ``Status``. A WRITE with the sequence number of the request that was
executed last is answered and not executed again: a host whose reply got lost may repeat it.
"""

from enum import IntEnum

from amaranth.hdl import unsigned
from amaranth.lib import data, enum, stream
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out, Signature

from hw.shell.layout import Field, Layout

__all__ = [
    "BANK_TARGET",
    "BYTE_PORT",
    "CONTROL_TARGET",
    "CRC",
    "CRC_BYTES",
    "END",
    "ESCAPE",
    "ESCAPED",
    "HEADER",
    "HEADER_BYTES",
    "IDENTITY",
    "IDENTITY_TARGET",
    "MAGIC",
    "MAX_BANKS",
    "Opcode",
    "STATUS_WORDS",
    "Status",
    "TARGET_SHIFT",
    "VERSION",
]

END, ESCAPE = 0xC0, 0xDB
#: Byte -> what stands for it behind ESCAPE.
ESCAPED = {END: 0xDC, ESCAPE: 0xDD}

CRC = CRC32_ETHERNET(data_width=8)
CRC_BYTES = 4


class Opcode(enum.Enum, shape=8):
    """What a request asks of the board."""

    READ = 1  #: ``count`` bytes from ``address`` on
    WRITE = 2  #: ``count`` bytes to ``address`` on
    RESET = 3  #: kernel and memory ports as after power-up; memory keeps its bytes


#: Of a request, low byte first.
HEADER = data.StructLayout({"sequence": 8, "opcode": Opcode, "count": 16, "address": 32})
HEADER_BYTES = HEADER.size // 8


class Status(IntEnum):
    """The last byte of a reply: how the request ended.

    DONE: executed. OPCODE: the opcode is unknown. COUNT: the count does not fit the frame or is
    above the largest payload. ADDRESS: at least one byte is outside control, identity and banks.
    STALLED: the kernel or a memory did not answer. ``STATUS_WORDS`` says the same to a user.
    """

    DONE, OPCODE, COUNT, ADDRESS, STALLED = range(5)


#: What a status means to a user.
STATUS_WORDS = {
    Status.DONE: "the request was executed",
    Status.OPCODE: "opcode must be one that the board knows",
    Status.COUNT: "count must be that of the bytes in the frame, and at most the largest payload",
    Status.ADDRESS: "address must be inside control, identity or a memory bank",
    Status.STALLED: "the kernel or a memory must answer, not stand still: reset it",
}

#: Bits of an address inside a target; above them is the target's number.
TARGET_SHIFT = 20
#: The kernel's registers; the first memory bank, others behind it; IDENTITY.
CONTROL_TARGET, BANK_TARGET, IDENTITY_TARGET = 0, 1, 15
MAX_BANKS = 8

MAGIC, VERSION = 0x554C4652, 1  # "RFLU"

IDENTITY = Layout(
    "Identity",
    "What a board at the other end of a serial line is.",
    (
        Field("magic", "u32", f"{MAGIC:#x}"),
        Field("version", "u32", "of the protocol"),
        Field("config_hash", "u64", "as in the status block of the kernel"),
        Field("clock_hz", "u32", "the kernel's clock"),
        Field("payload", "u32", "largest count of a request"),
        Field("backlog", "u32", "bytes of requests that may wait at the board"),
        Field("bank_count", "u32", "memory banks"),
        Field("banks", "u32", "bytes of each", MAX_BANKS),
    ),
    size=64,
)

#: Access to one byte of a target; every request is answered once, in order.
BYTE_PORT = Signature(
    {
        "request": Out(
            stream.Signature(
                data.StructLayout({"address": TARGET_SHIFT, "write": 1, "data": unsigned(8)})
            )
        ),
        "response": In(stream.Signature(data.StructLayout({"data": unsigned(8), "failed": 1}))),
    }
)

"""Twin of ``hw.uart.frame``: frames to bytes of the line and back."""

import re
import struct
import zlib

from hw.uart.protocol import CRC_BYTES, END, ESCAPE, ESCAPED, HEADER_BYTES, Opcode

__all__ = ["Decoder", "encode", "request", "split_request"]

_HEADER = struct.Struct("<BBHI")
_STUFFED = re.compile(b"[" + re.escape(bytes(ESCAPED)) + b"]")
_ORIGINAL = {substitute: value for value, substitute in ESCAPED.items()}


def encode(frame):
    """The bytes that go over the line for ``frame``, a bytes object without CRC: the CRC is
    appended, special bytes are replaced, and an END byte follows."""
    whole = bytes(frame) + zlib.crc32(frame).to_bytes(CRC_BYTES, "little")
    stuffed = _STUFFED.sub(lambda found: bytes([ESCAPE, ESCAPED[found[0][0]]]), whole)
    return stuffed + bytes([END])


def request(sequence, opcode, address, count, payload=b""):
    """The frame of a request, bytes without CRC. ``count`` is the number of bytes to write or to
    read. It is not checked against ``payload``, because a READ has a count and no payload."""
    return _HEADER.pack(sequence, Opcode(opcode).value, count, address) + bytes(payload)


def split_request(frame):
    """``(sequence, opcode, address, count, payload)`` of the frame of a request without CRC. All
    are integers but ``payload``, the bytes behind the header. The frame must have a whole header;
    ``struct.error`` otherwise."""
    sequence, opcode, count, address = _HEADER.unpack_from(frame)
    return sequence, opcode, address, count, frame[HEADER_BYTES:]


class Decoder:
    """Finds frames in the bytes of the line, which ``feed`` takes in parts of any size. A frame may
    begin in one part and end in another."""

    def __init__(self):
        self._open = b""

    def feed(self, data):
        """A list of the frames, bytes without CRC, whose END byte is in ``data``, the line's next
        bytes. Frames that are too short or have a wrong CRC are left out. What follows the last END
        is kept for the next call."""
        *whole, self._open = (self._open + bytes(data)).split(bytes([END]))
        frames = (self._unstuffed(part) for part in whole)
        return [
            frame[:-CRC_BYTES]
            for frame in frames
            if len(frame) >= CRC_BYTES
            and zlib.crc32(frame[:-CRC_BYTES]) == int.from_bytes(frame[-CRC_BYTES:], "little")
        ]

    @staticmethod
    def _unstuffed(part):
        """Undoes the stuffing. An unknown byte after an ESCAPE stands for itself; an ESCAPE at the
        end makes the frame bad."""
        if re.fullmatch(rb"(?:[^%c]|%c.)*" % (ESCAPE, ESCAPE), part, re.DOTALL) is None:
            return b""
        return re.sub(
            rb"%c(.)" % ESCAPE,
            lambda found: bytes([_ORIGINAL.get(found[1][0], found[1][0])]),
            part,
            flags=re.DOTALL,
        )

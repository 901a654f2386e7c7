"""A board's memory and registers over a serial line: requests of ``hw.uart.protocol``, and replies.

Requests follow each other without waiting for replies, as far as the board has room for them. A
request without an answer is sent again; if there is still none, this is an error. Every wait is
bounded, even if something else sends on the port.
"""

import time
from collections import deque

import serial

from host.cards import CardError, CardTimeout
from hw.uart.protocol import END, STATUS_WORDS, Opcode, Status
from sim.model.uart.frames import Decoder, encode, request

__all__ = ["Line"]

#: Seconds without an answer after which requests are sent again: a simulated board takes its time.
SILENCE_S = 5.0
_ATTEMPTS = 3
#: Seconds that one look at the port takes at most; signals wait meanwhile.
_LOOK_S = 0.1


class Line:
    """Reads and writes a board's memory and registers over the serial port called ``port``, which
    is opened for this program alone, with ``baud`` bits a second.

    ``payload`` is the largest number of bytes that one request reads or writes, ``backlog`` the
    largest number of bytes of requests without a reply. Both are 64 until the caller sets them to
    the board's.

    Every method raises CardTimeout if the board does not answer, and CardError if it refuses a
    request or the port fails, for example because its cable was pulled.
    """

    def __init__(self, port, *, baud):
        self.port, self.payload, self.backlog = port, 64, 64
        self._decoder, self._sequence = Decoder(), 0
        try:
            self._serial = serial.Serial(port, baud, timeout=_LOOK_S, exclusive=True)
            self._serial.reset_input_buffer()
            # Whatever the board has of an older frame ends here.
            self._serial.write(bytes([END]))
        except (OSError, ValueError) as error:
            raise CardError(
                f"port must be a serial port that opens, not {port!r}: {error}"
            ) from error

    def close(self):
        self._serial.close()

    def reset(self):
        """Resets kernel and memory ports as after power-up."""
        self._exchange([(Opcode.RESET, 0, 0, b"")])

    def read(self, address, count):
        """Returns ``count`` bytes of the board, from ``address`` on."""
        return b"".join(
            self._exchange(
                [
                    (Opcode.READ, address + start, min(self.payload, count - start), b"")
                    for start in range(0, count, self.payload)
                ]
            )
        )

    def write(self, address, data):
        """Writes the bytes ``data`` to the board, from ``address`` on."""
        parts = [data[start : start + self.payload] for start in range(0, len(data), self.payload)]
        self._exchange(
            [
                (Opcode.WRITE, address + self.payload * index, len(part), part)
                for index, part in enumerate(parts)
            ]
        )

    def _exchange(self, requests):
        try:
            return self._answers(requests)
        except OSError as error:
            raise CardError(
                f"the port {self.port} must stay open, not fail: {error}; is the board's cable in, "
                "and its power on? Open the card again"
            ) from error

    def _answers(self, requests):
        """The replies' payloads, in the order of ``requests`` (opcode, address, count, payload)."""
        answers = [None] * len(requests)
        to_send, waiting = deque(range(len(requests))), {}
        attempts, deadline, noise = _ATTEMPTS, time.monotonic() + SILENCE_S, False
        while to_send or waiting:
            while to_send and self._has_room(waiting, requests[to_send[0]]):
                index = to_send.popleft()
                self._sequence = (self._sequence + 1) % 256
                waiting[self._sequence] = index, encode(request(self._sequence, *requests[index]))
                self._serial.write(waiting[self._sequence][1])
            data = self._serial.read(max(1, self._serial.in_waiting))
            noise = noise or bool(data)
            for frame in self._decoder.feed(data):
                # Answers to what was sent twice, or given up, are answers to nobody.
                if len(frame) >= 2 and frame[0] in waiting:
                    index, _ = waiting.pop(frame[0])
                    answers[index] = self._checked(requests[index], frame[1:-1], frame[-1])
                    attempts, noise = _ATTEMPTS, False
                    deadline = time.monotonic() + SILENCE_S
            if time.monotonic() >= deadline:
                attempts -= 1
                if not attempts:
                    heard = "send what is no answer" if noise else "stay silent"
                    raise CardTimeout(
                        f"the board at {self.port} must answer within {SILENCE_S:g} s, not {heard} "
                        f"{_ATTEMPTS} times: is its bitstream loaded, and this its port?"
                    )
                self._serial.write(bytes([END]) + b"".join(sent for _, sent in waiting.values()))
                deadline = time.monotonic() + SILENCE_S
        return answers

    def _has_room(self, waiting, each):
        """One request may always be under way: the board takes it as it comes."""
        under_way = sum(len(sent) for _, sent in waiting.values())
        return not waiting or under_way + len(encode(request(0, *each))) <= self.backlog

    def _checked(self, each, payload, status):
        opcode, address, count, _ = each
        if status == Status.DONE and len(payload) == (count if opcode == Opcode.READ else 0):
            return payload
        words = STATUS_WORDS.get(status, f"status {status} of another version of the protocol")
        if status == Status.DONE:
            words = f"a reply must have {count} bytes, not {len(payload)}"
        raise CardError(
            f"{opcode.name} of {count} bytes at {address:#x} must be done by the board at "
            f"{self.port}, not refused: {words}"
        )

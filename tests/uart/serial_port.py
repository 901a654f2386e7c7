"""A serial port with a board's twin at its other end, and what may go wrong on the way."""

import random


class SerialPort:
    """What ``host.cards.serial_line`` uses of ``serial.Serial``; ``board`` answers what is written.

    ``faults(direction, data)`` gives what arrives of ``data``, "in" at the board or "out" at the
    host. ``piece``: bytes that one read brings at most.
    """

    def __init__(self, board, *, faults=None, piece=50, seed=1):
        self.board, self.faults = board, faults or (lambda direction, data: data)
        self.piece, self.rng = piece, random.Random(seed)
        self.arrived, self.written, self.closed = b"", [], False

    @property
    def in_waiting(self):
        return len(self.arrived)

    def reset_input_buffer(self):
        self.arrived = b""

    def write(self, data):
        self.written.append(bytes(data))
        answer = self.board.exchange(self.faults("in", bytes(data)))
        self.arrived += self.faults("out", answer)

    def read(self, count):
        size = min(count, self.rng.randint(1, self.piece))
        data, self.arrived = self.arrived[:size], self.arrived[size:]
        return data

    def close(self):
        self.closed = True

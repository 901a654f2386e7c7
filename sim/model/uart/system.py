"""Twin of ``hw.uart.system``: bytes of the line in, bytes out; a launch is over when it starts."""

import numpy as np

from hw.uart.protocol import (
    BANK_TARGET,
    CONTROL_TARGET,
    HEADER_BYTES,
    IDENTITY_TARGET,
    TARGET_SHIFT,
    Opcode,
    Status,
)
from sim.card.memory import Buffer, Memory
from sim.model.kernels import twin_of
from sim.model.uart.frames import Decoder, encode, split_request

__all__ = ["System"]

_CONTROL_BYTES = 4096
_START, _DONE, _IDLE, _READY = 1, 2, 4, 8


class System:
    """A board with a kernel's twin, its memory banks and its line to the host: ``exchange`` takes
    bytes of the line and returns the answers. A launch is over as soon as it starts.

    Parameters
    ----------
    description : hw.shell.description.KernelDescription
        The kernel that runs on the board.
    config : hw.uart.config.UartConfig
        The board's line and memory banks.
    identity : bytes
        The board's IDENTITY record.
    """

    def __init__(self, description, config, identity):
        self.description, self.config, self.identity = description, config, identity
        self.banks = [np.zeros(size, np.uint8) for size in config.banks]
        self._decoder = Decoder()
        self._last = None
        self._start_anew()

    def _start_anew(self):
        self._kernel = twin_of(self.description)
        self._registers = {
            argument.offset + byte: 0
            for argument in self.description.arguments
            for byte in range(argument.size)
        }
        self._done = False

    def exchange(self, data):
        """Takes ``data``, the next bytes of the line from the host, executes the requests that they
        complete, and returns the bytes of all answers. Bad frames have no answer."""
        return b"".join(
            encode(self._execute(*split_request(frame)))
            for frame in self._decoder.feed(data)
            if len(frame) >= HEADER_BYTES
        )

    def _execute(self, sequence, opcode, address, count, payload):
        repeated = opcode == Opcode.WRITE.value and sequence == self._last
        self._last, answer = sequence, b""
        expected = count if opcode == Opcode.WRITE.value else 0
        if count > self.config.payload or len(payload) != expected:
            status = Status.COUNT
        elif opcode == Opcode.RESET.value:
            self._start_anew()
            status = Status.DONE
        elif opcode == Opcode.READ.value:
            answer, status = self._each(self._read, range(address, address + count))
        elif opcode != Opcode.WRITE.value:
            status = Status.OPCODE
        elif repeated:
            status = Status.DONE
        else:
            status = self._each(self._write, range(address, address + count), payload)[1]
        return bytes([sequence, *answer, status])

    @staticmethod
    def _each(access, *operands):
        results = [access(*each) for each in zip(*operands, strict=True)]
        failed = any(result is None for result in results)
        return bytes(result or 0 for result in results), (Status.ADDRESS if failed else Status.DONE)

    def _place(self, address):
        """``(target, offset)``; the hardware's addresses have 32 bits too."""
        address &= 0xFFFFFFFF
        return address >> TARGET_SHIFT, address & (1 << TARGET_SHIFT) - 1

    def _bank(self, address):
        """The bank of ``address`` and the offset in it, or None."""
        target, offset = self._place(address)
        if BANK_TARGET <= target < BANK_TARGET + len(self.banks):
            bank = self.banks[target - BANK_TARGET]
            if offset < len(bank):
                return bank, offset
        return None

    def _read(self, address):
        """The byte at ``address``, or None."""
        target, offset = self._place(address)
        if target == CONTROL_TARGET and offset < _CONTROL_BYTES:
            if offset // 4:
                return self._registers.get(offset, 0)
            value = (_IDLE | (_DONE | _READY) * self._done) if offset == 0 else 0
            self._done = False
            return value
        if target == IDENTITY_TARGET and offset < len(self.identity):
            return self.identity[offset]
        found = self._bank(address)
        return int(found[0][found[1]]) if found else None

    def _write(self, address, byte):
        """Writes a byte; returns None if nothing is at the address."""
        target, offset = self._place(address)
        if target == CONTROL_TARGET and offset < _CONTROL_BYTES:
            if offset in self._registers:
                self._registers[offset] = byte
            elif offset == 0 and byte & _START:
                self._launch()
            return 0
        found = self._bank(address)
        if found is None:
            return None
        found[0][found[1]] = byte
        return 0

    def _launch(self):
        values = {
            argument.name: sum(
                self._registers[argument.offset + byte] << 8 * byte for byte in range(argument.size)
            )
            for argument in self.description.arguments
        }
        memory = Memory(
            [
                Buffer(master.name, base, bank)
                for master, base, bank in zip(
                    self.description.masters, self.config.bases, self.banks, strict=True
                )
            ]
        )
        self._kernel.execute(values, memory)
        self._done = True

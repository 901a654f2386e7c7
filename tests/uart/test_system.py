"""hw.uart.system, Verilated with its pins, against its twin: the same bytes for the same bytes."""

import random
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from amaranth import *
from stream.resetting import driven
from uart.systems import KERNEL, UART, describe, folder, twin

from hw.designs import DESIGNS
from hw.replay.commands import COMMANDS, Opcode
from hw.replay.records import GRANULE_BYTES
from hw.shell.core import LIGHTS, CommandCore
from hw.shell.kernel import Kernel
from hw.shell.status_block import MAGIC, STATUS
from hw.uart.config import UartConfig
from hw.uart.protocol import END, HEADER_BYTES, IDENTITY, Status
from hw.uart.protocol import Opcode as Request
from hw.uart.system import System
from hw.verilog import to_verilog
from sim.model.uart.frames import Decoder, encode, request
from sim.uart import VerilatedSystem
from sim.uart.__main__ import board_in

CONTROL, BANKS, IDENTITY_BASE = 0, UART.bases, 15 << 20
BYTE = 10 * UART.divisor


@pytest.fixture
def pair():
    """The Verilated board and its twin, one asked after the other."""
    system = VerilatedSystem((folder() / "system.v").read_text(), divisor=UART.divisor)
    yield Pair(system, twin())
    system.close()


class Pair:
    def __init__(self, system, model):
        self.system, self.model, self.sequence = system, model, 0

    def exchange(self, data):
        """Both boards' answer to ``data``, as frames."""
        expected = self.model.exchange(data)
        got = self.system.run(BYTE * (len(data) + len(expected)) + 4000, data)
        while len(got) < len(expected) and (more := self.system.run(4000)):
            got += more
        assert got == expected
        return Decoder().feed(got)

    def ask(self, opcode, address, count, payload=b""):
        self.sequence = (self.sequence + 1) % 256
        (reply,) = self.exchange(encode(request(self.sequence, opcode, address, count, payload)))
        assert reply[0] == self.sequence
        return reply[1:-1], Status(reply[-1])

    def write(self, address, data):
        for start in range(0, len(data), UART.payload):
            part = bytes(data[start : start + UART.payload])
            assert self.ask(Request.WRITE, address + start, len(part), part) == (b"", Status.DONE)

    def read(self, address, count):
        data, status = self.ask(Request.READ, address, count)
        assert status == Status.DONE
        return data


def test_identity(pair):
    record = np.frombuffer(pair.read(IDENTITY_BASE, IDENTITY.size), IDENTITY.dtype)[0]
    assert record["config_hash"] == describe().config_hash and record["clock_hz"] == 12_000_000
    assert record["banks"][: record["bank_count"]].tolist() == list(UART.banks)
    assert pair.ask(Request.READ, IDENTITY_BASE + 62, 4)[1] == Status.ADDRESS
    assert pair.ask(Request.WRITE, IDENTITY_BASE, 1, b"x")[1] == Status.ADDRESS


def test_memory_and_registers(pair):
    """Random accesses everywhere: both ends of each bank, registers, what lies between."""
    rng = random.Random(1)
    ends = [base + size for base, size in zip(BANKS, UART.banks, strict=True)]
    places = [*BANKS, *(end - 20 for end in ends), *ends, 0x10, 0x18, 0x40, 0xFF8, 0x1000, 3 << 20]
    for base, size in zip(BANKS, UART.banks, strict=True):
        pair.write(base, bytes(size) if size < 1 << 15 else bytes(1 << 10))
        pair.write(base + size - 64, bytes(64))
    for _ in range(120):
        address, count = rng.choice(places) + rng.randrange(8), rng.randint(0, 12)
        if rng.random() < 0.5:
            pair.ask(Request.WRITE, address, count, rng.randbytes(count))
        else:
            pair.ask(Request.READ, address, count)


def test_garbage_between_requests(pair):
    """Twin and board are in step again behind the same END, whatever came before it."""
    rng = random.Random(2)
    pair.write(BANKS[0], bytes(64))
    for sequence in range(60):
        good = encode(request(sequence, Request.WRITE, BANKS[0] + sequence % 64, 2, b"ok"))
        noise = rng.choice(
            [
                rng.randbytes(rng.randint(1, 60)),
                good[: rng.randrange(len(good))],
                good[rng.randrange(1, len(good)) :],
                encode(rng.randbytes(rng.randrange(HEADER_BYTES))),
                b"",
            ]
        )
        pair.exchange(noise + bytes([END]) + good)
    assert b"ok" in pair.read(BANKS[0], 64)
    assert not pair.system.brightness().any()  # of a kernel that has nothing to show


def test_requests_in_a_row(pair):
    """As many as fit the backlog, sent without waiting for a reply."""
    rng = random.Random(3)
    data = rng.randbytes(600)
    frames = [
        encode(request(k, Request.WRITE, BANKS[1] + 100 * k, 100, data[100 * k : 100 * k + 100]))
        for k in range(6)
    ]
    frames += [encode(request(k, Request.READ, BANKS[1] + 50 * (k - 6), 50)) for k in range(6, 18)]
    replies = pair.exchange(b"".join(frames))
    assert [reply[0] for reply in replies] == list(range(18))
    assert b"".join(reply[1:-1] for reply in replies) == data


def command(opcode, **values):
    record = np.zeros((), COMMANDS[opcode].dtype)
    record["opcode"] = opcode.value
    for name, value in values.items():
        record[name] = value
    return record.tobytes()


def launch(pair, commands, operands=b""):
    """A program on the kernel; the status blocks of both boards, which differ in clocks alone."""
    program, operand_base, results, status = (BANKS[0] + 0x4000 * k for k in range(4))
    pair.write(program, b"".join(commands))
    if operands:
        pair.write(operand_base, operands)
    values = dict(
        program=program,
        operands=operand_base,
        results=results,
        status=status,
        storage=BANKS[1],
        command_count=len(commands),
    )
    for argument in describe().arguments:
        # Every buffer has the same size.
        value = values.get(argument.name, 0x4000 // argument.unit)
        pair.write(argument.offset, value.to_bytes(argument.size, "little"))
    pair.write(CONTROL, b"\1")
    pair.system.run(30_000)
    assert pair.read(CONTROL, 1) == bytes([0b1110])
    assert pair.read(CONTROL, 1) == bytes([0b0100])  # the read has cleared ap_done
    blocks = []
    for exchange in (pair.model.exchange, lambda data: pair.system.run(60_000, data)):
        pair.sequence = (pair.sequence + 1) % 256
        frame = request(pair.sequence, Request.READ, status, 192)
        (reply,) = Decoder().feed(exchange(encode(frame)))
        blocks.append(reply[1:-1])
    return blocks, results


def test_launch(pair):
    """A program of the replay kernel through the line: the same batch as the twin's."""
    rng = random.Random(4)
    setup = command(Opcode.SETUP, capacity=256, granules=3, priority=1 << 16)
    seed = command(Opcode.SEED, state=[1, 2, 3, 1])
    insert = command(Opcode.INSERT, count=40)
    sample = command(Opcode.SAMPLE, count=16, stratum_width=(1 << 48) // 16, beta=1 << 14)
    blocks, results = launch(
        pair, [setup, seed, insert, sample], rng.randbytes(40 * 3 * GRANULE_BYTES)
    )
    records = [np.frombuffer(block[: STATUS.size], STATUS.dtype)[0] for block in blocks]
    assert all(r["magic"] == MAGIC and r["executed"] == 4 and not r["error"] for r in records)
    assert records[0]["cycles"] == 0 < records[1]["cycles"] < 10_000
    batch = pair.read(results, 16 * 4 * GRANULE_BYTES)
    assert len(set(batch)) > 100

    blocks, _ = launch(pair, [command(Opcode.SAMPLE, count=300, stratum_width=1)])
    assert all(np.frombuffer(b[:64], STATUS.dtype)[0]["error"] for b in blocks)


def test_reset_in_mid_launch(pair):
    """The kernel forgets its launch and all it held; memory keeps its bytes."""
    setup = command(Opcode.SETUP, capacity=256, granules=0, priority=1)
    launch(pair, [setup])
    pair.write(BANKS[1], b"kept")
    pair.system.run(0)
    start = encode(request(250, Request.WRITE, CONTROL, 1, b"\1"))
    reset = encode(request(251, Request.RESET, 0, 0))
    pair.exchange(start + reset)
    pair.sequence = 251
    assert pair.read(CONTROL, 1) == bytes([0b0100])
    assert pair.read(0x10, 8) == bytes(8)
    assert pair.read(BANKS[1], 4) == b"kept"
    launch(pair, [setup])


def test_the_harness_has_all_leds():
    text = (files("sim.uart") / "harness.cpp").read_text(encoding="utf-8")
    assert f"constexpr int LEDS = {LIGHTS.size};" in text


class Lit(Kernel):
    """A kernel whose core shows a pattern, and has nothing else."""

    def __init__(self):
        super().__init__(describe(), CommandCore.__new__(CommandCore))
        self.pattern = Signal(LIGHTS)

    def elaborate(self, platform):
        m = Module()
        fields = {name: self.pattern[name] for name in ("learns", "met", "bar")}
        self.core.show(m, "comb", **fields)
        return m


def test_a_board_with_leds_gives_its_core_lights():
    """They are its LEDs, in order; what no core shows is off. A core has none by itself."""
    kernel = Lit()
    m = Module()
    kernel.core.show(m, "comb", acts=1)  # no lights, no error
    system = System(kernel, UART)

    async def bench(ctx, _):
        for pattern in (0, 1, 2, 4, 8, 64, 127):
            ctx.set(kernel.pattern.as_value(), pattern)
            assert ctx.get(system.leds.as_value()) == pattern & ~1

    driven(system, bench)
    assert CommandCore.lights is None and kernel.core.lights.shape() == LIGHTS


def test_banks_are_one_a_master():
    config = UartConfig(clock_hz=12_000_000, banks=(4096,))
    with pytest.raises(ValueError, match=r"banks must be 2, one for each master, not \(4096,\)"):
        System(DESIGNS["replay"].kernel(KERNEL), config)


def test_a_simulated_board_may_have_a_faster_line():
    """Its Verilog differs in the clocks of a bit only; that of the folder stays the board's."""
    own = (folder() / "system.v").read_text()
    assert board_in(folder()) == board_in(folder(), UART.divisor) == (own, UART.divisor)
    other, divisor = board_in(folder(), 6)
    assert divisor == 6 and other != own
    expected = System(DESIGNS["replay"].kernel(KERNEL), replace(UART, baud=2_000_000))
    assert other == to_verilog(expected, name="system")
    with pytest.raises(ValueError, match="bit-clocks must be at least 4, not 3"):
        board_in(folder(), 3)

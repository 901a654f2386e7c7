"""Runs inside the simulator; started by test_bridge.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import put_all, reset

from hw.uart.bridge import PATIENCE
from hw.uart.protocol import BYTE_PORT, END, TARGET_SHIFT, Opcode, Status
from sim.model.uart.frames import Decoder, encode, request

CASE = json.loads(os.environ["CASE"])
PAYLOAD, GAP = CASE["payload"], CASE["gap"]
REQUEST = BYTE_PORT.members["request"].signature.members["payload"].shape
#: Counts, and the bytes in frames; also a count above the payload with as many bytes.
LENGTHS = (0, 1, 2, PAYLOAD - 1, PAYLOAD, PAYLOAD + 1, 3 * PAYLOAD)
SIZE = 3 << 10  # bytes at target 5; every other target fails
TARGET = 5 << TARGET_SHIFT


class Board:
    """What the port reaches, and the other end of the line; takes its time."""

    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.memory = bytearray(rng.randbytes(SIZE))
        self.accesses, self.replies, self.resets = [], [], 0
        self.deaf = self.mute = self.full = False
        self.late = self.asked = 0  # clocks that an answer takes; clocks with a request
        self._decoder = Decoder()

    async def start(self):
        dut = self.dut
        dut.i__valid.value = dut.o__ready.value = 0
        dut.port__request__ready.value = dut.port__response__valid.value = 0
        cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
        await reset(dut)
        for task in (self._port(), self._line(), self._reset()):
            cocotb.start_soon(task)

    async def _port(self):
        dut = self.dut
        request_, response = "port__request", "port__response"
        while True:
            taken = False
            while not taken:
                ready = not self.deaf and self.rng.random() >= GAP
                getattr(dut, f"{request_}__ready").value = int(ready)
                await ReadOnly()
                taken = ready and int(getattr(dut, f"{request_}__valid").value)
                word = int(getattr(dut, f"{request_}__payload").value) if taken else None
                target = int(dut.target.value)
                self.asked += int(getattr(dut, f"{request_}__valid").value)
                await RisingEdge(dut.clk)
            getattr(dut, f"{request_}__ready").value = 0
            answer = self._access((target << TARGET_SHIFT), REQUEST.from_bits(word))
            late = self.late
            while self.mute or late or self.rng.random() < GAP:
                late = max(0, late - 1)
                await RisingEdge(dut.clk)
                if int(dut.reset.value):
                    break
            else:
                getattr(dut, f"{response}__payload").value = answer
                getattr(dut, f"{response}__valid").value = 1
                while True:
                    await ReadOnly()
                    taken = int(getattr(dut, f"{response}__ready").value) or int(dut.reset.value)
                    await RisingEdge(dut.clk)
                    if taken:
                        break
                getattr(dut, f"{response}__valid").value = 0

    def _access(self, base, word):
        place = base + word["address"]
        self.accesses.append((place, word["data"] if word["write"] else None))
        if not TARGET <= place < TARGET + SIZE:
            return 1 << 8
        if word["write"]:
            self.memory[place - TARGET] = word["data"]
            return 0
        return self.memory[place - TARGET]

    async def _line(self):
        while True:
            ready = not self.full and self.rng.random() >= GAP
            self.dut.o__ready.value = int(ready)
            await ReadOnly()
            if ready and int(self.dut.o__valid.value):
                byte = int(self.dut.o__payload.value)
                self.replies += self._decoder.feed(bytes([byte]))
            await RisingEdge(self.dut.clk)

    async def _reset(self):
        while True:
            await RisingEdge(self.dut.clk)
            await ReadOnly()
            self.resets += int(self.dut.reset.value)

    async def send(self, data):
        await with_timeout(put_all(self.dut, "i", data, self.rng, GAP), 5000, "us")

    async def ask(self, frame, *, clocks=40 * PAYLOAD + 2000):
        """The one reply to a request's frame."""
        await self.send(encode(frame))
        for _ in range(clocks):
            if self.replies:
                return self.replies.pop(0)
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"no reply to {frame[:12].hex()} within {clocks} clocks")

    async def quiet(self, clocks=500):
        for _ in range(clocks):
            await RisingEdge(self.dut.clk)
        assert not self.replies, self.replies


async def board(dut):
    made = Board(dut, random.Random(CASE["seed"]))
    await made.start()
    return made


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def bytes_arrive(dut):
    """READ and WRITE of any length, at the ends of the memory, none at all, the largest payload."""
    one = await board(dut)
    rng = one.rng
    for sequence in range(40):
        count = rng.choice([0, 1, 2, 7, 8, PAYLOAD - 1, PAYLOAD, rng.randint(1, PAYLOAD)])
        place = rng.choice([0, SIZE - count, rng.randint(0, SIZE - count)])
        image, one.accesses[:] = bytes(one.memory), []
        if rng.random() < 0.5:
            data = rng.randbytes(count)
            frame = request(sequence, Opcode.WRITE, TARGET + place, count, data)
            assert await one.ask(frame) == bytes([sequence, Status.DONE])
            assert one.memory == image[:place] + data + image[place + count :]
            assert one.accesses == [(TARGET + place + k, byte) for k, byte in enumerate(data)]
        else:
            frame = request(sequence, Opcode.READ, TARGET + place, count)
            data = image[place : place + count]
            assert await one.ask(frame) == bytes([sequence, *data, Status.DONE])
            assert one.accesses == [(TARGET + place + k, None) for k in range(count)]


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_error_has_its_status(dut):
    """And none touches the memory."""
    one = await board(dut)
    image = bytes(one.memory)
    long = PAYLOAD + 1
    for sequence, frame, status in (
        (1, request(1, Opcode.READ, TARGET, long), Status.COUNT),
        (2, request(2, Opcode.READ, TARGET, 1, b"x"), Status.COUNT),
        (7, request(7, Opcode.RESET, 0, 0, b"x"), Status.COUNT),
        (8, bytes([8, 0, 1, 0, 0, 0, 0x50, 0]), Status.OPCODE),
        (9, bytes([9, 255, 0, 0, 0, 0, 0x50, 0]), Status.OPCODE),
        *(
            (20 + k, request(20 + k, Opcode.WRITE, TARGET, count, bytes(length)), Status.COUNT)
            for k, (count, length) in enumerate([*itertools.permutations(LENGTHS, 2), (long, long)])
        ),
    ):
        assert await one.ask(frame) == bytes([sequence, status]), frame[:12].hex()
    assert not one.accesses and not one.resets
    reply = await one.ask(request(10, Opcode.READ, TARGET + SIZE - 2, 4))
    assert (reply[:3], reply[-1]) == (bytes([10]) + image[-2:], Status.ADDRESS)
    reply = await one.ask(request(11, Opcode.WRITE, TARGET + SIZE, 2, b"xy"))
    assert reply == bytes([11, Status.ADDRESS])
    reply = await one.ask(request(12, Opcode.READ, 0xFFFFFFFF, 2))
    assert len(reply) == 4 and reply[-1] == Status.ADDRESS
    assert one.accesses[-2:] == [(0xFFFFFFFF, None), (0, None)]
    assert one.memory == image


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def noise_is_dropped(dut):
    """Whatever comes before an END: the frame behind it is answered, and nothing else is."""
    one = await board(dut)
    rng = one.rng
    for sequence in range(1, 15):
        good = encode(request(sequence, Opcode.WRITE, TARGET + sequence, 1, bytes([sequence])))
        broken = bytearray(encode(request(99, Opcode.WRITE, TARGET, 4, b"abcd")))
        broken[rng.randrange(len(broken) - 1)] ^= 1 << rng.randrange(8)
        noise = rng.choice(
            [
                rng.randbytes(rng.randint(1, 40)),
                bytes(broken),
                broken[: rng.randrange(1, len(broken) - 1)],
                good[: rng.randrange(1, len(good) - 1)],
                bytes([END] * 3),
                encode(b""),
                encode(bytes(7)),
                bytes(4 * PAYLOAD),
            ]
        )
        await one.send(bytes(noise) + bytes([END]))
        await one.quiet(200)
        assert await one.ask(request(sequence, Opcode.READ, TARGET, 1)) == bytes(
            [sequence, one.memory[0], Status.DONE]
        )
        assert (TARGET, ord("a")) not in one.accesses


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_write_is_repeated_without_effect(dut):
    """The same sequence number again: answered, not executed; a READ is executed again."""
    one = await board(dut)
    frame = request(7, Opcode.WRITE, TARGET, 2, b"ab")
    assert await one.ask(frame) == bytes([7, Status.DONE])
    one.memory[:2] = b"zz"
    assert await one.ask(frame) == bytes([7, Status.DONE])
    assert one.memory[:2] == b"zz"
    for _ in range(2):
        assert await one.ask(request(7, Opcode.READ, TARGET, 1)) == b"\x07z\x00"
    assert await one.ask(request(8, Opcode.WRITE, TARGET, 1, b"c")) == bytes([8, Status.DONE])
    assert await one.ask(frame) == bytes([7, Status.DONE])
    assert one.memory[:2] == b"ab"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_first_write_is_executed(dut):
    """Whatever its number: there is no request before it that it could repeat."""
    one = await board(dut)
    assert await one.ask(request(0, Opcode.WRITE, TARGET, 1, b"q")) == bytes([0, Status.DONE])
    assert one.memory[0] == ord("q")


@cocotb.test(skip=bool(GAP), timeout_time=2, timeout_unit="ms")
async def what_stands_still_is_told(dut):
    """A port that takes no request, or gives no answer; then STALLED at once until RESET."""
    one = await board(dut)
    for sequence, (fault, kind) in enumerate(
        [("deaf", Opcode.READ), ("mute", Opcode.READ), ("mute", Opcode.WRITE)]
    ):
        setattr(one, fault, True)
        payload = b"ab" if kind == Opcode.WRITE else b""
        frame = request(sequence, kind, TARGET, 2, payload)
        assert await one.ask(frame, clocks=PATIENCE + 200) == bytes([sequence, Status.STALLED])
        setattr(one, fault, fault == "mute")  # an answer that never came must not come late
        one.accesses.clear()
        again = request(100 + sequence, kind, TARGET, 2, payload)
        assert await one.ask(again, clocks=100) == bytes([100 + sequence, Status.STALLED])
        assert not one.accesses
        setattr(one, fault, False)
        before = one.resets
        assert await one.ask(request(200, Opcode.RESET, 0, 0)) == bytes([200, Status.DONE])
        assert one.resets - before == 16
        data = bytes([201, one.memory[5], Status.DONE])
        assert await one.ask(request(201, Opcode.READ, TARGET + 5, 1)) == data


@cocotb.test(skip=bool(GAP), timeout_time=2, timeout_unit="ms")
async def patience_is_for_each_answer(dut):
    """Each may take nearly as long, of READ and WRITE; the line may take longer than that."""
    one = await board(dut)
    one.late = PATIENCE - 30
    for sequence, kind, payload in ((1, Opcode.READ, b""), (2, Opcode.WRITE, b"ab")):
        data = b"" if payload else bytes(one.memory[:2])
        frame = request(sequence, kind, TARGET, 2, payload)
        reply = await one.ask(frame, clocks=2 * PATIENCE + 200)
        assert reply == bytes([sequence, *data, Status.DONE])
    one.full, one.late = True, 0
    await one.send(encode(request(3, Opcode.READ, TARGET, 2)))
    await one.quiet(PATIENCE + 200)
    one.full = False
    for _ in range(200):
        await RisingEdge(dut.clk)
    assert one.replies == [bytes([3, *one.memory[:2], Status.DONE])]


@cocotb.test(skip=bool(GAP), timeout_time=2, timeout_unit="ms")
async def patience_ends_in_its_clock(dut):
    """A request is shown for PATIENCE clocks, an answer is taken in the last of them."""
    one = await board(dut)
    for late, status in ((PATIENCE - 2, Status.DONE), (PATIENCE - 1, Status.STALLED)):
        one.late = late
        reply = await one.ask(request(1, Opcode.READ, TARGET, 1), clocks=PATIENCE + 200)
        assert reply[-1] == status, f"{status!r} after {late} clocks"
    one.deaf, one.late = True, 0
    assert (await one.ask(request(2, Opcode.RESET, 0, 0)))[-1] == Status.DONE
    one.asked = 0
    reply = await one.ask(request(3, Opcode.READ, TARGET, 1), clocks=PATIENCE + 200)
    assert (reply[-1], one.asked) == (Status.STALLED, PATIENCE)

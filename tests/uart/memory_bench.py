"""Runs inside the simulator; started by test_memory.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from streams import get_all, put_all, reset, transfers

from hw.shell.axi import ADDRESS, read_beat, write_beat
from hw.uart.memory import AxiMemory
from hw.uart.protocol import BYTE_PORT

CASE = json.loads(os.environ["CASE"])
SIZE, BASE, WIDTH = CASE["size"], CASE["base"], CASE["data_width"]
BYTES = WIDTH // 8
BEATS = SIZE // BYTES
READ, WRITE = read_beat(WIDTH), write_beat(WIDTH)
BYTE = BYTE_PORT.members["request"].signature.members["payload"].shape
DECODE_ERROR = 3
STREAMS = ("ar", "aw", "w", "port__request")


def pack(layout, **values):
    return layout.const(values).as_value().value


def address(beat, length):
    return pack(ADDRESS, addr=BASE + beat * BYTES, len=length - 1)


async def start(dut):
    for name in STREAMS:
        getattr(dut, f"{name}__valid").value = 0
    for name in ("r", "b", "port__response"):
        getattr(dut, f"{name}__ready").value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


async def sent(dut, name, words, rng, gap=0.0):
    await with_timeout(put_all(dut, name, words, rng, gap), 100, "us")


async def got(dut, name, count, rng, gap=0.0):
    words = await with_timeout(get_all(dut, name, count, rng, gap), 200, "us")
    return [word for (word,) in words]


async def write(dut, bursts, rng, gap=0.0):
    """``bursts`` of (beat, data): the answers."""
    data = [
        pack(WRITE, data=word, last=k == len(words) - 1)
        for _, words in bursts
        for k, word in enumerate(words)
    ]
    cocotb.start_soon(sent(dut, "aw", [address(b, len(w)) for b, w in bursts], rng, gap))
    cocotb.start_soon(sent(dut, "w", data, rng, gap))
    return await got(dut, "b", len(bursts), rng, gap)


async def read(dut, bursts, rng, gap=0.0):
    """``bursts`` of (beat, length): the beats."""
    cocotb.start_soon(sent(dut, "ar", [address(*burst) for burst in bursts], rng, gap))
    return await got(dut, "r", sum(length for _, length in bursts), rng, gap)


async def bytes_(dut, accesses, rng, gap=0.0):
    """``accesses`` of (address, None or byte): (byte, failed) of each."""
    words = [
        pack(BYTE, address=place, write=value is not None, data=value or 0)
        for place, value in accesses
    ]
    cocotb.start_soon(sent(dut, "port__request", words, rng, gap))
    answers = await got(dut, "port__response", len(words), rng, gap)
    return [(answer & 0xFF, answer >> 8) for answer in answers]


def random_bursts(rng, count):
    for _ in range(count):
        length = rng.choice([1, 2, 3, 16, rng.randint(1, 40)])
        yield rng.randrange(BEATS - length), length


def beats_of(image, bursts):
    return [
        pack(
            READ,
            data=int.from_bytes(image[k * BYTES : (k + 1) * BYTES], "little"),
            resp=0,
            last=k == beat + length - 1,
        )
        for beat, length in bursts
        for k in range(beat, beat + length)
    ]


async def filled(dut, rng):
    """The whole memory written in bursts; its bytes."""
    image = bytearray(rng.randbytes(SIZE))
    words = [int.from_bytes(image[k : k + BYTES], "little") for k in range(0, SIZE, BYTES)]
    bursts = [(k, words[k : k + 64]) for k in range(0, BEATS, 64)]
    assert await write(dut, bursts, rng) == [0] * len(bursts)
    return image


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_was_written_is_read(dut):
    """Bursts and bytes in turn, with gaps on all streams; first and last beat, first and last."""
    rng, gap = random.Random(CASE["seed"]), CASE["gap"]
    await start(dut)
    image = await filled(dut, rng)
    for _ in range(4):
        writes = []
        for beat, length in [(0, 1), (BEATS - 1, 1), *random_bursts(rng, 10)]:
            data = rng.randbytes(length * BYTES)
            image[beat * BYTES : beat * BYTES + len(data)] = data
            words = (data[k : k + BYTES] for k in range(0, len(data), BYTES))
            writes.append((beat, [int.from_bytes(word, "little") for word in words]))
        assert await write(dut, writes, rng, gap) == [0] * len(writes)
        accesses = []
        for place in [0, SIZE - 1, *(rng.randrange(SIZE) for _ in range(30))]:
            value = rng.choice([None, rng.randrange(256)])
            if value is not None:
                image[place] = value
            accesses.append((place, value, image[place]))
        answers = await bytes_(dut, [access[:2] for access in accesses], rng, gap)
        for (_, value, expected), (byte, failed) in zip(accesses, answers, strict=True):
            assert not failed and (value is not None or byte == expected)
        reads = [(0, 1), (BEATS - 1, 1), *random_bursts(rng, 20)]
        assert await read(dut, reads, rng, gap) == beats_of(image, reads)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_come_between_bursts(dut):
    """Both sides at once, on parts of the memory of their own: neither loses anything."""
    rng = random.Random(CASE["seed"] + 1)
    await start(dut)
    image = await filled(dut, rng)
    half = BEATS // 2
    reads = [(beat % (half - 40), length) for beat, length in random_bursts(rng, 30)]
    accesses = [(half * BYTES + k % (SIZE // 2), k & 0xFF) for k in range(0, 300, 7)]
    looks = [(place, None) for place, _ in accesses]
    busy = cocotb.start_soon(bytes_(dut, accesses + looks, rng))
    assert await read(dut, reads, rng, CASE["gap"]) == beats_of(image, reads)
    answers = (await busy)[len(accesses) :]
    assert answers == [(value, 0) for _, value in accesses]

    writes = [(beat, [rng.getrandbits(WIDTH) for _ in range(length)]) for beat, length in reads]
    accesses = [(place, value ^ 0xFF) for place, value in accesses]
    busy = cocotb.start_soon(bytes_(dut, accesses, rng))
    assert await write(dut, writes, rng, CASE["gap"]) == [0] * len(writes)
    await busy
    for beat, words in writes:
        data = b"".join(word.to_bytes(BYTES, "little") for word in words)
        image[beat * BYTES : beat * BYTES + len(data)] = data
    for place, value in accesses:
        image[place] = value
    everything = [(k, 64) for k in range(0, BEATS, 64)]
    assert await read(dut, everything, rng) == beats_of(image, everything)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def beyond_its_end(dut):
    """DECERR for each beat that is not there, and only for these; nothing is written."""
    rng = random.Random(CASE["seed"] + 2)
    await start(dut)
    image = await filled(dut, rng)
    elsewhere = (1 << 20) // BYTES
    last = beats_of(image, [(BEATS - 1, 1)])[0] & ~(1 << WIDTH + 2)
    none = [pack(READ, data=0, resp=DECODE_ERROR, last=last) for last in (0, 1)]
    assert await read(dut, [(BEATS - 1, 2), (elsewhere, 1), (-1, 1)], rng) == [
        last, none[1], none[1], none[1],
    ]  # fmt: skip
    assert await write(dut, [(BEATS - 1, [5, 6]), (elsewhere, [7]), (0, [8])], rng) == [
        DECODE_ERROR, DECODE_ERROR, 0,
    ]  # fmt: skip
    image[-BYTES:], image[:BYTES] = (n.to_bytes(BYTES, "little") for n in (5, 8))
    everything = [(k, 64) for k in range(0, BEATS, 64)]
    assert await read(dut, everything, rng) == beats_of(image, everything)
    answers = await bytes_(dut, [(SIZE, None), (SIZE, 9), ((1 << 20) - 1, 9), (0, None)], rng)
    assert answers == [(0, 1), (0, 1), (0, 1), (8, 0)]


@cocotb.test(skip=bool(CASE["gap"]), timeout_time=1, timeout_unit="ms")
async def pace(dut):
    """A beat a clock, a clock between bursts, the first beat ``READ_LATENCY`` after its address."""
    rng = random.Random(0)
    await start(dut)
    await filled(dut, rng)
    cocotb.start_soon(put_all(dut, "ar", [address(0, 16), address(32, 3)], rng))
    dut.r__ready.value = 1
    begin, clocks = None, []
    for clock in itertools.count():
        taken, moved = await transfers(dut, "ar", "r")
        begin = clock if begin is None and taken else begin
        clocks += [clock] if moved else []
        if len(clocks) == 19:
            break
        assert clock < 100, "beats do not come"
    first = begin + AxiMemory.READ_LATENCY
    assert clocks == [*range(first, first + 16), *range(first + 17, first + 20)]

    dut.r__ready.value, dut.b__ready.value = 0, 1
    cocotb.start_soon(put_all(dut, "aw", [address(0, 16)], rng))
    cocotb.start_soon(
        put_all(dut, "w", [pack(WRITE, data=k, last=k == 15) for k in range(16)], rng)
    )
    beats, answer = [], None
    for clock in range(100):
        moved, answered = await transfers(dut, "w", "b")
        beats += [clock] if moved else []
        answer = clock if answered else answer
    assert beats == [*range(beats[0], beats[0] + 16)] and answer == beats[-1] + 1


@cocotb.test(skip=bool(CASE["gap"]), timeout_time=1, timeout_unit="ms")
async def a_full_sink_loses_nothing(dut):
    rng = random.Random(CASE["seed"] + 3)
    await start(dut)
    image = await filled(dut, rng)
    cocotb.start_soon(put_all(dut, "ar", [address(0, 32)], rng))
    for _ in range(60):
        await RisingEdge(dut.clk)
    await ReadOnly()
    assert int(dut.r__valid.value)
    await RisingEdge(dut.clk)
    assert await got(dut, "r", 32, rng) == beats_of(image, [(0, 32)])

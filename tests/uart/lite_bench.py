"""Runs inside the simulator; started by test_lite.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteRam
from streams import get_all, put_all, reset

from hw.uart.protocol import BYTE_PORT

CASE = json.loads(os.environ["CASE"])
BYTE = BYTE_PORT.members["request"].signature.members["payload"].shape


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_of_a_memory(dut):
    """Against cocotbext-axi's slave, with pauses on every channel; beyond 4096 they fail."""
    rng, gap = random.Random(CASE["seed"]), CASE["gap"]
    dut.port__request__valid.value = dut.port__response__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    slave = AxiLiteRam(AxiLiteBus.from_prefix(dut, "axi"), dut.clk, dut.rst, size=4096)
    for channel in (
        slave.write_if.aw_channel,
        slave.write_if.w_channel,
        slave.write_if.b_channel,
        slave.read_if.ar_channel,
        slave.read_if.r_channel,
    ):
        channel.set_pause_generator(rng.random() < gap for _ in itertools.count())
    await reset(dut, 4)
    image = bytearray(rng.randbytes(4096))
    slave.write(0, bytes(image))
    words, expected = [], []
    for place in [0, 4095, 4096, (1 << 20) - 1, *(rng.randrange(5000) for _ in range(200))]:
        value = rng.choice([None, rng.randrange(256)])
        words.append(BYTE.const(dict(address=place, write=value is not None, data=value or 0)))
        if place >= 4096:
            expected.append((0, 1))
        elif value is None:
            expected.append((image[place], 0))
        else:
            image[place] = value
            expected.append((0, 0))
    raw = [word.as_value().value for word in words]
    cocotb.start_soon(put_all(dut, "port__request", raw, rng, gap))
    got = await with_timeout(get_all(dut, "port__response", len(raw), rng, gap), 200, "us")
    assert [(word & 0xFF, word >> 8) for (word,) in got] == expected
    assert slave.read(0, 4096) == bytes(image)

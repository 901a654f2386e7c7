"""Runs inside the simulator: a counter near its end; see test_ring.py."""

import json
import os

import cocotb
from driving import pulse, seen, start

from hw.replay.config import ReplayConfig
from hw.replay.replay_state import ReplayState


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def saturations_stay(dut):
    """At 2**32 - 1: what is clipped is never counted from 0 again."""
    await start(dut, ReplayState(ReplayConfig(**json.loads(os.environ["CASE"])["config"]), 64))
    for expected in (2**32 - 2, 2**32 - 1, 2**32 - 1, 2**32 - 1):
        assert await seen(dut, "saturations") == expected
        await pulse(dut, "saturated")

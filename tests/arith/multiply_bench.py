"""Runs inside the simulator; started by test_multiply.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

CASE = json.loads(os.environ["CASE"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def product_after_latency(dut):
    rng = random.Random(CASE["seed"])
    sides = []
    for width in (CASE["a_width"], CASE["b_width"]):
        top = (1 << width) - 1
        # Limbs of ones beside limbs of zeros: every carry between partial products.
        masks = [top & ((1 << bits) - 1) << at for bits in (17, 26) for at in range(0, width, bits)]
        sides.append([0, 1, top, top - 1, top >> 1, *masks])
    operands = list(itertools.product(*sides))
    operands += [(rng.getrandbits(CASE["a_width"]), rng.getrandbits(CASE["b_width"]))
                 for _ in range(500)]  # fmt: skip

    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    products = []
    for a, b in operands + [(0, 0)] * CASE["latency"]:
        dut.a.value, dut.b.value = a, b
        await ReadOnly()
        products.append(dut.product.value)
        await RisingEdge(dut.clk)
    got = [int(product) for product in products[CASE["latency"] :]]
    assert got == [a * b for a, b in operands]

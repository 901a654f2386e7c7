"""Runs inside the simulator; started by test_run_walk.py."""

import json
import os

import cocotb
from driving import Watch, clocks, start, within
from shell.port_memory import Phases
from shell.request_cases import pack
from streams import get_all, put_all

from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.rows import ROW_BYTES

CASE = json.loads(os.environ["CASE"])
PORTS, RUNS, BASES = CASE["ports"], CASE["runs"], CASE["bases"]
UNIT = RunWalk(PORTS, CASE["rows"])


def requests(port):
    """``(address, beats)`` of all lists, as the docstring has it."""
    return [
        (BASES[port] + ROW_BYTES * (run["row"] + k * run["step"]), run["beats"])
        for run in RUNS
        if run["targets"] >> port & 1
        for k in range(run["count"])
    ]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(longest=[0, 1, 3, 20])
async def requests_of_every_port(dut, longest):
    """Each port is asked once for each run of its lists, whatever the others do."""
    await start(dut, UNIT)
    names = [f"requests__{port}" for port in range(PORTS)]
    for port, base in enumerate(BASES):
        getattr(dut, f"bases__{port}").value = base
    words = [UNIT.runs_layout.const(run).as_bits() for run in RUNS]
    watch = Watch(dut, streams=["runs", *names])
    put = cocotb.start_soon(put_all(dut, "runs", words, Phases("runs", longest), 0.5))
    tasks = [
        cocotb.start_soon(get_all(dut, name, len(requests(port)), Phases(name, longest), 0.5))
        for port, name in enumerate(names)
    ]
    for port, task in enumerate(tasks):
        got = [word for (word,) in await within(task, 20_000, f"requests of port {port}")]
        assert got == pack(requests(port)), f"port {port}"
    await within(put, 100, "taking of the last list")
    for name in names:
        getattr(dut, f"{name}__ready").value = 1
    counts = [len(watch.high[name]) for name in names]
    await clocks(dut, 20)
    assert counts == [len(watch.high[name]) for name in names], "a request too many"
    if not longest:
        pace(watch)


def pace(watch):
    """A request a clock, the first ``LATENCY`` after its list was taken."""
    expected = {port: [] for port in range(PORTS)}
    for begin, run in zip(watch.high["runs"], RUNS, strict=True):
        for port in range(PORTS):
            if run["targets"] >> port & 1:
                first = begin + UNIT.LATENCY
                expected[port] += range(first, first + UNIT.INTERVAL * run["count"], UNIT.INTERVAL)
    for port, at in expected.items():
        assert watch.high[f"requests__{port}"] == at, f"port {port}"

"""Runs inside the simulator; started by test_aap.py. Does what it is told, as a walk would, and
writes down what leaves the core."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import RisingEdge, Timer
from driving import start
from streams import flagged

from hw.fixar.aap.aap import AapCore
from hw.fixar.array.array import PeArray
from hw.fixar.config import FixarConfig

CASE = json.loads(os.environ["CASE"])
SIDE, PORT_WORDS = CASE["config"]["side"], CASE["config"]["port_words"]


class Bench:
    """A clock after another: outputs are seen after the edge, inputs follow in the same clock."""

    def __init__(self, dut):
        self.dut, self.clock = dut, 0
        self.rng = random.Random(CASE["seed"])
        self.updates, self.sums, self.saturated = False, [], [0, 0]

    async def tick(self):
        await RisingEdge(self.dut.clk)
        await Timer(1, "ns")
        self.clock += 1
        saturated = int(self.dut.saturated.value)
        if self.updates and flagged(self.dut.sums):
            self.sums.append(hex(int(self.dut.sums.value)))
        bits = CASE["saturated_bits"]
        self.saturated[0] += saturated & (1 << bits) - 1
        self.saturated[1] += saturated >> bits

    def pauses(self, which):
        """Fetches (0), or rows and steps (1)."""
        return self.rng.random() < CASE["gaps"][which]

    async def run_pass(self, job):
        dut = self.dut
        dut.pass_.value, self.updates = job["pass_"], job["port"] == "tile"
        begins = list(job["begins"])
        dut.begin.value = begins.pop(0) if begins else 0
        fetches, steps = job["fetches"], job["steps"]
        port = getattr(dut, job["port"])
        late = 0 if job["port"] == "row" else 2 + PeArray.lag_of(SIDE, PORT_WORDS)
        fetched = stepped = tile = row = 0
        loads_from, ready, taken, last_slow, idle = 0, {}, -1, -100, 0
        began = self.clock
        room = False
        while stepped < len(steps) or int(dut.busy.value) or idle < 2:
            idle = idle + 1 if stepped == len(steps) else 0
            limit = 40 * (len(steps) + len(fetches)) + 1000
            assert self.clock - began < limit, f"{job['name']} does not end: step {stepped}"
            # The walk's fetch is a register: it knows room of the clock before.
            dut.fetch.value = 0
            if fetched < len(fetches) and room and not self.pauses(0):
                dut.fetch.value = fetches[fetched]
                fetched += 1
            room = int(dut.fetch_room.value)
            # Rows of the tile after the one that is held.
            port.value = 0
            tiles = job["tiles"]
            if tile < len(tiles) and tile <= taken + 1 and self.clock >= loads_from:
                if row == 0 or not self.pauses(1) or CASE["tight"]:
                    port.value = tiles[tile][row]
                    at = min(row, row * SIDE // len(tiles[tile]))
                    ready[tile] = max(ready.get(tile, 0), self.clock - at + 1 + late)
                    row += 1
                    if row == len(tiles[tile]):
                        tile, row = tile + 1, 0
            # A step, if its word and its tile are there.
            dut.step.value = 0
            if stepped < len(steps):
                may = int(dut.word_valid.value) or not job["takes"][stepped]
                if job["swaps"][stepped]:
                    following = taken + 1
                    # Without pauses the tile's last rows are loaded behind the step.
                    begun = CASE["tight"] and len(tiles[0]) <= SIDE and row
                    whole = tile > following or (tile == following and begun)
                    may &= bool(whole and self.clock >= ready[following])
                    may &= self.clock >= loads_from + 2
                if job["slow"][stepped]:
                    may &= self.clock >= last_slow + job["gap"]
                if may and not self.pauses(1):
                    dut.step.value = steps[stepped]
                    if job["swaps"][stepped]:
                        taken += 1
                        loads_from = self.clock + PeArray.again_of(PORT_WORDS)
                    if job["slow"][stepped]:
                        last_slow = self.clock
                    stepped += 1
            begun = int(dut.begun.value)
            await self.tick()
            if begun and begins:
                dut.begin.value = begins.pop(0)
        assert fetched == len(fetches) and not begins, f"{job['name']}: something is left"
        return dict(name=job["name"], clocks=self.clock - began)

    async def end(self):
        dut = self.dut
        dut.end.value = 1
        await self.tick()
        dut.end.value = 0
        for _ in range(2 * SIDE + 4):
            if int(dut.range__valid.value):
                break
            await self.tick()
        found = int(dut.range__payload.value)
        dut.range__ready.value = 1
        await self.tick()
        dut.range__ready.value = 0
        return found

    async def read(self, address, outputs, count, latency):
        words = []
        for k in range(count):
            getattr(self.dut, address).value = k
            for _ in range(latency):
                await self.tick()
            words.append([str(getattr(self.dut, name).value) for name in outputs])
        return words


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def as_told(dut):
    unit = AapCore(FixarConfig.from_dict(CASE["config"]))
    await start(dut, unit)
    bench, found = Bench(dut), []
    dut.batch.value = max(0, CASE["batch"] - CASE["core"])
    dut.td_shift.value = CASE["td_shift"]
    for operation, value in json.loads(Path(CASE["jobs"]).read_text()):
        if operation in ("intake", "errors"):
            for word in value:
                getattr(dut, operation).value = word
                await bench.tick()
            getattr(dut, operation).value = 0
            for _ in range(6):
                await bench.tick()
        elif operation == "acting":
            dut.acting.value = value
        elif operation == "pass":
            bench.sums, bench.saturated = [], [0, 0]
            done = await bench.run_pass(value)
            done["range"] = await bench.end()
            found.append(dict(done, sums=bench.sums, saturated=bench.saturated))
        elif operation == "q":
            found.append(await bench.read("q_address", ["q", "next_q"], value, 2))
        elif operation == "action":
            found.append(await bench.read("action_address", ["action"], value, 3))
        elif operation == "value":
            found.append(int(dut.value_sum.value))
    Path(CASE["found"]).write_text(json.dumps(found))

"""Runs inside the simulator: a ``Backward`` between gradient memories; see test_backward.py.

The memories are slow to take a write: it is not to be read for two clocks.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import flagged, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
WORDS, OUTPUTS, LENGTH, ROWS = (CASE[name] for name in ("words", "outputs", "length", "rows"))
GAPS = {"delta": (0.7, 0, 0), "x": (0, 0.7, 0), "room": (0, 0, 0.8)}


class Memory:
    """A word arrives at ``port`` of ``memory`` READ_LATENCY = 2 clocks after its address."""

    def __init__(self, dut, words, port, address, address_width, write=None):
        self.words, self.address_width = list(words), address_width
        self.port = getattr(dut, f"memory__{port}")
        # A memory of one word has no address.
        self.address = getattr(dut, f"memory__{address}") if address_width else None
        self.write = getattr(dut, f"memory__{write}") if write else None
        self.pending, self.reads, self.writes = None, [0, 0], 0

    def drive(self):
        """At the start of a clock."""
        self.port.value = self.reads[0]

    def sample(self):
        """In a settled clock."""
        address = 0 if self.address is None else int(self.address.value)
        self.reads = [self.reads[1], self.words[address]]
        if self.pending is not None:
            address, value = self.pending
            self.words[address] = value
            self.pending = None
        if self.write is not None and flagged(self.write):
            word = int(self.write.value) >> 1
            self.pending = word & ((1 << self.address_width) - 1), word >> self.address_width
            self.writes += 1


class Session:
    """Batches one after the other, with everything around the unit."""

    def __init__(self, dut, rng):
        self.dut, self.rng, self.clock = dut, rng, 0
        width = CASE["address_width"]
        garbage = [int(CASE["garbage"], 16)] * (WORDS * ROWS)
        self.gradients = [
            Memory(dut, garbage, f"gradient__{k}", f"address__{k}", width, f"gradient_write__{k}")
            for k in range(LENGTH)
        ]
        garbage = [int(CASE["bias_garbage"], 16)] * OUTPUTS
        width = CASE["bias_address_width"]
        self.bias = Memory(dut, garbage, "bias_gradient", "bias_address", width, "bias_write")
        self.memories = [*self.gradients, self.bias]
        if CASE["input_gradient"]:
            width = CASE["address_width"]
            self.memories += [
                Memory(dut, [int(w, 16) for w in words], f"weight__{k}", f"address__{k}", width)
                for k, words in enumerate(VECTORS["weights"])
            ]

    async def play(self, batch, gaps=None):
        """One batch; returns the clocks of its starts, of words of dx and of ``finished``."""
        dut, rng = self.dut, self.rng
        sources = {name: [int(word, 16) for word in batch[name]] for name in ("delta", "x")}
        sent, held = dict.fromkeys(sources, 0), dict.fromkeys(sources, False)
        samples = len(batch["delta"]) // OUTPUTS
        starts, leaving, finished, dx, saturations = [], [], [], [], 0
        limit = (samples + 1) * (CASE["interval"] + CASE["finished_latency"] + OUTPUTS)
        limit *= 1 if gaps is None else 20
        end = self.clock + limit
        alone = rng.random() < 0.5  # start comes before the first delta, or with it
        first = True
        while len(finished) < samples:
            assert self.clock < end, (
                f"{len(finished)} of {samples} samples finished in {limit} clocks; "
                f"{sent} words were taken"
            )
            for name, words in sources.items():
                if sent[name] < len(words) and not held[name] and not (alone and name == "delta"):
                    held[name] = gaps is None or rng.random() >= GAPS[name][gaps]
                    if held[name]:
                        getattr(dut, f"{name}__payload").value = words[sent[name]]
                getattr(dut, f"{name}__valid").value = int(held[name])
            dut.start.value = int(first and (alone or held["delta"]))
            first, alone = first and not (alone or held["delta"]), False
            dut.room.value = int(gaps is None or rng.random() >= GAPS["room"][gaps])
            await self._settle()

            taken = {
                name: held[name] and int(getattr(dut, f"{name}__ready").value) for name in sources
            }
            begins = bool(taken["x"] and sent["x"] % WORDS == 0)
            assert not begins or int(dut.room.value), "a sample began without room"
            assert int(dut.started.value) == begins, "started is not the first word's transfer"
            for name in sources:
                if taken[name]:
                    sent[name], held[name] = sent[name] + 1, False
            if begins:
                sample = len(starts)
                assert sent["delta"] >= OUTPUTS * (sample + 1), "a sample began without its delta"
                starts.append(self.clock)
            if CASE["input_gradient"] and flagged(dut.dx):
                dx.append(int(dut.dx.value) >> 1)
                leaving.append(self.clock)
            saturations += int(dut.saturations.value)
            if int(dut.finished.value):
                finished.append(self.clock)
                assert len(dx) >= len(finished) * WORDS or not CASE["input_gradient"]
            await self._next()
        self._compare(batch, dx, saturations, gaps)
        return starts, leaving, finished

    async def idle(self, clocks):
        """Nothing more comes."""
        dut = self.dut
        dut.delta__valid.value = dut.x__valid.value = dut.start.value = 0
        writes = [memory.writes for memory in self.memories]
        for _ in range(clocks):
            await self._settle()
            assert not int(dut.started.value) and not int(dut.finished.value)
            assert not CASE["input_gradient"] or not flagged(dut.dx), "a word too many"
            await self._next()
        assert writes == [memory.writes for memory in self.memories], "a write too many"

    async def _settle(self):
        for memory in self.memories:
            memory.drive()
        await ReadOnly()

    async def _next(self):
        for memory in self.memories:
            memory.sample()
        await RisingEdge(self.dut.clk)
        self.clock += 1

    def _compare(self, batch, dx, saturations, gaps):
        expected = [int(word, 16) for word in batch["dx"]]
        for k, (got, wanted) in enumerate(zip(dx, expected, strict=True)):
            assert got == wanted, (
                f"gaps {gaps}: sample {k // WORDS}, word {k % WORDS} of dx is {got:#x}, "
                f"not {wanted:#x}"
            )
        for position, (memory, words) in enumerate(
            zip(self.gradients, batch["gradients"], strict=True)
        ):
            for address, word in enumerate(words):
                assert memory.words[address] == int(word, 16), (
                    f"gaps {gaps}: gradient {address} of PE {position} is "
                    f"{memory.words[address]:#x}, not {word}"
                )
        for output, word in enumerate(batch["bias"]):
            assert self.bias.words[output] == int(word, 16), (
                f"gaps {gaps}: bias gradient {output} is {self.bias.words[output]:#x}, not {word}"
            )
        assert saturations == batch["saturations"], f"gaps {gaps}: {saturations} saturations"


async def begin(dut, seed):
    for name in ("delta__valid", "delta__payload", "x__valid", "x__payload", "room", "start"):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    return Session(dut, random.Random(seed))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gradients_match(dut):
    session = await begin(dut, 1)
    for k, batch in enumerate(VECTORS["batches"]):
        await session.play(batch, k % 3)
        await session.idle(session.rng.choice([0, 20]))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def cycles_as_declared(dut):
    session = await begin(dut, 2)
    for batch in VECTORS["batches"][:2]:
        starts, leaving, finished = await session.play(batch)
        interval = CASE["interval"]
        # Where delta sets the pace, a sample still begins with a macro-cycle.
        for k, start in enumerate(starts):
            assert abs(start - starts[0] - k * interval) < ROWS, f"begun {starts}, not {interval}"
        assert finished == [start + CASE["finished_latency"] for start in starts]
        if CASE["input_gradient"]:
            assert leaving[::WORDS] == [start + CASE["latency"] for start in starts]
            last = [start + CASE["last_latency"] for start in starts]
            assert leaving[WORDS - 1 :: WORDS] == last
        await session.idle(3)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_idle_chain_takes_a_sample_as_it_comes(dut):
    """Whenever that is: as long after its delta."""
    session, after = await begin(dut, 2), set()
    for pause in range(5):
        before = session.clock
        starts, _, _ = await session.play(VECTORS["batches"][0])
        after.add(starts[0] - before)
        await session.idle(pause)
    # ``start`` comes with the first delta or a clock before it.
    assert len(after) <= 2 and max(after) - min(after) <= 1, f"begun after {sorted(after)} clocks"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_in_flight(dut):
    session = await begin(dut, 3)
    batch = VECTORS["batches"][0]
    dut.room.value = dut.x__valid.value = dut.delta__valid.value = 1
    for name in ("delta", "x"):
        getattr(dut, f"{name}__payload").value = int(batch[name][0], 16)
    for _ in range(OUTPUTS + CASE["finished_latency"] // 2 + ROWS):
        await session._settle()
        await session._next()
    dut.x__valid.value = dut.delta__valid.value = 0
    await reset(dut, cycles=1)
    session = Session(dut, random.Random(4))
    await session.idle(CASE["finished_latency"])
    await session.play(batch, 0)

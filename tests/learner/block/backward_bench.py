"""Runs inside the simulator: a ``Backward`` between its memories; see test_backward.py.

A read of a gradient in the clock of its write gives what nobody wrote.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge
from streams import flagged, reset

CASE = json.loads(os.environ["CASE"])
VECTORS = json.loads(Path(CASE["vectors"]).read_text())
WORDS, OUTPUTS, PERIOD = (CASE[name] for name in ("words", "output_words", "period"))
#: Of delta, of x and of room: the probability of a pause.
GAPS = {"delta": (0.7, 0, 0), "x": (0, 0.7, 0), "room": (0, 0, 0.8)}


class Memory:
    """Words of elements of ``width`` bits; element k comes ``late[k]`` clocks after its address."""

    def __init__(self, dut, words, name, address, width, late, write=None):
        self.words, self.width, self.late = list(words), width, late
        self.port = getattr(dut, f"memory__{name}")
        # A memory of one word has no address.
        self.address_width = (len(words) - 1).bit_length()
        self.address = getattr(dut, f"memory__{address}") if self.address_width else None
        self.write = getattr(dut, f"memory__{write}") if write else None
        self.garbage, self.writes = words[0], 0
        self.reads = [0] * max(late)

    def drive(self):
        """At the start of a clock."""
        value, mask = 0, (1 << self.width) - 1
        for k, late in enumerate(self.late):
            value |= self.reads[-late] & mask << k * self.width
        self.port.value = value

    def sample(self):
        """In a settled clock."""
        address = 0 if self.address is None else int(self.address.value)
        word = self.words[address]
        if self.write is not None and flagged(self.write):
            bits = int(self.write.value) >> 1
            written = bits & ((1 << self.address_width) - 1)
            if written == address:
                word = self.garbage
            self.words[written] = bits >> self.address_width
            self.writes += 1
        self.reads = [*self.reads[1:], word]


class Delta:
    """The source of delta: a stream, or words that nobody can stop where there is room for them,
    ``PERIOD`` clocks apart."""

    def __init__(self, dut, words, rng, gap, clock):
        self.dut, self.words, self.rng, self.gap = dut, words, rng, gap
        self.sent = self.begun = 0
        self.held = False
        self.next = clock  # clock of the next word
        self.taken = []  # clock of each word

    def drive(self, clock):
        """At the start of a clock."""
        if not self.held and self.sent < len(self.words) and self._comes(clock):
            self.held = True
            self.dut.delta__payload.value = self.words[self.sent]
        self.dut.delta__valid.value = int(self.held)

    def _comes(self, clock):
        if not CASE["reserved"]:
            return self.rng.random() >= self.gap
        return self.sent < self.begun * OUTPUTS and clock >= self.next

    def begin(self):
        """In the middle of a clock."""
        go = (
            int(self.dut.delta_room.value)
            and self.begun * OUTPUTS < len(self.words)
            and self.rng.random() >= self.gap
        )
        self.dut.delta_begun.value = int(go)
        self.begun += int(go)

    def sample(self, clock):
        """In a settled clock."""
        if not self.held or not (CASE["reserved"] or int(self.dut.delta__ready.value)):
            return
        self.held, self.sent = False, self.sent + 1
        self.taken.append(clock)
        self.next = clock + (PERIOD or 1 + (self.rng.random() < self.gap))
        if self.sent % OUTPUTS == 0:
            spaced = self.taken[-OUTPUTS] + CASE["spacing"]
            self.next = max(clock + 1, spaced) + self.rng.randrange(3) * (self.gap > 0)


class Session:
    """Batches one after the other, with everything around the unit."""

    def __init__(self, dut, rng):
        self.dut, self.rng, self.clock = dut, rng, 0
        blocks, biases = int(CASE["garbage"], 16), int(CASE["bias_garbage"], 16)
        garbage = [blocks] * (WORDS * OUTPUTS), [biases] * OUTPUTS
        width, late = CASE["gradient_width"], [CASE["gradient_latency"]]
        self.gradients = Memory(
            dut, garbage[0], "gradient", "gradient_address", width, late, "gradient_write"
        )
        width = CASE["bias_width"]
        self.bias = Memory(
            dut, garbage[1], "bias_gradient", "bias_address", width, [2], "bias_write"
        )
        self.memories = [self.gradients, self.bias]
        if CASE["input_gradient"]:
            words = [int(word, 16) for word in VECTORS["weights"]]
            late = [2 + k * CASE["skew"] for k in range(CASE["output_word"])] * CASE["input_word"]
            self.memories.append(
                Memory(dut, words, "weight", "address", CASE["weight_width"], late)
            )

    async def play(self, batch, gaps=None):
        """One batch; returns the clocks in which words of delta came, samples started, words of dx
        left, and of ``finished``."""
        dut, rng = self.dut, self.rng
        words = {name: [int(word, 16) for word in batch[name]] for name in ("delta", "x")}
        gap = 0 if gaps is None else GAPS["delta"][gaps]
        delta = Delta(dut, words["delta"], rng, gap, self.clock + 1)
        x, held, samples = words["x"], False, len(words["x"]) // WORDS
        sent, starts, leaving, finished, dx, saturations = 0, [], [], [], [], 0
        limit = 100 + samples * (CASE["interval"] + CASE["finished_latency"] + OUTPUTS)
        end = self.clock + limit * (1 if gaps is None else 20)
        alone, first = rng.random() < 0.5, True  # start comes before the first delta, or with it
        while len(finished) < samples or CASE["input_gradient"] and len(dx) < len(x):
            assert self.clock < end, (
                f"{len(finished)} of {samples} samples finished in {limit} clocks; "
                f"{delta.sent} and {sent} words were taken"
            )
            if not (first and alone):
                delta.drive(self.clock)
            if sent < len(x) and not held:
                held = gaps is None or rng.random() >= GAPS["x"][gaps]
                if held:
                    dut.x__payload.value = x[sent]
            dut.x__valid.value = int(held)
            start = first and (alone or delta.held)
            dut.start.value = int(start)
            first, alone = first and not start, False
            dut.room.value = int(gaps is None or rng.random() >= GAPS["room"][gaps])
            await self._settle(delta)
            if gaps is None and CASE["reserved"]:
                self._compare_room(delta, starts)

            taken = held and int(dut.x__ready.value)
            begins = bool(taken and sent % WORDS == 0)
            assert not begins or int(dut.room.value), "a sample began without room"
            assert int(dut.started.value) == begins, "started is not the first word's transfer"
            sent, held = sent + bool(taken), held and not taken
            if begins:
                starts.append(self.clock)
            if CASE["input_gradient"] and flagged(dut.dx):
                bits = int(dut.dx.value) >> 1
                width = (WORDS - 1).bit_length()
                assert bits & ((1 << width) - 1) == len(dx) % WORDS, "index of a word of dx"
                dx.append(bits >> width)
                leaving.append(self.clock)
            saturations += int(dut.saturations.value)
            if int(dut.finished.value):
                finished.append(self.clock)
                if len(finished) == samples:
                    # What is written with it is too late.
                    gradients = [list(memory.words) for memory in (self.gradients, self.bias)]
            delta.sample(self.clock)
            await self._next()
        self._compare(batch, dx, gradients, saturations, gaps)
        return delta.taken, starts, leaving, finished

    def _compare_room(self, delta, starts):
        """A bank is free from the clock after its sample's last word of x was taken."""
        released = sum(start + (WORDS - 1) * OUTPUTS < self.clock for start in starts)
        taken = delta.begun - int(self.dut.delta_begun.value) - released
        assert int(self.dut.delta_room.value) == (taken < CASE["banks"]), (
            f"{taken} banks are taken, and delta_room is {self.dut.delta_room.value}"
        )

    async def idle(self, clocks):
        """Nothing more comes."""
        dut = self.dut
        dut.delta__valid.value = dut.x__valid.value = dut.start.value = dut.delta_begun.value = 0
        writes = [memory.writes for memory in self.memories]
        for _ in range(clocks):
            await self._settle()
            assert not int(dut.started.value) and not int(dut.finished.value)
            assert not CASE["input_gradient"] or not flagged(dut.dx), "a word too many"
            await self._next()
        assert writes == [memory.writes for memory in self.memories], "a write too many"

    async def _settle(self, delta=None):
        for memory in self.memories:
            memory.drive()
        if CASE["reserved"] and delta is not None:
            await FallingEdge(self.dut.clk)
            delta.begin()
        await ReadOnly()

    async def _next(self):
        for memory in self.memories:
            memory.sample()
        await RisingEdge(self.dut.clk)
        self.clock += 1

    def _compare(self, batch, dx, gradients, saturations, gaps):
        expected = [int(word, 16) for word in batch["dx"]]
        for k, (got, wanted) in enumerate(zip(dx, expected, strict=True)):
            assert got == wanted, (
                f"gaps {gaps}: sample {k // WORDS}, word {k % WORDS} of dx is {got:#x}, "
                f"not {wanted:#x}"
            )
        for name, words in zip(("gradients", "bias"), gradients, strict=True):
            for address, word in enumerate(batch[name]):
                assert words[address] == int(word, 16), (
                    f"gaps {gaps}: {name} at {address} is {words[address]:#x}, not {word}"
                )
        assert saturations == batch["saturations"], f"gaps {gaps}: {saturations} saturations"


async def begin(dut, seed):
    for name in ("delta__valid", "delta__payload", "x__valid", "x__payload", "room", "start"):
        getattr(dut, name).value = 0
    dut.delta_begun.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    return Session(dut, random.Random(seed))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gradients_match(dut):
    session = await begin(dut, 1)
    for k, batch in enumerate(VECTORS["batches"]):
        await session.play(batch, k % 3)
        await session.idle(session.rng.choice([1, 20]))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def cycles_as_declared(dut):
    session = await begin(dut, 2)
    for batch in VECTORS["batches"][:2]:
        taken, starts, leaving, finished = await session.play(batch)
        interval = CASE["interval"]
        if not CASE["reserved"]:  # of a stream each word is there in time
            assert starts == [starts[0] + k * interval for k in range(len(starts))]
        assert starts[0] == taken[0] + CASE["ahead"], f"begun {starts}, after {taken}"
        assert finished == [start + CASE["finished_latency"] for start in starts]
        if CASE["input_gradient"]:
            assert leaving[::WORDS] == [start + CASE["latency"] for start in starts]
            last = [start + CASE["last_latency"] for start in starts]
            assert leaving[WORDS - 1 :: WORDS] == last
        await session.idle(3)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_in_flight(dut):
    session = await begin(dut, 3)
    batch = VECTORS["batches"][0]
    dut.room.value = dut.x__valid.value = dut.delta__valid.value = 1
    for name in ("delta", "x"):
        getattr(dut, f"{name}__payload").value = int(batch[name][0], 16)
    for _ in range(OUTPUTS + CASE["finished_latency"] // 2 + 1):
        await session._settle()
        await session._next()
    dut.x__valid.value = dut.delta__valid.value = 0
    await reset(dut, cycles=1)
    session = Session(dut, random.Random(4))
    await session.idle(CASE["finished_latency"])
    await session.play(batch, 0)

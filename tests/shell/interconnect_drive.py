"""What the benches of the interconnects share: requests of each port, in a region of its own."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from shell.axi_rules import cut
from shell.port_memory import Phases
from shell.request_cases import corners, pack
from streams import get_all, put_all, reset, transfers

__all__ = ["Bench", "contiguous"]

#: A port's requests begin at its number shifted by this; what ``requests`` makes stays below.
_REGION = 60


class Bench:
    """Ports of a device under test: who asks for what.

    Parameters
    ----------
    config : InterconnectConfig
    sources, sinks : names of a port's streams into the interconnect and out of it
    asked : for each port its requests ``(address, beats)``
    """

    def __init__(self, dut, config, sources, sinks, asked=None):
        self.dut, self.config = dut, config
        self.sources, self.sinks, self.asked = sources, sinks, asked
        self.beat_bytes, self.burst_beats = config.data_width // 8, config.burst_beats
        self.ports = range(config.ports)

    async def start(self):
        into = [f"ports__{p}__{name}__valid" for p in self.ports for name in self.sources]
        out_of = [f"ports__{p}__{name}__ready" for p in self.ports for name in self.sinks]
        into += [f"memory__{name}__valid" for name in self.sinks if name != "request"]
        out_of += [f"memory__{name}__ready" for name in self.sources]
        for name in into + out_of:
            getattr(self.dut, name).value = 0
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        await reset(self.dut)

    def requests(self, port, count, seed):
        """Corners in another order for each port, and ``count`` of random lengths."""
        rng = random.Random(f"{seed} {port}")
        limits = corners(self.beat_bytes, self.burst_beats)
        limits = [(address % (1 << (_REGION - 1)), beats) for address, beats in limits]
        rng.shuffle(limits)
        for _ in range(count):
            beats = rng.choice([1, 1, 2, rng.randint(1, 3 * self.burst_beats)])
            limits.append((rng.randrange(1 << 20) * self.beat_bytes, beats))
        return [((port << _REGION) + offset, beats) for offset, beats in limits]

    def at(self, port, *requests):
        """``(number of a beat, beats)`` as requests in the region of ``port``."""
        return [((port << _REGION) + k * self.beat_bytes, beats) for k, beats in requests]

    def bursts(self, requests):
        """The requests that memory must see."""
        return [
            (here, more + 1)
            for address, beats in requests
            for here, more in cut(address, beats, self.beat_bytes, self.burst_beats)
        ]

    def put(self, port, stream, words, longest=0, seed=0):
        """Send requests or words with pauses of up to ``longest`` clocks."""
        name, rng = f"ports__{port}__{stream}", Phases(f"{seed} {port} {stream}", longest)
        words = pack(words) if stream == "request" else words
        return cocotb.start_soon(put_all(self.dut, name, words, rng, 0.5))

    def get(self, port, stream, count, longest=0, seed=0):
        """A task that takes ``count`` words with pauses of up to ``longest`` clocks."""

        async def words():
            name, rng = f"ports__{port}__{stream}", Phases(f"{seed} {port} {stream}", longest)
            return [word for (word,) in await get_all(self.dut, name, count, rng, 0.5)]

        return cocotb.start_soon(words())

    async def results(self, tasks, clocks=10_000):
        """What ``tasks`` return, within so many clocks."""

        async def gather():
            return [await task for task in tasks]

        return await with_timeout(gather(), 10 * clocks, "ns")

    async def wait(self, clocks):
        for _ in range(clocks):
            await RisingEdge(self.dut.clk)

    async def check_silent(self):
        """Nothing comes out of the ports any more, and nothing more is asked for."""
        names = [f"ports__{port}__{name}" for port in self.ports for name in self.sinks]
        for name in names:
            getattr(self.dut, f"{name}__ready").value = 1
        for _ in range(20):
            assert not any(await transfers(self.dut, *names)), "a word too many"

    def taken(self, memory, port):
        """The requests that memory took and that ``port`` asked for."""
        return [(a, n) for a, n in memory.taken if a >> _REGION == port]

    def check_taken(self, memory):
        """Memory was asked for the bursts of each port, in order, and for no more."""
        for port in self.ports:
            assert self.taken(memory, port) == self.bursts(self.asked[port]), f"port {port}"

    def check_turns(self, memory):
        """All ports asked for as many bursts, all the time: turns went round."""
        owners = [address >> _REGION for address, _ in memory.taken]
        turns = [*self.ports] * (len(owners) // len(self.ports))
        assert owners == turns, f"turns were {owners}"


def contiguous(clocks):
    """Whether something moved in every clock from the first to the last."""
    return clocks == list(range(clocks[0], clocks[0] + len(clocks)))

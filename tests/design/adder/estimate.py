"""Clocks of an ADD, and resources of the whole kernel ``adder``."""

from design.adder.config import NUMBER_BYTES
from design.adder.sums import Sums

from hw.estimate import Estimate
from hw.shell.interconnect import ReadInterconnect
from hw.shell.read_engine import ReadEngine
from hw.stream.ram import memory_blocks, style_of

__all__ = ["cycles", "estimate"]

#: From the start to both requests, and from the token of the results to the end.
_CONTROL = 3


def cycles(config, count, *, read_latency=64, write_latency=32):
    """Clocks of an ADD of ``count`` numbers, as the status counts them.

    For a memory that answers after so many clocks, a beat a clock; with queues that cover its
    latency, and results of one burst or of whole ones.
    """
    vectors, host = config.vectors_engine, config.engine
    size = NUMBER_BYTES * count
    # Beats of both vectors come by turns; each has its sum at once, but the last waits for memory.
    memory = ReadEngine.latency_of(vectors, 1, read_latency)
    beats = 2 * -(-size // vectors.beat_bytes)
    read = ReadInterconnect.latency_of(config.interconnect, beats, memory)
    last_burst = (-(-size // host.beat_bytes) - 1) % host.burst_beats + 1
    write = last_burst + write_latency + 2
    return read + Sums.LATENCY + write + _CONTROL


def estimate(config):
    """DSP blocks, and memory blocks of the queues."""
    vectors, host = config.vectors_engine, config.engine
    queues = [(host, 2), (vectors, 1 + config.interconnect.ports)]
    return Estimate(
        dsp=0,
        bram36=sum(
            number * memory_blocks(engine.data_width, engine.depth, style_of(engine.depth))
            for engine, number in queues
        ),
        uram=0,
    )

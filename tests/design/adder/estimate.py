"""Clocks of an ADD, and resources of the whole kernel ``adder``."""

from design.adder.config import NUMBER_BYTES
from design.adder.sums import Sums

from hw.estimate import Estimate
from hw.shell.interconnect import ReadInterconnect
from hw.shell.read_engine import ReadEngine
from hw.stream.ram import memory_blocks, style_of

__all__ = ["estimate"]

#: From the start to both requests, and from the token of the results to the end.
_CONTROL = 3


def estimate(config, count=None, *, read_latency=64, write_latency=32):
    """``cycles`` of an ADD of ``count`` numbers (None: the most), as the status counts them; memory
    blocks of the queues. None where unknown.

    For a memory that answers after so many clocks, a beat a clock; with queues that cover its
    latency, and results of one burst or of whole ones.
    """
    vectors, host = config.vectors_engine, config.engine
    size = NUMBER_BYTES * (count or config.capacity)
    # Beats of both vectors come by turns; each has its sum at once, but the last waits for memory.
    memory = ReadEngine.estimate(vectors, 1, read_latency).latency
    beats = 2 * -(-size // vectors.beat_bytes)
    read = ReadInterconnect.estimate(config.interconnect, beats, memory).latency
    last_burst = (-(-size // host.beat_bytes) - 1) % host.burst_beats + 1
    write = last_burst + write_latency + 2
    queues = [(host, 2), (vectors, 1 + config.interconnect.ports)]
    return Estimate(
        cycles=read + Sums.LATENCY + write + _CONTROL,
        dsp=0,
        bram36=sum(
            number * memory_blocks(engine.data_width, engine.depth, style_of(engine.depth))
            for engine, number in queues
        ),
        uram=0,
    )

"""Requests ``(byte address, beats)`` as words, and those at the limits of a burst."""

from hw.shell.axi import REQUEST

__all__ = ["addresses_of", "corners", "pack"]


def pack(requests):
    return [REQUEST.const({"address": a, "beats": n}).as_value().value for a, n in requests]


def addresses_of(requests, beat_bytes):
    """Addresses of all beats, in order."""
    return [address + i * beat_bytes for address, beats in requests for i in range(beats)]


def corners(beat_bytes, burst_beats):
    """Alone at either end of a burst, a whole burst, one more and one less, across 2^32."""
    block = burst_beats * beat_bytes
    starts = (
        0,
        block - beat_bytes,
        3 * block - 2 * beat_bytes,
        (1 << 32) - beat_bytes,
        (1 << 63) - 2 * beat_bytes,
    )
    counts = {1, 2, 3, burst_beats - 1, burst_beats, burst_beats + 1} - {0}
    return [(start, count) for start in starts for count in sorted(counts)]

"""The time of software for the same draws: cpprb and a compiled K-ary tree, in the same run."""

import itertools
import time

import numpy as np

from bench import left_out, row

__all__ = ["rows"]

CAPACITY = 1 << 20
FANOUT = 16
CLOCK = 250e6  # assumed, not measured: no card was at hand
_ROUNDS = 15


def _kary_tree():
    """``(levels, draw)``: a K-ary sum tree in float64 arrays and its compiled batch draw."""
    import numba

    @numba.njit(cache=False)
    def draw(levels, offsets, targets, out):
        for k in range(len(targets)):
            target, node = targets[k], 0
            for level in range(len(offsets)):
                child = offsets[level] + node * FANOUT
                last = child + FANOUT - 1
                while child < last and target >= levels[child]:
                    target -= levels[child]
                    child += 1
                node = child - offsets[level]
            out[k] = node

    leaves = np.random.default_rng(0).random(CAPACITY)
    sums = [leaves]
    while len(sums[-1]) > FANOUT:
        sums.append(sums[-1].reshape(-1, FANOUT).sum(axis=1))
    sums.reverse()
    offsets = np.cumsum([0, *(len(level) for level in sums[:-1])])
    return np.concatenate(sums), offsets, float(leaves.sum()), draw


def _median_ns(function, batch):
    function()
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(20):
            function()
        times.append((time.perf_counter() - start) / 20 / batch)
    return round(float(np.median(times)) * 1e9, 1)


def rows(cycles):
    """The list of rows of the time to draw one index.

    clocks_per_index and modelled_sample_ns are the kernel's, from ``cycles``, the rows of
    ``bench.replay.manager``, at CLOCK. peer_sample_ns is that of a program, and peer_over_card is
    the program's time over the kernel's with 16 children a node.
    """
    result, ours = [], {}
    for measured in cycles:
        if measured["metric"] == "sample_cycles":
            case, clocks = measured["case"], measured["value"]
            clocks /= int(case.split("B=")[1])
            ours[case] = clocks / CLOCK * 1e9
            result += [
                row("replay", case, "clocks_per_index", round(clocks, 2), "",
                    source="sample_cycles over the batch"),
                row("replay", case, "modelled_sample_ns", round(ours[case], 2), "ns/index",
                    source=f"sample_cycles at {CLOCK / 1e6:.0f} MHz (assumed), no transfers"),
            ]  # fmt: skip
    try:
        import cpprb
        import numba  # noqa: F401
    except ImportError as error:
        left_out("cpprb", error, "peers")
        return result
    buffer = cpprb.PrioritizedReplayBuffer(CAPACITY, {"x": {}}, alpha=0.6)
    rng = np.random.default_rng(0)
    for begin in range(0, CAPACITY, 1 << 16):
        part = np.arange(begin, begin + (1 << 16))
        buffer.add(x=part.astype(np.float32), priorities=rng.random(len(part)))
    levels, offsets, total, draw = _kary_tree()
    for batch in (32, 64, 256, 512):
        out = np.zeros(batch, np.int64)
        # New targets each time, as in a learner: a repeated batch would stay in the cache.
        batches = itertools.cycle(rng.random((64, batch)) * total)
        for name, function in (
            ("cpprb 11, 1-float record", lambda b=batch: buffer.sample(b, beta=0.4)),
            (
                f"numba K={FANOUT} tree, targets given",
                lambda b=batches, o=out: draw(levels, offsets, next(b), o),
            ),
        ):
            case, took = f"N=2^20, B={batch}, {name}", _median_ns(function, batch)
            times = took / ours[f"N=2^20, K={FANOUT}, B={batch}"]
            result += [
                row("replay", case, "peer_sample_ns", took, "ns/index",
                    source="measured in this run, one thread, median of 15"),
                row("replay", case, "peer_over_card", round(times), "x",
                    source="peer_sample_ns over modelled_sample_ns"),
            ]  # fmt: skip
    return result

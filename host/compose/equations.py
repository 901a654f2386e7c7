"""PEARL's equations 4 to 8 (section VI and VII-D): how long an iteration takes, and portability.

Clocks are those of the accelerator's clock; times are microseconds. Equation 3, which balances the
unroll factors of a learner's layers, is CF'22's too: see ``boards.cf22``. Equation 2, which bounds
DP by the SRAM that the replay memory leaves, is not here: ``boards.explore`` limits all memory.
"""

from hw.errors import UsageError

__all__ = [
    "WORD_BYTES",
    "clocks_us",
    "iteration_us",
    "learner_clocks",
    "portability",
    "sample_clocks",
    "transfer_us",
    "update_clocks",
]

#: Bytes of a word: an index, a priority, a number of an experience.
WORD_BYTES = 4


def sample_clocks(fanout, batch, depth):
    """Clocks of sampling: ``2 F (BS + D)`` (PEARL, section VI-A, equation 4, without T_comm).

    fanout : children of a node of the sum tree, F. A level of the tree needs 2 F clocks a sample.
    batch : samples of an iteration, BS.
    depth : levels of the sum tree, D, which is how long the pipeline takes to fill and to drain.
    """
    return 2 * fanout * (batch + depth)


def update_clocks(batch, depth):
    """Clocks of updating, or of inserting, priorities: ``2 (BS + D)`` (PEARL, section VI-A,
    equation 5, without T_comm).

    batch : priorities that are updated or inserted, BS.
    depth : levels of the sum tree, D.
    """
    return 2 * (batch + depth)


def learner_clocks(stage_clocks, batch, layers):
    """Clocks of a gradient step: ``T_stage (BS + 3 (layers - 1))`` (PEARL, section VI-A, equation
    6).

    stage_clocks : clocks that each stage of the pipeline takes for one sample, T_stage: equation 3
        has the stages in balance.
    batch : samples of an iteration that one pipeline has, BS.
    layers : layers of the network; each propagates forward, backward, and to its gradient.
    """
    return stage_clocks * (batch + 3 * (layers - 1))


def clocks_us(clocks, clock_mhz):
    """Microseconds of ``clocks`` at ``clock_mhz`` MHz."""
    return clocks / clock_mhz


def transfer_us(latency_us, size_bytes, gb_per_s):
    """T_comm in microseconds: ``lat + size / bandwidth`` (PEARL, section VI-A, below equation 6).

    latency_us : microseconds before the first byte.
    size_bytes : bytes that are sent.
    gb_per_s : 10^9 bytes a second.
    """
    return latency_us + size_bytes / (1e3 * gb_per_s)


def iteration_us(sample_us, insert_us, update_us, learn_us):
    """T_itr in microseconds: ``sample + max(insert, update + learn)`` (PEARL, section VI-B,
    Algorithm 1, equation 7).

    Sampling, learning and updating priorities follow each other; insertions run beside the last
    two. All are microseconds an iteration, with their T_comm.
    """
    return sample_us + max(insert_us, update_us + learn_us)


def portability(rates):
    """Phi, the harmonic mean of ``rates``: ``n / sum(1 / rate)``; 0 if one of them is 0 (PEARL,
    section VII-D, equation 8).

    rates : experiences a second of each device assignment of a machine, Phi(D), or of the best one
        of each machine, Phi(P); 0 where there is no implementation.

    PEARL prints the sum of the rates below the line; the metric that it cites, and its Table IV,
    have the sum of their reciprocals. UsageError if there is no rate.
    """
    rates = tuple(rates)
    if not rates:
        raise UsageError("rates must be one or more, not none")
    return 0.0 if 0 in rates else len(rates) / sum(1 / rate for rate in rates)

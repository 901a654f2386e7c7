"""PEARL's equations 2 and 4 to 8 (section VI and VII-D): pipelines that fit beside the replay
manager, how long an iteration takes, and portability.

Clocks are those of the accelerator's clock; times are microseconds. Equation 3, which balances the
unroll factors of a learner's layers, is CF'22's too: see ``boards.cf22``. ``boards.explore`` does
not use equation 2: it limits block RAM and UltraRAM separately, and by a planned share.
"""

from hw.errors import UsageError

__all__ = [
    "WORD_BYTES",
    "clocks_us",
    "iteration_us",
    "learner_clocks",
    "pipelines",
    "portability",
    "sample_clocks",
    "transfer_us",
    "update_clocks",
]

#: Bytes of a word: an index, a priority, a number of an experience.
WORD_BYTES = 4


def pipelines(sram, manager, pipeline):
    """The most pipelines of a learner, DP: the largest with ``DP pipeline <= sram - manager``
    (PEARL, section VI-A, equation 2). All are sizes in one unit, such as bytes.

    sram : all SRAM of the FPGA.
    manager : SRAM of the replay manager, RM.
    pipeline : all buffers of one pipeline.

    UsageError if ``pipeline`` is not positive, or if not even one pipeline fits, so that replay
    manager and learner must be on different devices.
    """
    if not pipeline > 0:
        raise UsageError(f"pipeline must be positive, not {pipeline!r}")
    if manager + pipeline > sram:
        raise UsageError(
            f"sram must be at least {manager + pipeline:g}, for the replay manager and one "
            f"pipeline on one device, not {sram!r}"
        )
    return int((sram - manager) // pipeline)


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

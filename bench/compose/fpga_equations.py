"""PEARL's equations 2 and 4 to 6 (section VI-A): what its own FPGA modules take.

Clocks are the accelerator's. Equation 3, which balances the unroll factors of a
learner's layers, is CF'22's too: see ``boards.cf22``. ``boards.explore`` does not use equation 2:
it limits block RAM and UltraRAM separately, and by a planned share.
"""

from hw.errors import UsageError

__all__ = ["learner_clocks", "pipelines", "sample_clocks", "update_clocks"]


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

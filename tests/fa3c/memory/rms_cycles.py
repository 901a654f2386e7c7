"""Clocks of the commands of ``Rms`` behind an interconnect: clocks a row, and a constant part. The
RTL is held to them, and they hold ``update_clocks``."""

from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.rows import ROW
from hw.shell.interconnect import ReadInterconnect, WriteInterconnect

__all__ = ["rms_cycles"]


def _interval(config, kind):
    """Clocks a row: 1; for an UPDATE what the RUs need, but at least two if theta and squares share
    a master, since each row of the gradient reads two rows and writes two rows."""
    shared = 2 // config.global_masters
    return max(shared, ROW // config.rms_units) if kind == RmsKind.UPDATE else 1


def rms_cycles(config, kind, layer, interconnect, memory_latency, snapshot_latency):
    """Clocks from the taking of a command to ``done``.

    The number is right if gradients, words and reply never wait, if theta and squares share a
    memory of ``memory_latency`` behind the interconnects whose ``estimate`` is used here, if bursts
    have 16 beats, and if theta and squares begin where a burst begins.

    config : Fa3cConfig
    kind : RmsKind
    layer : int, used by UPDATE only
    interconnect : InterconnectConfig
    memory_latency : int, clocks from a request to its first beat
    snapshot_latency : int, clocks from the last row that ``snapshot_write`` takes to its token
    """
    burst, interval = interconnect.burst_beats, _interval(config, kind)
    read = ReadInterconnect.estimate(interconnect, 1, memory_latency).latency
    # From a burst's last beat to its token, without the clock of each beat.
    write = WriteInterconnect.estimate(interconnect, 2, memory_latency).latency - 3
    rows = config.theta_rows
    if kind == RmsKind.SYNC:
        return interval * rows + read + snapshot_latency + 1
    if kind == RmsKind.LOAD:
        return interval * rows + min(rows, burst) + write + 1
    if kind == RmsKind.STORE:
        return interval * rows + read + 1
    layer = config.layers[layer]
    group = layer.depth + 1
    # The first row of squares comes behind the first burst of theta. With 16 RUs, a row a clock,
    # the RUs make up for this.
    first = min(burst, group) if config.rms_units < ROW else 0
    # If the last burst is short, it waits for the burst before it, or the last burst of theta
    # waits for the last burst of squares.
    last, before = (group - 1) % burst + 1, burst
    if group <= burst:
        before = group if layer.groups > 1 else 0
    lead = RowUpdate.LATENCY - RowUpdate.SQUARES_LATENCY - 2 * burst
    wait = max(0, before - interval * last, (before - lead - last) * (interval == 2))
    fixed = read + first + RowUpdate.LATENCY + wait + last + write + 1
    return interval * layer.gradient_rows + fixed

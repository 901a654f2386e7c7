"""Clocks of RMSProp's commands behind an interconnect: a number a row, and what is fixed."""

from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.rows import ROW
from hw.shell.interconnect import ReadInterconnect, WriteInterconnect

__all__ = ["rms_cycles", "rms_interval"]


def rms_interval(config, kind):
    """Clocks a row: of an UPDATE as the RUs need, and two for the two rows read and written."""
    return max(2, ROW // config.rms_units) if kind == RmsKind.UPDATE else 1


def rms_cycles(config, kind, layer, interconnect, memory_latency, snapshot_latency):
    """Clocks from the taking of a command to ``done``.

    While gradients, words and reply never wait, and theta and g share a memory of
    ``memory_latency`` behind interconnects for which these have estimates; their bursts are of 16
    beats, and theta and g begin where a burst does.

    config : Fa3cConfig
    kind : RmsKind
    layer : int, of an UPDATE
    interconnect : InterconnectConfig
    memory_latency, snapshot_latency : int, the latter from the last row that ``snapshot_write``
        takes to its token
    """
    burst, interval = interconnect.burst_beats, rms_interval(config, kind)
    read = ReadInterconnect.estimate(interconnect, 1, memory_latency).latency
    # From a burst's last beat to its token, but a clock for each beat.
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
    # g's first row comes behind theta's first burst; RUs that take a row a clock catch up.
    first = min(burst, group) if config.rms_units < ROW else 0
    # The last burst waits for the one before, or that for g's last one, if it is so short.
    last, before = (group - 1) % burst + 1, burst
    if group <= burst:
        before = group if layer.groups > 1 else 0
    lead = RowUpdate.LATENCY - RowUpdate.G_LATENCY - 2 * burst
    wait = max(0, before - interval * last, (before - lead - last) * (interval == 2))
    fixed = read + first + RowUpdate.LATENCY + wait + last + write + 1
    return interval * layer.gradient_rows + fixed

"""Agents with a theta of their own, as FA3C has it: groups of one agent, each with a snapshot."""

from bench import row
from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import PAIRS, PAPER, ips_of, kernel
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.schedule import Schedule

__all__ = ["AGENTS", "KERNELS", "MEASURED", "SIZES", "case_of", "rows", "worked_out"]

#: The kernel whose period is measured, and its number of agents.
MEASURED, _AGENTS = "2 pairs of 64 PEs", 16
#: Kernels with enough snapshots for groups of one agent. A third unit infers where two do not keep
#: up with two that train; more than four units need more than two local masters.
_MANY = PAIRS | dict(snapshots=32, tasks=128)
_APART = _MANY | dict(local_masters=4, global_masters=2)
KERNELS = {
    MEASURED: _MANY,
    "3 INFER and 2 TRAIN units of 64 PEs": _APART | dict(units=("infer", "train") * 2 + ("infer",)),
    "4 units of 64 PEs for both, 4 local masters": _APART | dict(units=("any",) * 4),
}
#: Agents of a group, and all agents, on the kernel that is measured.
SIZES, AGENTS = (1, 2, 4), (_AGENTS, 4, 8, 32)

_SOURCE = "each different round of a period, Verilog on the simulated card, at 180 MHz"
_WORKED_OUT = "worked out, hw.fa3c.round_clocks, at 180 MHz"


def case_of(kernel, agents, size):
    """The case of a row: agents in groups of ``size``."""
    shared = "a theta of its own each" if size == 1 else f"{size} share a theta"
    return f"{kernel}, {agents} agents, {shared}"


def rows():
    """The list of rows of 16 agents on two pairs, measured: inferences a second, clocks of a
    period, bytes read and written for an agent's routine; then the rows of ``worked_out``."""
    settings = KERNELS[MEASURED] | dict(agents=_AGENTS, snapshots=_AGENTS)
    found = measure_different(kernel(**settings), _AGENTS, group=1)
    case, ips = case_of(MEASURED, _AGENTS, 1), ips_of(found.agents, found.clocks)
    worked = _worked_out(Fa3cConfig(**settings), _AGENTS, 1)
    verilog = dict(source=_SOURCE)
    result = [
        row("fa3c", case, "ips", ips, "1/s", **PAPER, **verilog),
        row("fa3c", case, "ips", ips, "1/s", reference="at least", reference_value=3600, **verilog),
        row("fa3c", case, "period_cycles", found.clocks, "cycles",
            reference="worked out, hw.fa3c.round_clocks", reference_value=worked, **verilog),
    ]  # fmt: skip
    for name, channel, paper in (("load_bytes", "R", 27_130), ("store_bytes", "W", 7_776)):
        moved = found.all_bytes(channel) / found.agents / 1e6
        result.append(
            row("fa3c", f"{_AGENTS} agents, a routine, a theta of its own each", name,
                round(moved, 2), "MB", reference="FA3C, Table 2, its rows added up",
                reference_value=round(paper * 1024 / 1e6, 1),
                source="beats of all masters on the simulated card")
        )  # fmt: skip
    return result + worked_out()


def worked_out():
    """The list of rows ips by formula: every size of groups with every number of agents, then
    groups of one agent on the other ``KERNELS``."""
    cases = [(MEASURED, agents, size) for size in SIZES for agents in AGENTS]
    cases += [(name, _AGENTS, 1) for name in KERNELS if name != MEASURED]
    result = []
    for name, agents, size in cases:
        ips = ips_of(agents, _worked_out(Fa3cConfig(**KERNELS[name]), agents, size))
        result.append(
            row("fa3c", case_of(name, agents, size), "ips", ips, "1/s", source=_WORKED_OUT,
                **(PAPER if (agents, size) == (_AGENTS, 1) else {}))
        )  # fmt: skip
    return result


def _worked_out(config, agents, size):
    """Clocks of a period by formula; all agents work."""
    return sum(period_clocks(config, Schedule(config, agents, size)))

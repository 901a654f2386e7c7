"""Inferences a second of agents that share theta as in A3C, GA3C and PAAC, on one pair of units."""

from bench import row
from bench.fa3c.alternatives import CASES
from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import ips_of, kernel
from hw.fa3c.config import SLOTS, Fa3cConfig
from hw.fa3c.period_clocks import period_clocks
from hw.fa3c.sharing import SHARINGS, schedule_of

__all__ = ["AGENTS", "MEASURED", "rows", "settings_of"]

#: Numbers of agents; the sharing and number that are measured, on the kernel of Figure 10.
AGENTS, MEASURED = (1, 4, 16), ("ga3c", 4)

_PAIR = "one pair of 64 PEs"
_SOURCE = "each different round of a period, Verilog on the simulated card, at 180 MHz"
_WORKED_OUT = "worked out, hw.fa3c.round_clocks, at 180 MHz"


def settings_of(sharing, agents):
    """Fields of the kernel's config. A training of PAAC has the samples of all agents, of 5 steps
    each, or of as many as its kernel has slots for."""
    samples = {"steps": agents * min(5, SLOTS // agents)} if sharing == "paac" else {}
    return CASES[_PAIR] | samples


def rows():
    """The list of rows of each sharing and number of agents: inferences a second (ips), by formula,
    and measured where ``MEASURED`` says so; and the steps of a rollout."""
    result = []
    for sharing in SHARINGS:
        for agents in AGENTS:
            settings = settings_of(sharing, agents)
            config = Fa3cConfig(**settings)
            schedule = schedule_of(config, agents, sharing=sharing)
            clocks = sum(period_clocks(config, schedule))
            ips = ips_of(schedule.active, clocks, schedule.steps)
            case = f"{_PAIR}, {sharing}, {agents} agents, {schedule.steps} steps"
            result.append(row("fa3c", case, "ips", ips, "1/s", source=_WORKED_OUT))
            if (sharing, agents) == MEASURED:
                found = measure_different(kernel(**settings), agents, sharing)
                measured = ips_of(found.agents, found.clocks, schedule.steps)
                result.append(
                    row("fa3c", case, "ips", measured, "1/s", reference=_WORKED_OUT,
                        reference_value=ips, source=_SOURCE)
                )  # fmt: skip
    return result

"""Inferences a second of agents that share theta as in A3C, GA3C and PAAC, on one pair of units."""

from bench import row
from bench.fa3c.alternatives import CASES
from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import ips_of, kernel
from hw.fa3c.config import SLOTS, Fa3cConfig
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.sharing import SHARINGS, schedule_of

__all__ = ["AGENTS", "MEASURED", "rows", "settings_of", "worked_out"]

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
    """The list of rows of ``worked_out``, and inferences a second as measured with the sharing and
    the number of agents in ``MEASURED``, beside the formula's."""
    sharing, agents = MEASURED
    settings, schedule, ips = _worked_out(sharing, agents)
    found = measure_different(kernel(**settings), agents, sharing)
    measured = ips_of(found.agents, found.clocks, schedule.steps)
    return [
        *worked_out(),
        row("fa3c", _case(sharing, schedule, agents), "ips", measured, "1/s",
            reference=_WORKED_OUT, reference_value=ips, source=_SOURCE),
    ]  # fmt: skip


def worked_out():
    """The list of rows ips, inferences a second by formula, of each sharing and number of agents;
    a case names the steps of its rollouts."""
    result = []
    for sharing in SHARINGS:
        for agents in AGENTS:
            _, schedule, ips = _worked_out(sharing, agents)
            case = _case(sharing, schedule, agents)
            result.append(row("fa3c", case, "ips", ips, "1/s", source=_WORKED_OUT))
    return result


def _worked_out(sharing, agents):
    """``(settings, schedule, inferences a second by formula)``."""
    settings = settings_of(sharing, agents)
    config = Fa3cConfig(**settings)
    schedule = schedule_of(config, agents, sharing=sharing)
    clocks = sum(period_clocks(config, schedule))
    return settings, schedule, ips_of(schedule.active, clocks, schedule.steps)


def _case(sharing, schedule, agents):
    return f"{_PAIR}, {sharing}, {agents} agents, {schedule.steps} steps"

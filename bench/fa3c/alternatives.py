"""FA3C's Figure 10: one pair of units, its two other layouts of parameters, and a single unit."""

from bench import row
from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import ips_of, kernel, worked_out_ips
from hw.fa3c.config import Fa3cConfig

__all__ = ["AGENTS", "CASES", "MEASURED", "rows", "worked_out"]

_SIZES = dict(agents=16, snapshots=8)
_PAIR = _SIZES | dict(units=("infer", "train"))
#: FA3C 5.4: a pair of 64 PEs each, its alternatives, and the single unit with the PEs of both; then
#: two units for both tasks with as many PEs, which tells roles from size.
CASES = {
    "one pair of 64 PEs": _PAIR,
    "one pair of 64 PEs, Alt1": _PAIR | dict(layout="alt1"),
    "one pair of 64 PEs, Alt2": _PAIR | dict(layout="alt2"),
    "one unit of 128 PEs": _SIZES | dict(units=("any",), lanes=8),
    "2 units of 64 PEs for both": _SIZES | dict(units=("any",) * 2),
}
#: Numbers of agents of the figure; those with which each kernel is measured.
AGENTS, MEASURED = (1, 2, 4, 8, 16), (1, 2, 4)
#: Inferences a second with 16 agents, beside those of the pair (FA3C 5.4).
_PAPER = {"one pair of 64 PEs, Alt1": 0.67}

_SOURCE = "each different round of a period, Verilog on the simulated card, at 180 MHz"
_FIGURE = "Figure 10: "
_WORKED_OUT = "worked out, hw.fa3c.round_clocks, at 180 MHz"


def rows():
    """The list of rows of the figure: those of ``worked_out``, and inferences a second as measured
    with the numbers of agents in ``MEASURED``, beside the formula's."""
    result = worked_out()
    found = {each["case"]: each["value"] for each in result if each["metric"] == "ips"}
    for case, settings in CASES.items():
        for agents in MEASURED:
            period, name = measure_different(kernel(**settings), agents), f"{case}, {agents} agents"
            result.append(
                _row(name, "ips", ips_of(period.agents, period.clocks), "1/s",
                     reference=_WORKED_OUT, reference_value=found[_FIGURE + name], source=_SOURCE)
            )  # fmt: skip
    return result


def worked_out():
    """The list of rows by formula: inferences a second of each kernel and number of agents, the
    share of the pair's with 16 agents, and the number of agents from which on the pair is faster
    than the single unit."""
    result, found = [], {}
    for case, settings in CASES.items():
        config = Fa3cConfig(**settings)
        for agents in AGENTS:
            found[case, agents] = ips = worked_out_ips(config, agents)
            result.append(_row(f"{case}, {agents} agents", "ips", ips, "1/s"))
    pair, *_ = CASES
    for case in CASES:
        share = round(found[case, AGENTS[-1]] / found[pair, AGENTS[-1]], 3)
        paper = {}
        if case in _PAPER:
            paper = dict(reference="FA3C 5.4", reference_value=_PAPER[case])
        result.append(_row(f"{case}, 16 agents", "of_the_pair", share, "", **paper))
    faster = [n for n in AGENTS if found[pair, n] > found["one unit of 128 PEs", n]]
    return [
        *result,
        _row("pair faster than one unit of 128 PEs", "agents", min(faster), "",
             reference="FA3C 5.4", reference_value=4),
    ]  # fmt: skip


def _row(case, metric, value, unit, source=_WORKED_OUT, **reference):
    return row("fa3c", f"{_FIGURE}{case}", metric, value, unit, source=source, **reference)

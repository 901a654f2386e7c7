"""Two pairs of units with 128 PEs, whose theta and squares have a master each: inferences a second,
and bytes a second of every bank."""

from collections import Counter

import boards
from bench import row
from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import LARGE, ips_of, kernel
from boards.memory import banks
from hw.shell.description import KernelDescription

__all__ = ["SETTINGS", "rows"]

SETTINGS = LARGE | dict(global_masters=2)
_CASE = "2 pairs of 128 PEs, theta and squares apart, 32 agents"
_SOURCE = "each different round of a period, Verilog on the simulated card, at 180 MHz"


def rows():
    """The list of rows ips, and bytes a second of each bank of a U200: of its four, three belong to
    the host's master, to theta and to squares, and the local masters share one."""
    folder, result = kernel(**SETTINGS), []
    found, rates = measure_different(folder, 32), Counter()
    result.append(
        row("fa3c", _CASE, "ips", ips_of(found.agents, found.clocks), "1/s", reference="at least",
            reference_value=7500, source=_SOURCE)
    )  # fmt: skip
    description = KernelDescription.from_json((folder / "kernel.json").read_text(encoding="utf-8"))
    assigned = banks(description, boards.get("u200"))
    for master, bank in zip(description.masters, assigned, strict=True):
        rates[bank.name] += found.bank_rates()[master.name]
    for name, rate in rates.items():
        result.append(
            row("fa3c", _CASE, f"{name}_bytes_a_second", round(rate / 1e9, 2), "GB/s",
                reference="at most", reference_value=16, source=_SOURCE)
        )  # fmt: skip
    return result

"""Inferences a second of whole rounds on the simulated card: clocks of a period of the schedule."""

from functools import cache
from hashlib import sha256
from typing import NamedTuple

from bench import row
from host.a3c.card_network import ActorCritic
from host.cards import open_card
from host.explore.round_clocks import periods
from host.kernels import generate
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.round_clocks import period_clocks
from hw.fa3c.schedule import Schedule
from sim.card.memory import MemoryConfig
from system.tools import BUILD_DIRECTORY

__all__ = [
    "CLOCK",
    "PAIRS",
    "PAPER",
    "RoundMeasurement",
    "expected",
    "ips_of",
    "kernel",
    "measure",
    "rows",
    "worked_out",
    "worked_out_ips",
]

#: The paper's clock, FA3C 5.1.
CLOCK = 180e6
#: Two pairs of units with 64 PEs, as in the paper, and other units. The unit of 128 PEs is the
#: paper's SingleCU, which it compares with one pair (FA3C 5.4).
PAIRS = dict(agents=32, snapshots=8)
LARGE = PAIRS | dict(lanes=8, batch=8)
CASES = {
    "2 pairs of 64 PEs": PAIRS,
    "one unit of 256 PEs": PAIRS | dict(units=("any",), lanes=16),
    "one pair of 64 PEs": PAIRS | dict(units=("infer", "train")),
    "one unit of 128 PEs": PAIRS | dict(units=("any",), lanes=8),
    "4 units of 64 PEs for both": PAIRS | dict(units=("any",) * 4),
    "3 pairs of 64 PEs": PAIRS | dict(units=("infer", "train") * 3),
    "4 pairs of 64 PEs": PAIRS | dict(units=("infer", "train") * 4),
    "2 pairs of 128 PEs": LARGE,
}

_SOURCE = "clocks of a period of rounds, Verilog on the simulated card, at 180 MHz"


class RoundMeasurement(NamedTuple):
    """The measurements of one period of rounds.

    ``agents`` have worked in it, some others may have rested. ``clocks`` is the sum over its
    launches, ``moved`` has the bytes that each master has read and written: ``{(master, "R" or
    "W"): bytes}``. ``statuses`` has the design's status block after each launch.
    """

    agents: int
    clocks: int
    moved: dict
    statuses: list

    def all_bytes(self, channel):
        """Bytes that all masters together have read ("R") or written ("W")."""
        return sum(size for (_, which), size in self.moved.items() if which == channel)

    def bank_rates(self):
        """``{master: bytes a second}``, read and written, at ``CLOCK``: each has its own bank."""
        rates = dict.fromkeys((master for master, _ in self.moved), 0)
        for (master, _), size in self.moved.items():
            rates[master] += size * CLOCK / self.clocks
        return rates


@cache
def kernel(**settings):
    """Generates the kernel ``a3c`` for the U200, and returns its folder.

    ``settings`` are fields of the kernel's config; all others have their defaults.
    """
    name = sha256(repr(sorted(settings.items())).encode()).hexdigest()[:12]
    return generate("a3c", "u200", BUILD_DIRECTORY / "bench" / f"a3c-{name}", **settings)


def measure(folder, agents, memory=None):
    """``RoundMeasurement`` of one period of rounds on the simulated card, after a period in which
    all groups begin.

    ``folder`` is the kernel's, ``agents`` the number of agents, ``memory`` a ``MemoryConfig`` or
    None for the default.
    """
    with open_card("sim", **({} if memory is None else {"memory": memory})) as card:
        network = ActorCritic(card.load(folder / "kernel.json"))
        schedule = Schedule(network.config, agents)
        turns = periods(network, schedule)
        next(turns)
        clocks, before = network.device_cycles, dict(card.device.traffic())
        statuses = next(turns)
        clocks, after = network.device_cycles - clocks, card.device.traffic()
    moved = {place: size - before.get(place, 0) for place, size in after.items()}
    return RoundMeasurement(schedule.active, clocks, moved, statuses)


def expected(config, agents):
    """Clocks of each round of a period, computed."""
    return period_clocks(config, Schedule(config, agents))


def worked_out_ips(config, agents):
    """Inferences a second of ``agents`` agents, computed; some of them may rest."""
    schedule = Schedule(config, agents)
    return ips_of(schedule.active, sum(period_clocks(config, schedule)))


def ips_of(agents, clocks, steps=5):
    """Inferences a second. Their time includes bootstraps and trainings (FA3C 5.2)."""
    return round(agents * steps * CLOCK / clocks)


#: FA3C 5.2: inferences a second with 16 agents or more, its host included.
PAPER = dict(reference="FA3C 5.2", reference_value=2550)


def rows():
    """The list of rows of whole rounds: inferences a second (ips) and clocks of a period, bytes
    read and written, and the clocks that RMSProp adds.

    Measured on the simulated card are 16 agents, 16 agents on slower memory, and one agent. By
    formula are other numbers of agents and other units.
    """
    pairs = Fa3cConfig(**PAIRS)
    folder, result = kernel(**PAIRS), []
    sixteen = measure(folder, 16)
    slow = measure(folder, 16, MemoryConfig(bandwidth=0.75))
    one = measure(folder, 1)
    for case, agents, found, low in (
        ("16 agents", 16, sixteen, 5000),
        ("16 agents, memory of 0.75 beats a clock", 16, slow, 4700),
        ("1 agent", 1, one, None),
    ):
        clocks = found.clocks
        result.append(
            row("fa3c", f"2 pairs of 64 PEs, {case}", "ips", ips_of(agents, clocks), "1/s",
                **(PAPER if agents == 16 else {}), source=_SOURCE)
        )  # fmt: skip
        if low:
            result.append(
                row("fa3c", f"2 pairs of 64 PEs, {case}", "ips", ips_of(agents, clocks), "1/s",
                    reference="at least", reference_value=low, source=_SOURCE)
            )  # fmt: skip
    worked = sum(expected(pairs, 16))
    result.append(
        row("fa3c", "2 pairs of 64 PEs, 16 agents", "period_cycles", sixteen.clocks, "cycles",
            reference="worked out, hw.fa3c.round_clocks", reference_value=worked, source=_SOURCE)
    )  # fmt: skip
    for name, value, paper, most in (
        ("load_bytes", sixteen.all_bytes("R") / 16e6, 27_130 * 1024 / 1e6, 15.5),
        ("store_bytes", sixteen.all_bytes("W") / 16e6, 7_776 * 1024 / 1e6, 6.8),
    ):
        result += [
            row("fa3c", "16 agents, a routine", name, round(value, 2), "MB",
                reference="FA3C, Table 2, its rows added up", reference_value=round(paper, 1),
                source="beats of all masters on the simulated card"),
            row("fa3c", "16 agents, a routine", name, round(value, 2), "MB", reference="at most",
                reference_value=most, source="beats of all masters on the simulated card"),
        ]  # fmt: skip
    for case, found in (("a TRAIN", one), ("two at once", sixteen)):
        extra = max(
            int(status["update_cycles"]) - int(max(status["unit_cycles"][1::2]))
            for status in found.statuses
            if max(status["unit_cycles"][1::2])
        )
        result.append(
            row("fa3c", case, "rmsprop_extra_cycles", extra, "cycles", reference="at most",
                reference_value=3000, source="status: last update after the last gradient row")
        )  # fmt: skip
    return result + worked_out()


def worked_out():
    """Rows computed by ``round_clocks``, which is right to half a percent: their masters are as
    wide as a row."""
    result, source = [], "worked out, hw.fa3c.round_clocks, at 180 MHz"
    for case, settings in CASES.items():
        config = Fa3cConfig(**settings)
        for agents in (1, 2, 4, 8, 16, 32):
            ips = worked_out_ips(config, agents)
            result.append(
                row("fa3c", f"{case}, {agents} agents", "ips", ips, "1/s",
                    **(PAPER if agents == 16 and settings is PAIRS else {}), source=source)
            )  # fmt: skip
    return result

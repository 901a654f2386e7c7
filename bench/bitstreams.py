"""Kernels placed and routed on the ULX3S, with memory and serial line: its clock and its cells."""

from dataclasses import dataclass, field

import boards
from bench import row
from boards.bitstream import build
from host.kernels import package
from hw.shell.description import KernelDescription
from system.tools import BUILD_DIRECTORY

__all__ = ["KERNELS", "Kernel", "case", "routed", "rows"]

BOARD = "ulx3s"


@dataclass(frozen=True)
class Kernel:
    """A kernel to place: ``design`` with ``settings``, at ``mhz`` (None: the board's clock), by
    each of ``seeds``; ``bar`` is the most percent of each kind of cell that it may take."""

    design: str
    seeds: tuple
    settings: dict = field(default_factory=dict)
    mhz: int | None = None
    bar: int | None = None


KERNELS = {
    "replay": Kernel("replay", (1,)),
    "dqn": Kernel("dqn", (1, 2, 3), bar=85),
    # By a compiled nextpnr (NEXTPNR_ECP5); seeds 1 and 2 were given up while they were routed.
    "dqn of 4-64-64-2": Kernel("dqn", (3,), {"hidden": (64, 64)}, bar=85),
    # With 2048 experiences. Wires of the replay memory miss the 45 MHz that the board has for dqn.
    # Seeds 2 and 8 are by a compiled nextpnr, seed 1 is by pip's, of a netlist with 221 LUT4 more.
    "dqn that plays": Kernel("dqn", (1, 2, 8), {"play.environments": 8}, mhz=42, bar=85),
}
_SOURCE = "yosys, then nextpnr-ecp5 with its static placer"


def case(name, seed):
    """The case of the rows of a bitstream."""
    return f"{name}, {boards.get(BOARD).title}, seed {seed}"


def routed(name, seed, outcome):
    """The rows of one bitstream.

    name, seed : of ``KERNELS``, and the seed of the placer.
    outcome : its ``Outcome``. Each clock gives a row routed_mhz, with the MHz that were asked for
        as reference; each kind of cell its count, such as ebr, and its share, ebr_share.
    """
    own, bar = case(name, seed), KERNELS[name].bar
    limits = dict(reference="at most", reference_value=bar) if bar else {}
    result = [
        row("bitstreams", own, "routed_mhz", clock.mhz, "MHz",
            reference="asked for", reference_value=clock.asked_mhz, source=_SOURCE)
        for clock in outcome.clocks
    ]  # fmt: skip
    for each in outcome.used:
        cells = each.name.lower()
        result += [
            row("bitstreams", own, cells, each.count, "cells", source=_SOURCE),
            row("bitstreams", own, f"{cells}_share", round(each.share), "%", source=_SOURCE)
            | limits,
        ]
    return result


def rows(area=False):
    """If ``area``, the rows of all bitstreams of ``KERNELS``, which take up to an hour each; else
    none. BuildFailed if a clock is not met."""
    result = []
    for name, kernel in (KERNELS if area else {}).items():
        out = BUILD_DIRECTORY / "bitstreams"
        folder = package(
            kernel.design, BOARD, out, mhz=kernel.mhz, overwrite=True, **kernel.settings
        )
        text = (folder / "kernel.json").read_text(encoding="utf-8")
        description = KernelDescription.from_json(text)
        board = boards.get(BOARD, kernel.design).at(kernel.mhz)
        for seed in kernel.seeds:
            result += routed(name, seed, build(folder, description, board, seed=seed))
    return result

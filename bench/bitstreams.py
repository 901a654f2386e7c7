"""Kernels placed and routed on the ULX3S, with memory and serial line: its clock and its cells."""

import boards
from bench import row
from boards.bitstream import build
from host.kernels import package
from hw.shell.description import KernelDescription
from system.tools import BUILD_DIRECTORY

__all__ = ["SEEDS", "case", "routed", "rows"]

BOARD = "ulx3s"
#: Design -> seeds of the placer, each a bitstream of its default config.
SEEDS = {"replay": (1,), "dqn": (1, 2, 3)}
#: Designs that must leave room: percent of each kind of cell, at most.
_BARS = {"dqn": 85}
_SOURCE = "yosys, then nextpnr-ecp5 with its static placer"


def case(name, seed):
    """The case of the rows of a bitstream."""
    return f"{name}, {boards.get(BOARD, name).title}, seed {seed}"


def routed(name, seed, outcome):
    """The rows of one bitstream.

    name, seed : the design and the seed of the placer.
    outcome : its ``Outcome``. Each clock gives a row routed_mhz, with the MHz that were asked for
        as reference; each kind of cell its count, such as ebr, and its share, ebr_share.
    """
    own, bar = case(name, seed), _BARS.get(name)
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
    """If ``area``, the rows of each design's bitstreams, which take a quarter of an hour a design
    and some minutes a seed; else none. BuildFailed if a clock is not met."""
    result = []
    for name, seeds in (SEEDS if area else {}).items():
        folder = package(name, BOARD, BUILD_DIRECTORY / "bitstreams", overwrite=True)
        text = (folder / "kernel.json").read_text(encoding="utf-8")
        description = KernelDescription.from_json(text)
        for seed in seeds:
            outcome = build(folder, description, boards.get(BOARD, name), seed=seed)
            result += routed(name, seed, outcome)
    return result

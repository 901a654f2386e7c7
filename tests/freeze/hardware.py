"""Kernels of legal configs: their Verilog, module by module, their clocks and their estimates; and
the rows of docs/results that are by formula."""

import boards
from bench.fa3c import alternatives, rounds, sharing
from bench.fixar import cycles, intra_layer
from bench.learner import area
from hw.designs import DESIGNS
from hw.verilog import no_collection, to_verilog
from tests.freeze.netlists import modules
from tests.legal_configs import legal_config

__all__ = ["DEFAULTS", "VERILOG", "estimates", "formulas", "verilog"]

#: Numbers of the legal configs whose Verilog is compared, a design's; those of make test first.
VERILOG = {"replay": 7, "gae": 7, "dqn": 6, "ddpg": 5, "fixar": 5, "a3c": 4}
#: Boards for which the default kernel of a design is compared: what a user gets.
DEFAULTS = {
    "replay": "u200", "gae": "zcu106", "dqn": "u50", "ddpg": "u50", "fixar": "u50", "a3c": "u200",
}  # fmt: skip
#: Legal configs of each design whose clocks and estimates are compared: 5 004.
_ESTIMATES = 834
#: Configs whose numbers have one digest.
_BLOCK = 6


def verilog(name, which):
    """``{module: digest}`` of a kernel: a number of a legal config, or the board of a default."""
    design = DESIGNS[name]
    if isinstance(which, int):
        config = legal_config(name, which)
    else:
        config = design.default(boards.get(which).numbers)
    with no_collection():
        text = to_verilog(design.kernel(config), name=name)
    return dict(modules(text))


def estimates(name, blocks=None):
    """``{"NAME configs A to B": their clocks and estimates}`` of the first ``blocks`` blocks of a
    design, None: of all."""
    design, result = DESIGNS[name], {}
    for first in range(0, _ESTIMATES if blocks is None else blocks * _BLOCK, _BLOCK):
        told = []
        for seed in range(first, first + _BLOCK):
            config = legal_config(name, seed)
            told.append((design.estimate(config), sorted(design.clocks(config).items())))
        result[f"{name} configs {first} to {first + _BLOCK - 1}"] = told
    return result


def formulas():
    """``{row: value}`` of the rows of docs/results that are by formula, worked out now."""
    found = [
        *rounds.worked_out(), *alternatives.worked_out(), *sharing.worked_out(),
        *cycles.worked_out(), *intra_layer.rows(), *area.estimates(),
    ]  # fmt: skip
    return {f"{row['case']}: {row['metric']}": row["value"] for row in found}

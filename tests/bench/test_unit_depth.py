"""Rows of the depth of units: every unit of every kernel has one, and every deep unit a reason."""

import importlib
import pkgutil
import re

import pytest
from amaranth.lib import wiring

import hw
from bench import unit_depth
from bench.results import FOLDER, Results
from bench.unit_depth import LIMIT, METRICS, unit_name, units
from boards.depth import Depth
from boards.paths import Path
from hw.designs import DESIGNS

#: Units that no kernel has with the default config of its board, by the beginning of their name.
APART = {
    "arith.float32.unit.Float32Unit": "the base of others",
    "shared.SharedModule": "an instance of others",
    "shell.core.CommandCore": "the base of others",
    "environment.": "an option: play",
    "learner.play.": "an option: play",
    "learner.network.gradient_norm.GradientNorm": "an option: clip_norm",
    "learner.network.merge.Merge": "of a plan with several takers, in no kernel yet",
    "learner.parameters.network_optimizer.NetworkOptimizer": "an option: update_units=0",
    "learner.parameters.square_sum.SquareSum": "an option: clip_norm",
    "nn.td_loss.LossPipeline": "the base of others",
    "nn.td_program.TdProgram": "an option: loss_unit=program",
    "fa3c.memory.transposed_image.TransposedImage": "an option of Figure 10",
    "fa3c.unit.array._Choice": "an option of Figure 10",
    "shell.stripes._Striped": "of two memory masters",
    "shell.width_conversion.Narrow": "of a narrow memory: ULX3S",
    "stream.skid.SkidBuffer": "a unit of its own",
    "uart.": "ULX3S",
}


def rows():
    return {row["case"]: row for row in Results.of("units").rows if row["metric"] == "carry_levels"}


def test_every_unit_has_a_row_or_is_in_no_kernel():
    for module in pkgutil.walk_packages(hw.__path__, "hw."):
        importlib.import_module(module.name)
    classes = {unit_name(cls) for cls in _below(wiring.Component) if cls.__module__[:3] == "hw."}
    apart = {name for name in classes if name.startswith(tuple(APART))}
    assert set(rows()) == classes - apart
    assert all(any(name.startswith(start) for name in apart) for start in APART)


def _below(cls):
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize(
    "design",
    [name if name == "replay" else pytest.param(name, marks=pytest.mark.long) for name in DESIGNS],
)
def test_units_of_a_kernel_have_rows(design):
    verilog, found = units(design)
    assert {unit_name(cls) for cls in found.values()} <= set(rows())
    modules = re.findall(r"^module \\?([^\s(]+)", verilog, re.M)
    assert all(unit_depth._class_of(name, found) for name in modules if "rlfabric_ram" not in name)


def test_every_deep_unit_has_a_reason():
    page = (FOLDER / "units.md").read_text().partition("<!-- rows")[0]
    listed = re.findall(r"^- `(\S+)`, ([\d.]+): \S", page, re.M)
    assert {name: float(levels) for name, levels in listed} == {
        name: row["value"] for name, row in rows().items() if row["value"] > LIMIT
    }


def test_a_row_has_the_deepest_instance(monkeypatch):
    """A module that is no unit counts for the unit around it, in both columns."""
    classes = {"a": wiring.Component, "a.b": LongB, "b2": LongB}
    found = {"a": (1, 5), "a.part$3": (4.26, 2), "a.b": (2, 3), "a.b$9.fifo": (1, 4), "b2": (9, 1)}
    monkeypatch.setattr(unit_depth, "DESIGNS", ["one"])
    monkeypatch.setattr(unit_depth, "units", lambda name: ("text", classes))
    monkeypatch.setattr(unit_depth, "depths", lambda text, **options: {
        name: Depth(*(Path(levels, "x", "y") for levels in each)) for name, each in found.items()
    })  # fmt: skip
    said = []
    values = {
        (row["case"].rpartition(".")[2], row["metric"]): row["value"]
        for row in unit_depth.rows(said.append)
    }
    carry, lut6 = METRICS
    assert values == {("Component", carry): 4.3, ("Component", lut6): 5,
                      ("LongB", carry): 9, ("LongB", lut6): 4}  # fmt: skip
    assert said[-1].endswith("LongB: 9.0 levels in b2, from x to y")


class LongB(wiring.Component):
    pass

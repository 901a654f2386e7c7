"""Rows of area.json on an ECP5: units and kernels that no row was fitted to, and the fit itself."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import bench.area_fit
import boards
from bench.area import mapped, whole_of
from bench.area_fit import FILE, MAPS, Linear, fit, mapped_units
from bench.area_kernels import ESTIMATES, KERNELS, PARTS
from bench.area_units import UNITS
from hw.area import area
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.replay import estimate as replay
from hw.replay.tree.forwarding_memory import ForwardingMemory
from hw.shell import estimate as shell
from hw.shell.axi import EngineConfig
from hw.shell.control import Control
from hw.shell.description import standard_arguments
from hw.shell.read_engine import ReadEngine
from hw.shell.sequencer import Sequencer
from hw.shell.write_engine import WriteEngine
from hw.stream import estimate as stream
from hw.stream.queue import Queue

ROOT = Path(__file__).parents[2]
_ENGINE = EngineConfig(data_width=256, depth=32, burst_beats=16, bursts=8)
_ARGUMENTS = standard_arguments(DESIGNS["dqn"].core.BUFFERS)


def _sequencer():
    return Sequencer(data_width=256, status_bytes=128, config_hash=3**40, pointers=range(5))


def _memory():
    return ForwardingMemory(width=100, depth=32, style="distributed", clear_width=5)


#: name -> function that makes the unit, function that gives its estimate; LUT and FF on an ECP5 as
#: yosys mapped it. No row was fitted to these units; none has blocks or multipliers.
UNSEEN = {
    "read_engine": (lambda: ReadEngine(_ENGINE), lambda: shell.read_engine(_ENGINE), (1903, 182)),
    "write_engine": (
        lambda: WriteEngine(_ENGINE),
        lambda: shell.write_engine(_ENGINE),
        (2038, 214),
    ),
    "sequencer": (_sequencer, lambda: shell.sequencer(256, 128), (2275, 636)),
    "control": (lambda: Control(_ARGUMENTS), lambda: shell.control(_ARGUMENTS), (1210, 603)),
    "memory": (_memory, lambda: replay.forwarding_memory(100, 32, "distributed"), (733, 314)),
    "queue": (lambda: Queue(50, 32), lambda: stream.queue(50, 32), (269, 16)),
}
#: Kernel that a ULX3S has by default -> LUT, FF, pairs of DP16KD, URAM, MULT18X18D.
WHOLE = {"replay": (31181, 14736, 15, 0, 38), "gae": (20167, 14035, 4, 0, 98)}


def _default(name):
    return DESIGNS[name].default(boards.get("ulx3s").numbers)


@pytest.mark.parametrize("name", UNSEEN)
def test_unseen_units_of_an_ecp5(name):
    """Taken down once."""
    _, need, (lut, ff) = UNSEEN[name]
    found = need().ecp5
    assert found[0] == pytest.approx(lut, rel=0.06)
    assert found[1] == pytest.approx(ff, rel=0.06)
    assert found[2:] == (0, 0, 0)


@pytest.mark.parametrize("name", WHOLE)
def test_unseen_kernels_of_an_ecp5(name):
    """Taken down once."""
    lut, ff, *exact = WHOLE[name]
    found = DESIGNS[name].estimate(_default(name)).ecp5
    assert found[0] == pytest.approx(lut, rel=0.06)
    assert found[1] == pytest.approx(ff, rel=0.01)
    assert list(found[2:]) == exact


def test_no_row_was_fitted_to_them():
    assert not any(_default(name) in KERNELS[name].values() for name in WHOLE)
    assert not UNSEEN.keys() & {unit for units in UNITS.values() for unit in units}


@pytest.mark.long
def test_unseen_units_mapped_again():
    counts = mapped_units({name: make() for name, (make, *_) in UNSEEN.items()}, "ecp5", "unseen")
    for name, (_, _, (lut, ff)) in UNSEEN.items():
        assert counts[name]["lut"] == pytest.approx(lut, rel=0.03), name
        assert counts[name]["ff"] == pytest.approx(ff, rel=0.01), name


@pytest.mark.long
@pytest.mark.parametrize("name", WHOLE)
def test_unseen_kernels_mapped_again(name):
    """Its parts within a tenth, or, of what is small, a hundredth of the kernel. Minutes each."""
    config = _default(name)
    found = mapped(name, config, PARTS[name], "engines", "ecp5")
    whole = whole_of(found)
    for part, need in ESTIMATES[name](config).items():
        lut, ff, blocks, _, dsp = need.ecp5
        expected = found[part]
        assert lut == pytest.approx(expected["lut"], rel=0.1, abs=0.01 * whole["lut"]), part
        assert ff == pytest.approx(expected["ff"], rel=0.02, abs=20), part
        assert (blocks, dsp) == (expected["bram36"], expected["dsp"]), part
    assert tuple(whole[each] for each in RESOURCES) == pytest.approx(WHOLE[name], rel=0.03)


def test_designs_with_an_unknown_part_are_unknown():
    """They have a bound, which is below what is known of the others."""
    for name in DESIGNS:
        found = DESIGNS[name].estimate(_default(name))
        assert (found.ecp5 is None) == (name in ("td3", "fixar", "a3c")), name
        assert (found.ecp5_least is None) == (found.ecp5 is not None), name


def _fitted(*arguments):
    """``{row: its functions}`` that a fit prints. Its symbols stay in a process of its own."""
    words = [sys.executable, "-m", "bench.area_fit", "ecp5", "--recorded", *arguments]
    text = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    lines = (line.split(": ", 1) for line in text.splitlines() if line.endswith("}"))
    return {row: json.loads(functions) for row, functions in lines}


def test_the_rows_of_an_ecp5_are_those_of_the_recorded_maps():
    table = json.loads(FILE.read_text())
    fitted = _fitted()
    for row, functions in fitted.items():
        assert table[row]["ecp5"] == functions, row
    given = {row for row, families in table.items() if "ecp5" in families} - fitted.keys()
    guessed = {"arith.float32.rsqrt", "learner.network.gradient_norm", "nn.fixed_optimizer.square"}
    guessed |= {"learner.control.step_check", "arith.float32.power_of_two"}
    assert given == {"stream.delay", "stream.delay.long", *guessed}


def test_a_row_that_is_fitted_alone():
    """With the others known, but for their rounding; what was fitted to 0 is known as well."""
    row = "learner.play.player"
    found, kept = _fitted(row)[row], json.loads(FILE.read_text())[row]["ecp5"]
    for resource in ("lut", "ff"):
        counts = found[resource].pop(""), kept[resource].pop("")
        assert counts[0] == pytest.approx(counts[1], rel=1e-3)
    assert found == kept


def test_what_is_mapped_before_is_not_mapped_again(monkeypatch):
    """With --missing: a unit and a kernel that have no counts are the only ones that are mapped."""

    def mapped_units(units, packed, name):
        return dict.fromkeys(units, {})

    def mapped(design, config, parts, unit, family):
        return {"core": {}, "engines": {}}

    monkeypatch.setattr(bench.area_fit, "mapped_units", mapped_units)
    monkeypatch.setattr(bench.area_fit, "mapped", mapped)
    names = [*bench.area_fit._maps("ecp5", ["gae"], {}, lambda text: None)]
    kernel = names[-1].partition(":")[0]  # units come first
    new = {names[0], *(each for each in names if each.startswith(kernel))}
    assert len(new) == 3 < len(names)
    known = dict.fromkeys(set(names) - new)
    assert {*bench.area_fit._maps("ecp5", ["gae"], known, lambda text: None)} == new


@pytest.mark.long
def test_the_maps_are_those_of_yosys():
    """One folder of units, mapped again. It takes minutes."""
    recorded = json.loads(MAPS.read_text())["ecp5"]
    units = {name: make()[0] for name, make in UNITS["stream"].items()}
    for name, counts in mapped_units(units, "ecp5", "stream_units").items():
        lut, *exact = recorded[f"stream, {name}"]
        assert counts["lut"] == pytest.approx(lut, rel=0.03, abs=5), name
        assert [counts[each] for each in RESOURCES[1:]] == exact, name


def test_linear_functions_pass_through_estimates():
    """As estimates treat counts: multiplied, added, divided, rounded to halves."""
    x, y = Linear({"x": 1}), Linear({"y": 2, None: 3})
    assert (sum([2 * x, y * 3, 4]) // 2).parts == {"x": 1, "y": 3, None: Fraction(13, 2)}
    assert not x & 1 and x % 1


def test_known_parts_are_subtracted_and_the_rest_is_solved():
    """Three maps of a row with two widths, each around a known one: 5 + 2 a + 7 b."""
    row, inside = ("mine", "lut"), ("inside", "lut", "")
    prior = {(*row, ""): 4, (*row, "a"): 1, (*row, "b"): 6}
    known = {inside: Fraction(100)}
    found = []
    for a, b in ((1, 1), (10, 3), (4, 20), (40, 7), (30, 31)):
        need = Linear({(*row, ""): 1, (*row, "a"): a, (*row, "b"): b, inside: 2})
        counts = {"lut": 205 + 2 * a + 7 * b}
        found.append(("map", (need, 0, 0, 0, 0), counts))
    solved = fit(found, known, prior, {"mine"})
    assert solved[(*row, "a")] == pytest.approx(2, abs=0.2)
    assert solved[(*row, "b")] == pytest.approx(7, abs=0.2)
    assert all(value.denominator <= 12 for value in solved.values())
    # An equation with a row that nobody knows decides nothing: the prior's proportions stay.
    alone = fit(found, {}, prior, {"mine"})
    assert alone[(*row, "a")] / alone[(*row, "b")] == Fraction(1, 6)


def test_both_families_have_the_same_path():
    """Of maps that are what the rows say, the fit gives the rows back: on UltraScale+."""
    table = json.loads(FILE.read_text())
    row = "stream.ready_register"
    prior = bench.area_fit._coefficients(table, "xcup")
    found = []
    for width in (8, 33, 100):
        lut, ff = (
            Linear({(row, each, ""): 1, (row, each, "width"): width}) for each in ("lut", "ff")
        )
        found.append(("map", (lut, ff, 0, 0, 0), area(row, width=width).resources))
    solved = fit(found, {}, prior, {row})
    assert bench.area_fit._row(solved, row) == table[row]["xcup"]

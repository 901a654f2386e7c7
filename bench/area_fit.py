"""usage: python -m bench.area_fit FAMILY [ROW ...] [--recorded | --missing] [--write]

Fits rows of hw/area.json to the resources that yosys maps single units to on FAMILY, "xcup" or
"ecp5", and prints them; --write keeps them, and the counts of the maps in MAPS. --recorded takes
the counts from MAPS, and nothing is mapped; --missing maps what MAPS lacks. ROW, such as "gae." or
"stream.pack", begins the names of the rows; without a ROW all rows of FOLDERS that occur in a map
are fitted.

An estimate is linear in the coefficients of its rows. Computed once with symbols in their place, it
makes an equation of each map. Known rows, memories and multipliers are constants there: so parts
that have rows of their own are subtracted. The rows of a folder are solved together, by least
squares of the relative deviations; the folders follow each other, and a fitted row is known to the
next folder.

Some maps decide some coefficients. The others keep the proportions of the same row on UltraScale+,
which is a weak prior: registers unchanged, lookup tables times a factor of the row, which is free.
Registers have a free factor too where UltraScale+ packs them into DSP blocks or shift registers.
A row names the same widths in both families.
"""

import json
import sys
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from amaranth import Module
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

import hw.area
from bench.area import mapped
from bench.area_kernels import ESTIMATES, KERNELS, PARTS
from bench.area_units import UNITS
from boards.area import count, modules, packing, total
from hw.errors import UsageError
from hw.estimate import RESOURCES
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["FOLDERS", "MAPS", "Linear", "equations", "fit", "mapped_units", "symbolic"]

FILE = Path(hw.area.__file__).with_name("area.json")
#: {family: {unit or part of a kernel: LUT, FF, pairs of blocks, URAM, multipliers}}.
MAPS = Path(__file__).parents[1] / "tests" / "reference" / "area_maps.json"
FOLDERS = ("stream", "arith", "shell", "replay", "gae", "nn", "environment", "learner")
#: Folder -> designs whose kernels decide its rows.
_DESIGNS = {"replay": ("replay",), "gae": ("gae",), "learner": ("dqn",)}
#: Folders whose designs pack registers into DSP blocks.
_PACKED = ("nn", "learner")
#: Units that are mapped at a time: yosys has 4 GiB.
_TRAY = 32

#: Rows that no map decides: their registers are what they are made of.
_GIVEN = ("stream.delay", "stream.delay.long")
#: Weights of the prior, where a map has 1: of a coefficient's proportion, and of a row's factor.
_PROPORTION, _FACTOR = 0.02, 0.01
#: Rows with a table in a memory block on an ECP5, of which an UltraScale+ makes lookup tables.
_TABLES = ("arith.float32.reciprocal", "arith.log2", "arith.power", "replay.priority_unit")
#: A deviation of a smaller count is judged as if it were one of this count.
_SMALL = 20
#: The largest denominator of a coefficient.
_DENOMINATOR = 12


class Linear:
    """A linear function of coefficients with the operations that an estimate applies to counts.

    parts : ``{(row, resource, width): factor}``, and the constant at None.
    """

    def __init__(self, parts):
        self.parts = Counter(parts)

    def __add__(self, other):
        parts = Counter(self.parts)
        for name, number in (other.parts if isinstance(other, Linear) else {None: other}).items():
            parts[name] += number
        return Linear(parts)

    __radd__ = __add__

    def __mul__(self, factor):
        return Linear({name: factor * number for name, number in self.parts.items()})

    __rmul__ = __mul__

    def __floordiv__(self, divisor):
        return self * Fraction(1, divisor)

    def __and__(self, _):  # blocks are counted in halves
        return 0

    def __mod__(self, _):
        return 1


class _Tray(wiring.Component):
    """Units with all their ports, so that one run of yosys maps many."""

    def __init__(self, units):
        self._units = units
        super().__init__({name: Out(unit.signature) for name, unit in units.items()})

    def elaborate(self, platform):
        m = Module()
        for name, unit in self._units.items():
            m.submodules[name] = unit
            pairs = zip(
                *(unit.signature.flatten(each) for each in (unit, vars(self)[name])), strict=True
            )
            for (_, member, inside), (_, _, outside) in pairs:
                to, source = (outside, inside) if member.flow == Out else (inside, outside)
                m.d.comb += to.eq(source)
        return m


def _prior(table, family):
    """``{(row, resource, width): coefficient}`` on UltraScale+; 0 for the other widths that the row
    names, which may count on ``family``."""
    prior = _coefficients(table, "xcup")
    if family == "xcup":
        return prior
    for row in table:
        names = {
            width for each in table[row].values() for widths in each.values() for width in widths
        }
        for resource in ("lut", "ff"):
            if any(each[:2] == (row, resource) for each in prior):
                prior |= {
                    (row, resource, name): 0 for name in names if (row, resource, name) not in prior
                }
    return prior | {(row, "bram36", ""): 0 for row in _TABLES}


def symbolic(prior, family):
    """Gives every row of ``hw.area`` symbols as coefficients on ``family``, for this process: the
    keys of ``prior``."""
    for row, (names, families) in hw.area._ROWS.items():
        if row in _GIVEN:
            continue
        functions = []
        for resource in RESOURCES:
            widths = [name for unit, each, name in prior if (unit, each) == (row, resource)]
            scale = 1 + (resource == "bram36")
            symbols = {name: Linear({(row, resource, name): scale}) for name in widths}
            constant = symbols.pop("", 0)
            functions.append((constant, tuple(symbols.items()), 1))
        hw.area._ROWS[row] = names, families | {family: functions}
    for name, module in [*sys.modules.items()]:
        if name.startswith("hw."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def mapped_units(units, family, name):
    """``{unit: {resource: count}}`` of the dict ``units`` of components, mapped in one run of yosys
    with their modules kept. A text that was mapped before is not mapped again."""
    verilog = to_verilog(_Tray(units), name=name)
    found = modules(verilog, name, work=BUILD_DIRECTORY / "area", family=family)
    return {unit: count(total(found, f"{name}.{unit}")) for unit in units}


def _maps(family, folders, known, progress):
    """``{name: {resource: count}}`` of all units of ``folders``, and of the parts of all kernels,
    but for the names in ``known``. It takes an hour."""
    result = {}
    for folder in folders:
        units = {
            name: make()[0]
            for name, make in UNITS[folder].items()
            if f"{folder}, {name}" not in known
        }
        packed = packing(family, folder in _PACKED)
        for start in range(0, len(units), _TRAY):
            some = dict([*units.items()][start : start + _TRAY])
            progress(f"{folder}: {len(some)} units")
            found = mapped_units(some, packed, f"{folder}_units")
            result |= {f"{folder}, {name}": counts for name, counts in found.items()}
        for design in _DESIGNS.get(folder, ()):
            for name, config in KERNELS[design].items():
                if any(each.startswith(f"{design}, {name}: ") for each in known):
                    continue
                progress(f"kernel {design}, {name}")
                found = mapped(design, config, PARTS[design], "engines", family)
                result |= {f"{design}, {name}: {part}": found[part] for part in found}
    return result


def equations(maps, folders=FOLDERS):
    """Yields ``(name, Estimate, {resource: mapped count})`` of all units of ``folders``, and of the
    parts of all kernels; ``maps`` has the counts by name."""
    for folder in folders:
        for unit, make in UNITS[folder].items():
            name = f"{folder}, {unit}"
            yield name, make()[1], maps[name]
        for design in _DESIGNS.get(folder, ()):
            for kernel, config in KERNELS[design].items():
                for part, need in ESTIMATES[design](config).items():
                    name = f"{design}, {kernel}: {part}"
                    yield name, need, maps[name]


def fit(found, known, prior, rows):
    """``{(row, resource, width): coefficient}`` of ``rows``, a set of names.

    found : list of ``equations`` with symbols.
    known : coefficients of other rows; an equation with a row that is in neither is left out.
    prior : ``{(row, resource, width): coefficient}`` on UltraScale+.
    """
    result = {}
    for place, resource in enumerate(RESOURCES):
        names = [each for each in prior if each[0] in rows and each[1] == resource]
        if names:
            lines = list(_lines(found, place, resource, known, names))
            result |= _solved(lines, resource, {name: float(prior[name]) for name in names})
    return result


def _solved(lines, resource, prior):
    """Coefficients of one resource from ``_lines``; ``prior`` has their proportions."""
    names, factors = list(prior), sorted({row for row, *_ in prior})
    columns = {name: number for number, name in enumerate([*names, *factors])}
    size = {name: number or 1.0 for name, number in prior.items()}
    exact = resource in ("dsp", "bram36")
    free = resource == "lut" or factors[0].startswith(tuple(f"{folder}." for folder in _PACKED))
    weights = (1e-6, 1e-6) if exact else (_PROPORTION, _FACTOR if free else 1)
    equations = [
        (
            {name: number * size[name] for name, number in parts.items()},
            side,
            1 / max(whole, _SMALL),
        )
        for parts, side, whole in lines
    ]
    for name in names:
        if prior[name]:
            equations.append(({name: 1, name[0]: -1}, 0, weights[0]))
        else:
            equations.append(({name: 1}, 0, weights[0]))
    equations += [({row: 1}, 1.4 if resource == "lut" else 1, weights[1]) for row in factors]
    matrix = np.zeros((len(equations), len(columns)))
    sides = np.zeros(len(equations))
    for line, (parts, side, weight) in enumerate(equations):
        for name, number in parts.items():
            matrix[line, columns[name]] = number * weight
        sides[line] = side * weight
    solved, left = np.zeros(len(columns)), np.arange(len(columns))
    while len(left):
        solved[left] = np.linalg.lstsq(matrix[:, left], sides, rcond=None)[0]
        # A coefficient whose sign is not that of its prior is none that maps decide: 0.
        wrong = left[(solved[left] < 0) & (left < len(names))]
        if not len(wrong):
            break
        solved[wrong], left = 0, np.setdiff1d(left, wrong)
    return {name: _plain(solved[columns[name]] * size[name], name) for name in names}


def _lines(found, place, resource, known, names):
    """Equations of one resource: ``({name: factor}, number, the mapped count)``."""
    names = set(names)
    for _, need, counts in found:
        value = need[place]
        if not isinstance(value, Linear):
            continue
        parts, side = {}, float(counts[resource])
        for name, factor in value.parts.items():
            if name in names:
                parts[name] = float(factor)
            elif name is None or name in known:
                side -= float(factor) * float(1 if name is None else known[name])
            elif factor:
                break
        else:
            if parts:
                yield parts, side, counts[resource]


def _plain(value, name):
    """A coefficient as area.json has it: an integer or a fraction of small numbers."""
    _, resource, width = name
    if resource == "dsp" or width == "" and resource != "bram36":
        return Fraction(round(value))
    return Fraction(value).limit_denominator(2 if resource == "bram36" else _DENOMINATOR)


def _numbers(need, coefficients):
    """Counts of an Estimate with symbols; None if a coefficient is missing."""
    counts = []
    for value in need:
        parts = value.parts if isinstance(value, Linear) else {None: value}
        if not all(name is None or name in coefficients for name in parts):
            return None
        counts.append(
            float(sum(n * (1 if name is None else coefficients[name]) for name, n in parts.items()))
        )
    return counts


def _coefficients(table, family):
    return {
        (row, resource, width): Fraction(number)
        for row, families in table.items()
        for resource, widths in families.get(family, {}).items()
        for width, number in widths.items()
    }


def _written(table):
    """The text of area.json."""
    rows = []
    for row, families in sorted(table.items()):
        lines = ",\n".join(
            f'  "{family}": {json.dumps(functions)}' for family, functions in families.items()
        )
        rows.append(f'"{row}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _recorded(maps):
    """The text of ``MAPS``, a line for each unit."""
    families = []
    for family, counts in maps.items():
        lines = ",\n".join(f'  "{name}": {json.dumps(each)}' for name, each in counts.items())
        families.append(f'"{family}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(families) + "\n}\n"


def _row(coefficients, row):
    """The functions of a row as area.json has them; a coefficient of 0 is left out."""
    functions = {}
    for (name, resource, width), value in sorted(coefficients.items()):
        if name == row and value:
            number = int(value) if value.denominator == 1 else str(value)
            functions.setdefault(resource, {})[width] = number
    return {name: functions[name] for name in RESOURCES if name in functions}


def main(arguments, progress=print):
    """Fits, prints and, with --write, keeps the rows."""
    warnings.simplefilter("ignore", UnusedElaboratable)  # of units, estimates alone are asked for
    family, *chosen = [each for each in arguments if not each.startswith("--")]
    if family not in ("xcup", "ecp5"):
        raise UsageError(f"family must be xcup or ecp5, not {family!r}")
    folders = [
        each for each in FOLDERS if not chosen or each in {row.partition(".")[0] for row in chosen}
    ]
    recorded = json.loads(MAPS.read_text(encoding="utf-8")) if MAPS.exists() else {}
    if "--recorded" not in arguments:
        # Before there are symbols: what yosys maps is made of numbers.
        mapped_before = recorded.get(family, {}) if "--missing" in arguments else {}
        made = _maps(family, folders, mapped_before, progress)
        maps = {name: [counts[each] for each in RESOURCES] for name, counts in made.items()}
        recorded[family] = dict(sorted((recorded.get(family, {}) | maps).items()))
    maps = {
        name: dict(zip(RESOURCES, counts, strict=True)) for name, counts in recorded[family].items()
    }
    table = json.loads(FILE.read_text(encoding="utf-8"))
    prior = _prior(table, family)
    symbolic(prior, family)
    found = [
        (name, need.ecp5 if family == "ecp5" else tuple(need.resources.values()), counts)
        for name, need, counts in equations(maps, folders)
    ]
    found = [each for each in found if each[1]]
    seen = {
        symbol[0]
        for _, need, _ in found
        for value in need
        if isinstance(value, Linear)
        for symbol in value.parts
        if symbol
    }
    wanted = {row for row in seen if not chosen or row.startswith(tuple(chosen))}
    # What was fitted to 0 is not in the table.
    known = {name: Fraction(0) for name in prior if family in table[name[0]]}
    known |= _coefficients(table, family)
    known = {name: number for name, number in known.items() if name[0] not in wanted}
    fitted = {}
    for folder in FOLDERS:
        rows = {row for row in wanted if row.startswith(f"{folder}.")}
        fitted |= fit(found, known | fitted, prior, rows)
    for row in sorted({row for row, *_ in fitted}):
        table[row][family] = _row(fitted, row)
        progress(f"{row}: {json.dumps(table[row][family])}")
    for name, need, counts in found:
        numbers = _numbers(need, known | fitted)
        said = zip(RESOURCES, numbers or (), strict=False)
        text = ", ".join(f"{each} {number:g} of {counts[each]:g}" for each, number in said)
        progress(f"{name}: {text or 'a row is unknown'}")
    if "--write" in arguments:
        FILE.write_text(_written(table), encoding="utf-8")
        MAPS.write_text(_recorded(recorded), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

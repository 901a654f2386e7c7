"""An exploration as JSON: what was found, and the config that another command takes from it."""

import json
from dataclasses import asdict
from importlib.metadata import version

import boards
from boards.explore import better, explore
from boards.memory import bank_of_largest
from boards.regions import chosen_regions, regions_for
from host.kernels import find_design
from host.kernels.kernel_folder import write_files
from host.settings import override, resolve, values_of
from hw.config import value_of
from hw.errors import UsageError
from hw.suggest import written
from system.disk import user_path

__all__ = [
    "EXPLORED",
    "PICTURE",
    "chosen_fields",
    "document",
    "exploration",
    "hint",
    "is_exploration",
    "save",
    "text_of",
]

#: The files of an exploration.
EXPLORED, PICTURE = "explore.json", "explore.png"


def exploration(name, board, *, batch=None, regions="all", values=None):
    """The ``boards.explore.Exploration`` of design ``name`` on ``board``, and its ``document``.

    batch : batch of the operation that is made fast; None: that of the design's default.
    regions : as for ``boards.regions.chosen_regions``.
    values : ``{field: value}`` that the search must not change, as for ``override``.

    ``boards.DoesNotFit`` if no config fits.
    """
    design, board, base, given = base_of(name, board, values or {})
    bank = bank_of_largest(design, base, board)
    boards.fits(board, *design.storage(base), buffer=design.largest, bank=bank, field=design.items)
    numbers = chosen_regions(board, regions)
    found = explore(design, board, base, batch=batch, regions=numbers, fixed=given)
    return found, document(design, board, found, given)


def hint(name, board, values):
    """A sentence that names the ``--set`` that make a kernel faster, as far as
    ``boards.explore.better`` finds; None if it finds nothing. The kernel is the one of design
    ``name`` for ``board`` with ``values``, ``{field: value}``, which stay."""
    design, board, config, given = base_of(name, board, values)
    try:
        found = better(design, board, config, fixed=given)
    except UsageError:  # of a config that is refused below, or has no formula
        return None
    if found is None:
        return None
    own, point = found
    changed = {field: v for field, v in point.values.items() if v != own.values[field]}
    settings = " ".join(f"--set {field}={written(v)}" for field, v in changed.items())
    space = design.of(config).space
    operation = space.operation.format(batch=space.batch(config))
    others = [field for field in space.numbers if field in changed]
    note = f" ({', '.join(others)} changes the results)" if others else ""
    own_clocks = f"{own.clocks} clocks" if own.share <= 1 else f"too much of {board.title}"
    return (
        f"{name}: {operation} takes {own_clocks}; {settings} takes {point.clocks} clocks{note}; "
        "--explored takes the choice of `rlfabric explore`"
    )


def base_of(name, board, values):
    """The start of a search, ``(design, board, config, fields)``: the board's default of design
    ``name`` with ``values``, and the full names of their fields."""
    design, board = find_design(name), boards.get(board, name)
    config = override(design.default(board.numbers), values)
    return design, board, config, [resolve(config, each) for each in values]


def document(design, board, found, given):
    """An Exploration as a dict for JSON; equal searches give equal dicts.

    Keys: ``version``, ``design``, ``board``, ``batch``, ``rule``, ``operation``, ``regions``,
    ``limits``, ``fields`` with the values that were tried, ``set`` with the values that were given,
    ``points`` and ``refused`` with counts, ``decision`` as ``boards.explore.Decision``, ``choice``,
    ``fastest``, ``default``, ``faster`` and ``front`` with points. A point has ``fields``,
    ``clocks``, their ``parts`` if the Space has some, ``latency``, ``levels``, ``resources``,
    ``share``, ``limit`` and the ``regions`` that it needs, None where it does not fit.
    """

    def entry(point, more=False):
        if point is None:
            return None
        fields = dict(point.values)
        if more:  # the whole config, as far as it is not the board's default
            fields = _changes(design.default(board.numbers), point.config) | fields
        where = regions_for(board, point.resources, found.regions)
        return {
            "fields": fields,
            "clocks": point.clocks,
            **({"parts": parts} if (parts := found.space.parts(point.config, found.batch)) else {}),
            "latency": point.latency,
            "levels": point.levels,
            "resources": point.resources,
            "share": None if point.share == float("inf") else round(point.share, 4),
            "limit": point.limit,
            "regions": where if point.share <= 1 else None,
        }

    return {
        "version": version("rlfabric"),
        "design": design.name,
        "board": board.name,
        "batch": found.batch,
        "rule": "ours",
        "operation": found.space.operation.format(batch=found.batch),
        "regions": found.regions,
        "limits": found.limits,
        "fields": {name: list(values) for name, values in found.fields.items()},
        "set": {name: value_of(found.default.config, name) for name in given},
        "points": len(found.points),
        "refused": found.refused,
        "decision": asdict(found.decision),
        "choice": entry(found.choice, more=True),
        "fastest": entry(found.fastest),
        "default": entry(found.default),
        "faster": entry(found.faster),
        "front": [entry(point) for point in found.front],
    }


def _changes(default, config):
    """``{field: value}`` in which ``config`` differs from ``default``."""
    before = values_of(default)
    return {name: value for name, value in values_of(config).items() if value != before[name]}


def is_exploration(values):
    """Whether the JSON object ``values`` is that of an exploration."""
    return isinstance(values.get("choice"), dict) and "rule" in values


def chosen_fields(values, file, design, board):
    """``{field: value}`` of a kernel in ``values``, the JSON object of ``file``: the choice of an
    exploration, which must be of this design and board; or else fields themselves.

    UsageError if the exploration is another one, or has no choice of a kernel.
    """
    if not is_exploration(values):
        return values
    if values["rule"] != "ours":
        raise UsageError(f"--config must have a choice of a kernel, not rule {values['rule']!r}")
    for name, wanted in (("design", design), ("board", board)):
        if values.get(name) != wanted:
            raise UsageError(f"{name} must be {wanted}, not {values.get(name)!r} as in {file}")
    return dict(values["choice"]["fields"])


def text_of(document):
    """The document as JSON, with a line for each point of the front; no place and no date is in it,
    so that equal searches give equal bytes."""
    head = {name: value for name, value in document.items() if name != "front"}
    lines = ",\n".join(f"    {json.dumps(point)}" for point in document["front"])
    text = json.dumps(head, indent=2)
    return f'{text[:-2]},\n  "front": [\n{lines}\n  ]\n}}\n'


def save(out, document, files):
    """Writes ``files``, ``{name: bytes}``, to the folder of the design's kernel for the board,
    below ``out``, and returns that folder. ``Unwritable`` if the system refuses."""
    return write_files(user_path(out) / document["board"] / document["design"], files)

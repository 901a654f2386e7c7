"""Fields that ``--set`` can set, in rows: of an agent, of its run, of the kernel."""

import boards
from host.agents.registry import ALGORITHMS, find_named
from host.cli.field_meanings import meaning
from host.kernels import find_design
from host.rules import rules
from host.runs.preset import default_learner, preset
from host.settings import leaves, resolve, text_of
from hw import designs
from hw.errors import UsageError

__all__ = ["shown"]


def shown(name, *, learner=None, env=None, board="u200"):
    """All fields that ``--set`` can set, as ``{title: rows}``. If ``name`` is an algorithm's, there
    are parts for the agent, for its run and for the kernel that is generated for it; if it is a
    design's, there is one part.

    A row is a dict of texts: ``field``, ``default``, ``rule`` and ``meaning``; a text is "" if the
    field's class has none. Fields of the kernel that the run decides are left out. ``learner``
    and ``env`` None: the algorithm's defaults. ``board`` is the board of the kernel. ValueError for
    another name.
    """
    board = boards.get(board)
    if ":" in name:
        find_named(name)
    if name not in ALGORITHMS:
        if name not in designs.DESIGNS:
            known = ", ".join(dict.fromkeys([*ALGORITHMS, *designs.DESIGNS]))
            raise UsageError(f"ALGO must be one of {known}, not {name!r}")
        return {f"Kernel {name}: --set FIELD=VALUE": _rows(_default(find_design(name), board))}
    config = preset(name, learner or default_learner(name, env), None, env)
    rows = [row for row in _rows(config) if row["field"] != "algo"]
    own = [row for row in rows if row["field"].startswith("agent.")]
    parts = {
        f"Agent {name}: --set FIELD=VALUE": [
            row | {"field": row["field"].removeprefix("agent.")} for row in own
        ],
        f"Its run, learner {config.learner}: --set FIELD=VALUE": [r for r in rows if r not in own],
    }
    if config.kernel is None:
        return parts
    design = find_design(config.kernel)
    default = _default(design, board)
    decided = {resolve(default, each) for each in config.kernel_values()}
    kernel = [
        row | {"field": f"kernel.{_shortest(default, row['field'])}"}
        for row in _rows(default)
        if row["field"] not in decided
    ]
    title = f"Kernel {design.name} for {board.name}, cards model and sim: --set FIELD=VALUE"
    return parts | {title: kernel}


def _default(design, board):
    return design.default(board.set_up_for(design.name).numbers)


def _rows(config):
    found = []
    for name, value, path in leaves(config):
        kind, field = path[-1]
        rule, optional = rules(kind).get(field, ("", False))
        row = dict(field=name, default=text_of(value), rule=str(rule))
        row["rule"] += " or none" if optional else ""
        found.append(row | {"meaning": meaning(path).replace("``", "")})
    return found


def _shortest(config, name):
    """The shortest end of a dotted name that means the same field."""
    parts = name.split(".")
    ends = [".".join(parts[i:]) for i in range(len(parts) - 1, -1, -1)]
    names = [leaf for leaf, _, _ in leaves(config)]
    return next(e for e in ends if sum(f".{leaf}".endswith(f".{e}") for leaf in names) == 1)

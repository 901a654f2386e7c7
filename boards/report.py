"""What a design takes of a board: by unit, as yosys maps it, beside its own estimate."""

from dataclasses import fields

from boards.area import count, modules, total
from boards.board import Resources
from boards.memory import banks
from hw.designs import DESIGNS
from hw.verilog import to_verilog

__all__ = ["RESOURCES", "lacking", "report"]

RESOURCES = tuple(field.name for field in fields(Resources))


def report(name, board, config, *, work, levels=3, routed=None):
    """A dict of plain values.

    Parameters
    ----------
    name : str
        A key of ``hw.designs.DESIGNS``.
    board : Board
    config
        The design's.
    work : path
        Folder for yosys.
    levels : int
        How deep the units go.
    routed : dict, optional
        ``{clock: MHz}`` as place and route found; None where that was not run.

    Keys
    ----
    units : list of dicts
        ``unit`` (its path), ``count`` (how many there are), a key each resource, of all of them
        with what is inside, and ``depth``: lookup tables and multiplexers on the longest path
        within one, carry chains not counted.
    mapped, estimate, total, usable : dict of resource to count
        None where unknown. ``share``: percent of the total that is mapped.
    regions : list of dicts
        Usable, of each region (SLR), and ``share``: percent of it, were the whole design there.
    memory : list of dicts
        ``master``, ``bank``, ``kind``, ``bytes``. ``largest_buffer``: bytes of the largest.
    lacks : list of str
        What the design has too much of; empty where it fits.
    """
    design = DESIGNS[name]
    description = design.describe(config)
    verilog = to_verilog(design.kernel(config), name=description.name)
    found = modules(verilog, description.name, work=work, family=board.family)
    mapped = count(total(found, description.name))
    estimate = design.estimate(config)
    items, size = design.storage(config)
    assigned = banks(description, board)
    return {
        "design": name,
        "board": board.name,
        "part": board.part,
        "config_hash": f"{description.config_hash:#018x}",
        "config": config.to_dict(),
        "units": _units(found, description.name, levels),
        "mapped": mapped,
        "estimate": {key: estimate.get(key) for key in RESOURCES},
        "total": board.total.to_dict(),
        "usable": board.usable.to_dict(),
        "share": _shares(mapped, board.total),
        "regions": [{**part.to_dict(), "share": _shares(mapped, part)} for part in board.regions],
        "memory": [
            {"master": master.name, "bank": bank.name, "kind": bank.kind, "bytes": bank.size}
            for master, bank in zip(description.masters, assigned, strict=True)
        ],
        "largest_buffer": items * size,
        "routed_mhz": routed,
        "lacks": lacking(board, mapped),
    }


def lacking(board, need):
    """Sentences, one for each resource of which ``need`` is more than the part has."""
    return [
        f"{name} must be at most {limit} on {board.title}, not {wanted}: {wanted - limit} too many"
        for name, limit, wanted in board.total.exceeded(need)
    ]


def _shares(need, resources):
    return {
        name: None if not limit else round(100 * need[name] / limit, 1)
        for name, limit in resources.to_dict().items()
    }


def _units(found, top, levels):
    """Depth first, parents before their parts; parts that are alike stand once."""
    rows = []

    def add(module, path, number, level):
        cells = {name: number * cells for name, cells in count(total(found, module)).items()}
        rows.append({"unit": path, "count": number, **cells, "depth": found[module].depth})
        if level < levels:
            for child, inside in found[module].inside.items():
                # Amaranth names a module by its path; one that is shared has a name of its own.
                own = child.rpartition(".")[2]
                add(child, f"{path}.{own}", number * inside, level + 1)

    add(top, top, 1, 0)
    return rows

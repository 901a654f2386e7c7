"""A design's resources on a board, by unit, as yosys maps them, beside the design's estimate."""

import re
from collections import Counter
from pathlib import Path

from boards import needs
from boards.area import count, modules, packing, total
from boards.bitstream import counts_in, whole
from boards.memory import banks
from hw.designs import DESIGNS

__all__ = ["PICTURE", "REPORT", "lacking", "mapped_before", "report"]

#: Files of a report.
REPORT, PICTURE = "report.json", "report.png"

#: Bytes of a block of UltraRAM without its parity.
_ULTRA_BYTES = 8 * 4096


def mapped_before(folder, description):
    """``{resource: count}`` of the described kernel in the report in ``folder``; None without a
    whole report of this config."""
    return counts_in(
        Path(folder) / REPORT, "kernel", config_hash=f"{description.config_hash:#018x}"
    )


def report(name, board, config, *, work, levels=3, routed=None, progress=lambda text: None):
    """The report of a design's resources on a board, mapped by yosys: a dict of JSON values.

    Parameters
    ----------
    name : str
        A key of ``hw.designs.DESIGNS``.
    board : Board
        The board for which the design is made.
    config
        The design's config.
    work : path
        Folder for yosys.
    levels : int
        Levels of units below the topmost one.
    routed : dict, optional
        ``{clock: MHz}`` from place and route; None if it was not run.
    progress : callable
        Called with texts that say what is being done.

    Keys
    ----
    design, board, part : str
        Name of the design and of the board; the board's part.
    config, config_hash : dict, str
        The kernel's config and its hash, in hexadecimal.
    family : str
        A key of ``boards.area.FAMILIES``.
    units : list of dicts
        ``unit`` (its path), ``count`` (how many there are), a key for each resource, which counts
        all of these units with their parts, and ``depth``: lookup tables and multiplexers on the
        longest path within one unit, without carry chains.
    mapped, kernel, estimate, total, usable : dict of resource to count
        An unknown count is None. ``mapped``: everything on the part; ``kernel``: the kernel alone;
        ``estimate``: the design's own for the kernel on the board's family; ``total``: the part's;
        ``usable``: what a design may use.
    share : dict of resource to number
        ``mapped`` in percent of ``total``.
    clocks : dict
        ``{operation: clocks}`` by the design's own formulas.
    regions : list of dicts
        Usable resources of each region (SLR), and ``share``: the whole design in percent of them.
    memory : list of dicts
        For each master: ``master``, ``bank``, ``kind``, and the bank's ``bytes``. Memory on the
        part is counted in ``mapped``; vendors' memory controllers are not.
    largest_buffer : int
        Bytes of the kernel's largest buffer.
    routed_mhz : dict or None
        The argument ``routed``.
    lacks : list of str
        A sentence for each resource of which the part has too little; empty if the design fits.
    """
    design = DESIGNS[name]
    description = design.describe(config)
    assigned = banks(description, board)
    progress("writing Verilog")
    verilog, top = whole(description, board, assigned)
    family = packing(board.family, design.packed)
    found = modules(verilog, top, work=work, family=family, progress=progress)
    mapped = Counter(count(total(found, top)))
    # Amaranth names a module by its path, and the kernel's is called after the design in both.
    kernel = count(total(found, top if top == name else f"{top}.kernel"))
    if board.shared in assigned:
        mapped["uram"] += -(-board.shared.size // _ULTRA_BYTES)
    mapped = dict(mapped)
    items, size = design.storage(config)
    return {
        "design": name,
        "board": board.name,
        "part": board.part,
        "family": family,
        "config_hash": f"{description.config_hash:#018x}",
        "config": config.to_dict(),
        "units": _units(found, top, levels),
        "mapped": mapped,
        "kernel": kernel,
        "estimate": needs(board, design.estimate(config)),
        "clocks": design.of(config).clocks(config),
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
    """A list of sentences, one for each resource of which the dict ``need`` has more than the part
    of ``board``; empty if the part has enough."""
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
    """Rows of units, depth first, parents before their parts; parts that are alike have one row."""
    rows = []

    def add(module, path, number, level):
        cells = {name: number * cells for name, cells in count(total(found, module)).items()}
        rows.append({"unit": path, "count": number, **cells, "depth": found[module].depth})
        if level < levels:
            for own, (child, inside) in _parts(found, module).items():
                add(child, f"{path}.{own}", number * inside, level + 1)

    add(top, top, 1, 0)
    return rows


def _parts(found, module):
    """``{name: (module, how many)}`` of the parts of ``module``, without its memories.

    Numbered parts with equal resources are one, ``lane_*``.
    """
    groups = {}
    for child, inside in found[module].inside.items():
        if child.startswith("$paramod"):  # a memory: no unit of its own
            continue
        # Amaranth names a module by its path, and adds a number if a signal has the same name; a
        # module that is shared has a name of its own.
        own = child.rpartition(".")[2].partition("$")[0]
        stem = re.sub(r"_\d+$", "_*", own)
        alike = groups.setdefault((stem, tuple(count(total(found, child)).values())), [])
        alike.append((own, child, inside))
    result = {}
    for (stem, _), alike in groups.items():
        own, child, inside = alike[0]
        name = stem if len(alike) > 1 and stem not in result else own
        result[name] = (child, sum(each[2] for each in alike))
    return result

"""``--for-run``: what a design's kernel must have for a run that was trained before."""

import boards
from host.algorithms.registry import find_trusted
from host.commands.request import read_summary, request
from host.generate import configure, find_design
from host.train.families import family_of
from host.train.families.family import spec_of
from host.train.kernel import kernel_values, storage_bytes
from hw.errors import UsageError

__all__ = ["of_run"]


def of_run(run, design, board, values, imports=()):
    """What generates the kernel of ``design`` for ``board``, and the bytes that it stores.

    Parameters
    ----------
    run : path or None
        A run's folder or its ``summary.json``. None: ``values`` alone say which kernel.
    design, board : str
    values : dict
        Fields of the kernel's config, over those of the run.
    imports : sequence of str
        Modules that the run's file may name for its environment or its algorithm.

    Returns
    -------
    values : dict
        Keywords of ``host.generate.emit``, as a simulated card's kernel is made with for the run.
    stored : int or None
        As ``storage_bytes`` of ``host.generate.package``.

    ValueError for what is no run's summary, and for a run with another design's kernel.
    """
    if run is None:
        return values, None
    file = run / "summary.json" if run.is_dir() else run
    algo = str(read_summary(file, "--for-run")["config"]["algo"])
    find_trusted(algo, imports, file)
    config, kernel = request(algo, options={}, settings={}, file=file, imports=imports, board=board)
    wanted = family_of(config).design(config)
    if design != wanted:
        needs = f"the kernel that {run} needs" if wanted else f"absent: {run} needs no kernel"
        raise UsageError(f"DESIGN must be {wanted or 'none'}, {needs}, not {design!r}")
    spec, found = spec_of(config), boards.get(board)
    values = kernel_values(config, spec, kernel) | values
    config_of_kernel = configure(find_design(design), found, values, library=True)
    stored = storage_bytes(config, spec, config_of_kernel, found)
    return {"library": True, **values}, stored

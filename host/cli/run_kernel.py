"""``--for-run``: the config of the kernel that an earlier run needs."""

import boards
from host.agents.registry import find_trusted
from host.kernels import configure, find_design
from host.runs.request import read_summary, request
from host.runs.run_config import spec_of
from hw.errors import UsageError

__all__ = ["of_run"]


def of_run(run, design, board, values, imports=()):
    """``(values, stored)``: the fields of the kernel of ``design`` for ``board`` that an earlier
    run needs, and the bytes of its largest buffer.

    Parameters
    ----------
    run : path or None
        A run's folder or its ``summary.json``. None: ``values`` alone decide the kernel.
    design, board : str
        Keys of ``hw.designs.DESIGNS`` and of ``boards.BOARDS``.
    values : dict
        Fields of the kernel's config, which replace those of the run.
    imports : sequence of str
        Modules that the run's file may name for its environment or its algorithm.

    Returns
    -------
    values : dict
        Keywords of ``host.kernels.generate``, the same as for a simulated card's kernel in the run.
    stored : int or None
        For ``storage_bytes`` of ``host.kernels.package``; None without a run, and if the board
        cannot join banks or the run does not decide the buffer's size.

    ValueError if ``run`` is not a run's summary, or needs a kernel of another design.
    """
    if run is None:
        return values, None
    file = run / "summary.json" if run.is_dir() else run
    algo = str(read_summary(file, "--for-run")["config"]["algo"])
    find_trusted(algo, imports, file)
    config, kernel = request(algo, options={}, settings={}, file=file, imports=imports, board=board)
    wanted = config.kernel
    if design != wanted:
        needs = f"the kernel that {run} needs" if wanted else f"since {run} needs no kernel"
        raise UsageError(f"DESIGN must be {wanted or 'none'}, {needs}, not {design!r}")
    spec, found = spec_of(config), boards.get(board, wanted)
    values = config.kernel_values(spec) | kernel | values
    config_of_kernel = configure(find_design(design), found, values, library=True)
    stored = config.stored_bytes(spec, config_of_kernel, found)
    return {"library": True, **values}, stored

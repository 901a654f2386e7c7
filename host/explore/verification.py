"""``rlfabric explore --verify``: the best points simulated, and the choice mapped. ``measure`` has
the clocks of a design's operation on the simulated card."""

import boards
from boards.explore import lacking
from boards.report import report
from host.cards import open_card
from host.explore.launch_clocks import estimate_clocks, memory_for, sample_clocks
from host.explore.learner_clocks import fixar_clocks, learn_clocks
from host.explore.resource_report import progress
from host.explore.round_clocks import period_clocks
from host.kernels import find_design, keep
from host.kernels.exploration_file import base_of
from host.kernels.kernel_folder import write_files
from host.settings import values_of
from hw.errors import UsageError
from hw.estimate import RESOURCES
from hw.fa3c.config import Fa3cConfig
from hw.fixar.config import FixarKernelConfig
from hw.gae.config import GaeKernelConfig
from hw.learner.config import LearnerKernelConfig
from hw.replay.config import ReplayKernelConfig
from sim.verilate import TOOLS
from system.disk import user_path
from system.tools import require

__all__ = ["best", "check_verify", "measure", "measured_clocks", "verified"]


def best(found, count):
    """The choice of an Exploration, and the ``count - 1`` fastest other points that fit and have
    other clocks than those before."""
    points, seen = [found.choice], {found.choice.clocks}
    for point in sorted(found.front, key=lambda point: (point.clocks, point.total)):
        if point.clocks not in seen:
            points.append(point)
            seen.add(point.clocks)
    return points[:count]


def check_verify(name, board, values, out):
    """Refuses what ``verified`` would refuse after the search, whatever that finds, and makes the
    folder ``out``. ``name``, ``board`` and ``values`` are as for ``exploration``. Raises
    UsageError, MissingTool and Unwritable."""
    design, _, config, _ = base_of(name, board, values)
    _check_measured(design, config)
    require(*TOOLS)
    write_files(user_path(out), {})


def verified(found, document, out, count):
    """``{"verified": [...], "mapped": {...}}`` for an exploration's document.

    ``verified``: of ``count`` points ``fields``, ``clocks`` by formula, and those ``measured`` on
    card ``sim``. ``mapped``: of the choice, what yosys counts in the ``kernel``, and in ``lacks``
    sentences about resources of which the whole exceeds the planned share of the regions. It takes
    minutes. Raises CardTimeout, SynthesisError and MissingTool.
    """
    name = document["design"]
    board = boards.get(document["board"], name)
    rows = []
    for point in best(found, count):
        clocks = measure(
            name, board.name, user_path(out) / "kernels", point.config, document["batch"]
        )
        rows.append({"fields": point.values, "clocks": point.clocks, "measured": clocks})
    with progress() as show:
        mapped = report(
            name, board, found.choice.config, work=user_path(out) / "area", levels=1, progress=show
        )
    lacks = list(lacking(board, found.limits, mapped["mapped"]))
    kernel = {each: mapped["kernel"][each] for each in RESOURCES}
    return {"verified": rows, "mapped": {"kernel": kernel, "lacks": lacks}}


#: class of a design's config -> the function that measures its operation
_OPERATIONS = {
    ReplayKernelConfig: sample_clocks,
    GaeKernelConfig: estimate_clocks,
    LearnerKernelConfig: learn_clocks,
    FixarKernelConfig: fixar_clocks,
    Fa3cConfig: period_clocks,
}


def measure(name, board, out, config, batch):
    """The clocks of the operation of design ``name`` that its ``Space`` names, with ``batch``, as
    the kernel's Verilog takes them on card ``sim`` with the memory of ``memory_for``.

    Parameters
    ----------
    name : str
        A key of ``hw.designs.DESIGNS``; UsageError if no operation of it can be measured, and for
        a kernel that plays.
    board : str
        Name of a board; ``boards.DoesNotFit`` if the design is too large for it.
    out : path
        The kernel is made in ``out/<board>/<name>``, in a folder of its own (``keep``).
    config : config
        That of the kernel.
    batch : int
        The batch of the operation.

    All inputs are random numbers of a fixed seed. CardTimeout if the kernel stands still.
    """
    design = find_design(name)
    _check_measured(design, config)
    folder, _ = keep(name, board, out, verilog=True, **values_of(config))
    memory = memory_for(config.engine, design.space.clocks(config, batch))
    with open_card("sim", memory=memory) as card:
        return measured_clocks(card.load(folder / "kernel.json"), config, batch)


def _check_measured(design, config):
    """UsageError if the operation of ``design`` with ``config`` cannot be measured."""
    if (play := config.to_dict().get("play")) and play["environments"]:
        raise UsageError(
            f"play.environments must be 0 to measure an operation (--verify), not "
            f"{play['environments']}: tests compare the formulas of PLAY with simulated kernels"
        )
    if design.space is None or type(config) not in _OPERATIONS:
        raise UsageError(f"design must be one whose operation can be measured, not {design.name!r}")


def measured_clocks(kernel, config, batch):
    """As ``measure``, on ``kernel``, a loaded ``host.cards.Kernel`` whose config is ``config``."""
    return _OPERATIONS[type(config)](kernel, config, batch)

"""Measures what formulas compute: the clocks of a design's operation, on the simulated card."""

from host.cards import open_card
from host.explore.launch_clocks import estimate_clocks, memory_for, sample_clocks
from host.explore.learner_clocks import fixar_clocks, learn_clocks
from host.explore.round_clocks import period_clocks
from host.kernels import find_design, keep
from host.settings import values_of
from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig
from hw.fixar.config import FixarKernelConfig
from hw.gae.config import GaeKernelConfig
from hw.learner.config import LearnerKernelConfig
from hw.replay.config import ReplayKernelConfig

__all__ = ["measure", "measured_clocks"]

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
        A key of ``hw.designs.DESIGNS``; UsageError if no operation of it can be measured.
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
    if design.space is None or type(config) not in _OPERATIONS:
        raise UsageError(f"design must be one whose operation can be measured, not {name!r}")
    folder, _ = keep(name, board, out, verilog=True, **values_of(config))
    memory = memory_for(config.engine, design.space.clocks(config, batch))
    with open_card("sim", memory=memory) as card:
        return measured_clocks(card.load(folder / "kernel.json"), config, batch)


def measured_clocks(kernel, config, batch):
    """As ``measure``, on ``kernel``, a loaded ``host.cards.Kernel`` whose config is ``config``."""
    return _OPERATIONS[type(config)](kernel, config, batch)

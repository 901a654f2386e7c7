"""What a unit says that it takes: cycles and resources. ``None`` is unknown; 0 is known to be none.

Tests hold the cycles to the simulation; the resources are counted or mapped, and not the vendor's.
"""

from dataclasses import dataclass

__all__ = ["RESOURCES", "Estimate", "exceeded", "fits", "together", "total"]

#: As in the tables of a board: LUTs, registers, RAMB36, URAM288, DSP blocks.
RESOURCES = ("lut", "ff", "bram36", "uram", "dsp")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Cycles and resources of a unit or a whole kernel; each is None where it is unknown.

    latency : cycles from an operand to its result.
    interval : cycles from one operand to the next.
    cycles : of a whole operation, as the ``estimate`` that gives it says.
    lut, ff, bram36, uram, dsp : resources.
    """

    latency: int | None = None
    interval: int | None = None
    cycles: int | None = None
    lut: int | None = None
    ff: int | None = None
    bram36: int | None = None
    uram: int | None = None
    dsp: int | None = None

    @property
    def resources(self):
        """name -> count or None, of ``RESOURCES``."""
        return {name: getattr(self, name) for name in RESOURCES}


def total(*numbers):
    """Sum of numbers; None if one of them is unknown."""
    return None if None in numbers else sum(numbers)


def together(estimates):
    """Resources of all of ``estimates``, a sequence; what says nothing of one takes none of it."""
    return Estimate(
        **{name: sum(getattr(each, name) or 0 for each in estimates) for name in RESOURCES}
    )


def exceeded(need, limits):
    """``(name, limit, need)`` of each resource of which ``need``, a dict, has more than ``limits``.

    What is None or absent on either side is unknown and passes.
    """
    for name, limit in limits.items():
        wanted = need.get(name)
        if wanted is not None and limit is not None and wanted > limit:
            yield name, limit, wanted


def fits(estimate, limits):
    """Whether no resource of an ``Estimate`` is ``exceeded``."""
    return not any(exceeded(estimate.resources, limits))

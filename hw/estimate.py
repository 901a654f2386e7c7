"""Resources of units and kernels. ``None`` means unknown; 0 means that none is used.

They are counted or mapped by yosys; they are not the vendor's. Numbers of single units are in
``hw.area``.
"""

from dataclasses import dataclass, field, replace

from hw.errors import UsageError

__all__ = ["RESOURCES", "Estimate", "exceeded", "fits", "products", "selector"]
__all__ += ["times", "together", "total"]

#: As in the tables of a board: LUTs, registers, RAMB36, URAM288, DSP blocks.
RESOURCES = ("lut", "ff", "bram36", "uram", "dsp")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Resources of a unit or a whole kernel; each is None if it is unknown.

    lut, ff, bram36, uram, dsp : on UltraScale+, lookup tables, registers, RAMB36, URAM288 and DSP
        blocks. A RAMB18 is half a RAMB36.
    ecp5 : the same five on an ECP5, a tuple: LUT4, registers, pairs of DP16KD, 0, MULT18X18D.
    ecp5_least : if ``ecp5`` is None, a lower bound for each of the five, or None.
    """

    lut: int | None = None
    ff: int | None = None
    bram36: float | None = None
    uram: int | None = None
    dsp: int | None = None
    ecp5: tuple | None = field(default=None, repr=False)
    ecp5_least: tuple | None = field(default=None, repr=False)

    @property
    def resources(self):
        """``{name: count or None}`` of ``RESOURCES``."""
        return {name: getattr(self, name) for name in RESOURCES}

    def of(self, family):
        """This Estimate with the resources on ``family``, "xcup" or "ecp5"."""
        if family not in ("xcup", "ecp5"):
            raise UsageError(f"family must be xcup or ecp5, not {family!r}")
        if family == "xcup":
            return self
        return replace(self, **dict(zip(RESOURCES, self.ecp5 or (None,) * 5, strict=True)))

    def least(self, family):
        """``{name: count or None}`` of ``RESOURCES`` on ``family``, at least: the counts that are
        known, and on an ECP5 a lower bound of the others.

        The bound has the parts whose counts are known; of the others a MULT18X18D for each DSP
        block, whose operands are wider, unless they have a bound of their own.
        """
        if family == "ecp5" and self.ecp5 is None:
            return dict(zip(RESOURCES, self._ecp5_bound, strict=True))
        return self.of(family).resources

    @property
    def _ecp5_bound(self):
        return self.ecp5 or self.ecp5_least or (0, 0, 0, 0, self.dsp or 0)


def total(*numbers):
    """Sum of numbers; None if one of them is unknown."""
    return None if None in numbers else sum(numbers)


def together(estimates):
    """An ``Estimate`` with the sum of each resource over ``estimates``, a sequence.

    None counts as 0, but on an ECP5 the sum with an unknown one is unknown, and has the sum of
    their bounds.
    """
    return times(1, *estimates)


def times(count, *estimates):
    """``together`` of ``estimates``, ``count`` times each."""
    if not count:
        estimates = ()
    ecp5 = [each.ecp5 for each in estimates]
    known = None if None in ecp5 else _sums(count, ecp5)
    least = _sums(count, [each._ecp5_bound for each in estimates]) if known is None else None
    rows = [
        (each.lut or 0, each.ff or 0, each.bram36 or 0, each.uram or 0, each.dsp or 0)
        for each in estimates
    ]
    sums = dict(zip(RESOURCES, _sums(count, rows), strict=True))
    return Estimate(**sums, ecp5=known, ecp5_least=least)


def _sums(count, rows):
    lut, ff, bram36, uram, dsp = (
        count * sum(column) for column in zip(*rows, (0,) * 5, strict=True)
    )
    return lut, ff, bram36 if bram36 % 1 else int(bram36), uram, dsp


def selector(count):
    """The number of six-input lookup tables that choose one of ``count`` bits: one table chooses
    among four; 0 for one bit."""
    return -(-(count - 1) // 3)


def products(*sizes):
    """How many of them are not powers of two, so that a product with them takes DSP blocks."""
    return sum(size & (size - 1) != 0 for size in sizes)


def exceeded(need, limits):
    """Yields ``(name, limit, need)`` for each resource of which ``need`` has more than ``limits``.

    Both are dicts ``{name: count}``. A resource that is None or absent on either side is unknown,
    and passes.
    """
    for name, limit in limits.items():
        wanted = need.get(name)
        if wanted is not None and limit is not None and wanted > limit:
            yield name, limit, wanted


def fits(estimate, limits):
    """Whether an ``Estimate`` has no more of any resource than the dict ``limits`` allows, on the
    family that ``limits["family"]`` names, or "xcup".

    A resource that is None or absent on either side is unknown, and fits. A lower bound stands for
    an unknown count on an ECP5.
    """
    return not any(exceeded(estimate.least(limits.get("family", "xcup")), limits))

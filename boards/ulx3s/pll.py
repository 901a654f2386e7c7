"""The ECP5's PLL: the divisors that make one clock from another.

out = in * feedback / reference and VCO = out * output; Lattice FPGA-TN-02200, the limits and the
choice of the VCO's middle as in Project Trellis' ecppll.
"""

from dataclasses import dataclass

from hw.errors import UsageError

__all__ = ["Divisors", "divide"]

_PHASE_DETECTOR = (3_125_000, 400_000_000)
_VCO = (400_000_000, 800_000_000)
_VCO_BEST = 600_000_000


@dataclass(frozen=True, kw_only=True)
class Divisors:
    """Parameters CLKI_DIV, CLKFB_DIV and CLKOP_DIV of an EHXPLLL, in this order.

    The clock out is clock in * ``feedback`` / ``reference``; the VCO runs at clock out *
    ``output``.
    """

    reference: int
    feedback: int
    output: int


def divide(source_hz, target_hz):
    """The ``Divisors`` that make ``target_hz`` from ``source_hz`` exactly.

    They have the smallest possible ``reference``, and a VCO near 600 MHz. ValueError if there are
    none.
    """
    low, high = _PHASE_DETECTOR
    for reference in range(1, 129):
        feedback, rest = divmod(target_hz * reference, source_hz)
        if rest or not 1 <= feedback <= 80 or not low <= source_hz // reference <= high:
            continue
        output = max(1, min(128, round(_VCO_BEST / target_hz)))
        if _VCO[0] <= target_hz * output <= _VCO[1]:
            return Divisors(reference=reference, feedback=feedback, output=output)
    raise UsageError(
        f"target_hz must be {source_hz} times a fraction that the PLL can make, not {target_hz!r}"
    )

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
    """Parameters CLKI_DIV, CLKFB_DIV, CLKOP_DIV and CLKOS_DIV of an EHXPLLL, in this order.

    The feedback clock CLKOP is clock in * ``feedback`` / ``reference``, and the VCO runs at CLKOP *
    ``output``. Clock out is CLKOP; or, if ``second`` is a number, CLKOS, at VCO / ``second``.
    """

    reference: int
    feedback: int
    output: int
    second: int | None = None


def divide(source_hz, target_hz):
    """The ``Divisors`` that make ``target_hz`` from ``source_hz`` exactly.

    If CLKOP can be this clock they have the smallest possible ``reference``, and a VCO near 600
    MHz; else the VCO nearest to 600 MHz, then the smallest ``reference`` and the slowest
    CLKOP. ValueError if there are none.
    """
    low, high = _PHASE_DETECTOR
    references = [each for each in range(1, 129) if low <= source_hz // each <= high]
    for reference in references:
        feedback, rest = divmod(target_hz * reference, source_hz)
        if rest or not 1 <= feedback <= 80:
            continue
        output = max(1, min(128, round(_VCO_BEST / target_hz)))
        if _VCO[0] <= target_hz * output <= _VCO[1]:
            return Divisors(reference=reference, feedback=feedback, output=output)
    found = [
        (abs(target_hz * second - _VCO_BEST), reference, -output, feedback, second)
        for second in range(-(-_VCO[0] // target_hz), min(128, _VCO[1] // target_hz) + 1)
        for reference in references
        for output in range(1, 129)
        # target_hz * second = source_hz * feedback / reference * output
        for feedback, rest in [divmod(target_hz * second * reference, source_hz * output)]
        if not rest and 1 <= feedback <= 80
    ]
    if found:
        _, reference, output, feedback, second = min(found)
        return Divisors(reference=reference, feedback=feedback, output=-output, second=second)
    raise UsageError(
        f"target_hz must be {source_hz} times a fraction that the PLL can make, not {target_hz!r}"
    )

"""What the numbers of PUSH and ESTIMATE are: moments and ranges of a rollout, in the card's units.

Rewards and values are standardized with their mean and deviation, quantized to codes, and become
words again inside a PE (HEPPO II). A word counts in units of ``2**-unit``, as fine as the largest
possible advantage allows.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.gae.commands import FACTOR_WIDTH, LEAST_CODE_BITS, MOST_CODE_BITS, SHIFT_LIMIT

__all__ = ["Codes", "Running", "Standardization", "codes_of", "exponent_of", "words"]

_REWARDS = ("raw", "dynamic", "block", "restored")
_VALUES = ("raw", "restored")

_NUMBER_WIDTH = 26  # bits of the magnitude that PUSH and STATISTICS count with
_GROWTH = 4  # of them, bits that running rewards may grow before their sums are rescaled
_MARGIN = 1.001  # for rounding, on the bound of an advantage


@dataclass(frozen=True, kw_only=True)
class Standardization(ConfigBase):
    """How rewards and values become codes, the integers that the kernel stores (HEPPO V-C, Table
    III): ``rewards`` is raw, dynamic, block or restored, ``values`` raw or restored.

    Raw numbers are only quantized. All others are standardized, ``(number - mean) / deviation``,
    before they are quantized. Dynamic and block rewards stay standardized in the estimate; restored
    numbers are brought back, ``mean + deviation * standardized``, inside a PE. With codes of 32
    bits, restored is the same as raw.

    Codes of 8 or 16 bits reach ``deviations`` deviations from the mean; what lies beyond is
    clipped. If all numbers are equal, their deviation is 0: standardized numbers are then 0, and
    restored numbers are exactly the mean. Raw numbers that are all 0 stay 0.

    With ``code_bits``, codes have fewer bits than their places in the kernel's stack; each PUSH
    says how many. A kernel with codes of 16 bits so serves all of HEPPO's widths (its figures 8
    and 9), 3 to 16 bits.
    """

    #: raw; dynamic: by the mean and deviation of all rewards so far, and kept so; block: by those
    #: of the rollout, and kept so; restored: the same, and brought back.
    rewards: str = "raw"
    #: raw; restored: by the mean and deviation of the rollout, and brought back.
    values: str = "raw"
    #: Deviations from the mean that codes of 8 or 16 bits reach; what lies beyond is clipped.
    deviations: float = 4.0
    #: Bits of a code; None: the ``code_width`` of the kernel.
    code_bits: int | None = None

    def __post_init__(self):
        for name, choices in (("rewards", _REWARDS), ("values", _VALUES)):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        value = self.deviations
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1000:
            raise UsageError(f"deviations must be positive and below 1000, not {value!r}")
        if self.code_bits is not None:
            check_range("code_bits", self.code_bits, LEAST_CODE_BITS, MOST_CODE_BITS)

    def check(self, code_width):
        """Raises ValueError if a kernel with ``code_width`` has no codes of ``code_bits``."""
        bits = self.code_bits
        if bits is not None and code_width == 32:
            raise UsageError(f"code_bits must be none if code_width is 32, not {bits}")
        if bits is not None and bits > code_width:
            raise UsageError(f"code_bits must be at most {code_width}, as code_width, not {bits}")


@dataclass(frozen=True)
class Running:
    """Sums over all rewards so far (HEPPO, equations 6 to 9): their ``count``, their ``sum`` in
    units of ``2**-exponent``, and the sum of their ``squares`` in units of ``2**(-2 * exponent)``.

    ``exponent`` is None before the first reward.
    """

    count: int = 0
    sum: int = 0
    squares: int = 0
    exponent: int | None = None

    def fitting(self, largest):
        """Returns these sums in units in which a reward of magnitude ``largest`` fits.

        If the present units do, the sums are returned as they are; else they are rounded to coarser
        units, in which a reward 16 times as large fits, too. If all rewards so far were 0, the sums
        always get the units for ``largest``.
        """
        exponent = exponent_of(largest)
        blank = not self.squares  # rewards of 0, or none: their sums are 0 in any units
        if not blank and (not largest or self.exponent <= exponent):
            return self
        exponent -= _GROWTH
        if blank:
            return Running(self.count, exponent=exponent)
        shift = self.exponent - exponent
        # Rounded so that count * squares stays at least sum**2.
        total = (abs(self.sum) >> shift) * (1 if self.sum > 0 else -1)
        return Running(self.count, total, -(-self.squares >> 2 * shift), exponent)


def exponent_of(largest):
    """The largest e in -100..100 for which ``largest * 2**e`` is below 2**26, so that the card does
    not clip it; 0 if ``largest`` is 0."""
    return max(-100, min(100, _NUMBER_WIDTH - math.frexp(largest)[1])) if largest else 0


class Codes(NamedTuple):
    """How numbers become codes, and codes become numbers again.

    ``code = gain * (number - mean)``, rounded and clipped; the card counts numbers in units of
    ``2**-exponent`` for it. A PE makes ``scale * code + offset`` of a code, which is at most
    ``limit`` in magnitude.
    """

    exponent: int
    mean: float
    gain: float
    scale: float
    offset: float
    limit: float

    def fields(self):
        """``(exponent, mean, factor, shift)``, fields of the command PUSH."""
        factor, shift = _fraction(math.ldexp(self.gain, -self.exponent))
        return self.exponent, round(math.ldexp(self.mean, self.exponent)), factor, shift

    def push(self, name):
        """The fields of the command PUSH for numbers called ``name``, reward or value."""
        names = "exponent", "mean", "factor", "shift"
        return {f"{name}_{field}": value for field, value in zip(names, self.fields(), strict=True)}


def codes_of(config, ways, largest, exponent, *, moments, kept):
    """The Codes of numbers whose magnitude is at most ``largest``, counted with ``exponent``.

    Codes of 32 bits are words of a PE; their gain is for units of 1 here, and ``words`` adapts it.

    config : GaeConfig
    ways : Standardization
    moments : (mean, deviation) of the numbers, or None for raw numbers
    kept : whether numbers stay standardized in a PE
    """
    mean, deviation = moments or (0.0, 1.0)
    # The card subtracts the mean as it counts it.
    mean = math.ldexp(round(math.ldexp(mean, exponent)), -exponent)
    if not deviation or not (moments or largest):  # all numbers are the mean, or 0
        offset = 0.0 if kept else mean
        return Codes(exponent, mean, 0.0, 0.0, offset, abs(offset))
    if config.code_width == 32:
        unit, offset = (deviation, 0.0) if kept else (1.0, 0.0)
        mean = mean if kept else 0.0
        return Codes(exponent, mean, 1 / unit, 1.0, offset, (largest + abs(mean)) / unit)
    reach = ways.deviations * deviation if moments else largest or 1.0
    back, offset = (ways.deviations, 0.0) if kept else (reach, mean)
    limit = config.limit_of(ways.code_bits or 0)
    return Codes(exponent, mean, limit / reach, back / limit, offset, back + abs(offset))


def words(config, rewards, values, *, gamma, gae_lambda, steps, peak):
    """``(unit, rewards, values, fields)``: a PE's words count in units of ``2**-unit``, as fine as
    the largest possible advantage allows; the Codes with which numbers are pushed; the fields of
    the command ESTIMATE.

    Parameters
    ----------
    config : GaeConfig
    rewards, values : Codes
        From ``codes_of``.
    gamma, gae_lambda : float
        Discount, and lambda of the estimate.
    steps : int
        Slots of the longest launch; the bound on an advantage grows with them.
    peak : float or None
        Largest magnitude of a result that is expected, used if results have fewer than 32 bits;
        None: the largest possible.
    """
    decay = gamma * gae_lambda
    horizon = steps if decay == 1 else min(steps, 1 / (1 - decay))
    bound = (rewards.limit + (1 + gamma) * values.limit) * horizon + values.limit
    bound = (bound or 1.0) * _MARGIN
    narrow = config.result_width < 32
    reach = config.result_limit << config.result_shift
    rules = [
        config.word.high / bound,
        reach / (peak or bound) if narrow else reach / bound,
    ]
    if config.code_width == 32:
        rules.append(config.code_limit / max(rewards.limit, values.limit, bound / config.word.high))
    else:
        largest = max(rewards.scale, values.scale)
        rules += [config.scale.high / (1 << config.scale.fraction) / largest] if largest else []
        offset = max(abs(rewards.offset), abs(values.offset))
        rules += [(1 << 31) / (offset * _MARGIN)] if offset else []
    unit = math.floor(math.log2(min(rules)))

    def raw(number, fraction):
        return round(math.ldexp(number, fraction))

    fraction = config.coefficient.fraction
    fields = {
        "gamma": raw(gamma, fraction),
        "decay": raw(decay, fraction),
        "decay_power": raw(decay**config.lookahead, fraction),
    }
    if config.code_width == 32:
        rewards, values = (x._replace(gain=math.ldexp(x.gain, unit)) for x in (rewards, values))
    else:
        for name, codes in (("reward", rewards), ("value", values)):
            fields[f"{name}_scale"] = raw(codes.scale, unit + config.scale.fraction)
            fields[f"{name}_mean"] = raw(codes.offset, unit)
        fields["result_mean"] = fields["value_mean"]
    return unit, rewards, values, fields


def _fraction(gain):
    """``(factor, shift)`` nearest to ``gain = factor * 2**-shift``."""
    mantissa, exponent = math.frexp(gain)
    factor, shift = round(math.ldexp(mantissa, FACTOR_WIDTH)), FACTOR_WIDTH - exponent
    if factor == 1 << FACTOR_WIDTH:
        factor, shift = factor >> 1, shift - 1
    if shift > SHIFT_LIMIT:
        factor, shift = factor >> (shift - SHIFT_LIMIT), SHIFT_LIMIT
    if shift < 1:
        raise UsageError(f"gain must be below 2**{FACTOR_WIDTH - 1}, not {gain!r}")
    return factor, shift

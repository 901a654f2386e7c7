"""Resources of the whole kernel ``gae``, unit by unit, and clocks of an ESTIMATE of a full stack.

Multipliers and memory blocks are counted as the units have them. Registers and lookup tables are as
yosys maps them to UltraScale+, module by module: those of a unit follow from the widths of what it
adds, compares, chooses and keeps.
"""

from dataclasses import replace

from hw.estimate import Estimate, products, selector, times, together
from hw.gae.array.estimator import Estimator
from hw.gae.array.pe import PE
from hw.gae.array.stack import Stack
from hw.gae.commands import COMMANDS
from hw.gae.intake.intake import Intake
from hw.gae.records import GAE_STATUS, MOMENTS
from hw.gae.standardize import LANE_BITS
from hw.shell import estimate as shell
from hw.stream.split import Split

__all__ = ["estimate", "parts"]

#: Bits in which beats of a reply are counted.
_COUNT = 24
#: Of ``Quantize`` to 27 bits; of ``MeanDeviation`` with its quotients. Their widths are the same in
#: every kernel.
_QUANTIZE, _MOMENTS = dict(lut=323, ff=118), dict(lut=1366, ff=941)


def estimate(config):
    """Clocks of an ESTIMATE of a full stack, and resources of the whole kernel, of a
    GaeKernelConfig."""
    rows = Estimator.estimate(config.gae, config.gae.depth + 1)
    whole = together(parts(config).values())
    return replace(whole, cycles=rows.cycles, interval=rows.interval)


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a GaeKernelConfig; ``pes``: of all rows."""
    gae, lanes = config.gae, config.engine.data_width // LANE_BITS
    return {
        "pes": times(gae.rows, PE.estimate(gae)),
        "stack": Stack.estimate(gae),
        "estimator": _estimator(gae),
        "standardize": _standardize(config, lanes),
        "statistics": _statistics(lanes),
        "intake": _intake(config, lanes),
        "output": _output(config),
        "core": _core(gae),
        "commands": shell.dispatcher(COMMANDS, config, products=_products(config)),
        **shell.parts(config, (), GAE_STATUS),
    }


def _products(config):
    """DSP blocks of a command's slots times the beats of a slot: of operands, which are numbers or
    codes, and of results. A power of two takes none."""
    numbers, codes, results = (sum(config.slot_beats[name]) for name in config.slot_beats)
    return products(*{numbers, codes}, results)


def _estimator(gae):
    """Rows counted by trees of sums; five counters; what is delayed beside a PE."""
    rows = gae.rows
    counted = (rows > 1) * (3 * rows // 2 + 3)
    return Estimate(lut=10 + 5 * rows, ff=141 + 2 * PE.latency_of(gae) + counted)


def _standardize(config, lanes):
    """Of each lane: exponents, a difference, a product in two DSP blocks, two shifts and a code;
    one scale for all lanes."""
    width = config.gae.code_width
    fewer = 9 * config.gae.most_code_bits // 4  # codes of fewer bits
    logic = Estimate(
        lut=90 + lanes * (227 + 17 * width // 4 + fewer),
        ff=62 + lanes * (236 + 3 * width),
        dsp=Intake.estimate(config).dsp,
    )
    return together([logic, times(lanes, Estimate(**_QUANTIZE))])


def _statistics(lanes):
    """Trees of sums over lanes, of numbers and squares, and two sets of accumulators."""
    sums = Estimate(lut=350 + 85 * lanes, ff=235 + 259 * lanes // 3)
    return together([sums, Estimate(**_MOMENTS), Estimate(lut=190 + lanes, ff=81 + lanes // 4)])


def _intake(config, lanes):
    """Beats to slots: a code for each bit of a beat, the kinds beside it, the first error."""
    rows, width, kinds = config.gae.rows, config.engine.data_width, config.engine.beat_bytes
    positions, seen = -(-rows // kinds), min(rows, kinds)
    # A row's kind, reward and value; the kind of the newest slot, of which a beat's are chosen.
    collected = Estimate(lut=10 + 3 * -(-rows // lanes), ff=rows * (2 + 2 * config.gae.code_width))
    chosen = 2 * seen * selector(positions) + (positions > 2) * 3 * rows // 4
    rules = Estimate(lut=4 * seen + chosen, ff=2 * rows)
    first_error = Estimate(lut=24 + 2 * kinds, ff=117 + kinds)
    # Beats of a command; codes given or computed, the scales, what counts, what was clipped.
    used = min(width, 2 * rows * config.gae.code_width)
    logic = Estimate(lut=142 + 17 * width // 15 + 6 * used // 5 + 4 * rows, ff=150)
    return together([collected, rules, first_error, logic])


def _output(config):
    """A beat is a part of a slot, or of moments."""
    width = config.engine.data_width
    parts = sum(config.slot_beats["results"]), 2 * 8 * MOMENTS.size // width
    return together(
        [*(Split.estimate(width, each, _COUNT) for each in parts), Estimate(lut=width + 6)]
    )


def _core(gae):
    """States of a command, three counters; the rows that are open, and the first of them."""
    row = (gae.rows - 1).bit_length()
    return Estimate(
        lut=215 + 7 * gae.rows // 2, ff=135 + gae.rows + row + (gae.depth + 1).bit_length()
    )

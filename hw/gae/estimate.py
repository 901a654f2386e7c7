"""Resources of the kernel ``gae``, unit by unit, and clocks of an ESTIMATE of a full stack."""

from hw.area import area
from hw.estimate import products, selector, times, together
from hw.gae.array.estimator import Estimator
from hw.gae.array.pe import PE
from hw.gae.commands import COMMANDS
from hw.gae.records import GAE_STATUS, MOMENTS
from hw.gae.standardize import LANE_BITS
from hw.shell import estimate as shell
from hw.stream import estimate as stream
from hw.stream.ram import Ram

__all__ = ["cycles", "estimate", "parts", "pe", "stack"]

#: Bits in which beats of a reply are counted.
_COUNT = 24


def estimate(config):
    """Resources of the whole kernel of a GaeKernelConfig."""
    return together(parts(config).values())


def cycles(config):
    """Clocks of an ESTIMATE of a full stack, of a GaeKernelConfig."""
    return Estimator.cycles_of(config.gae, config.gae.depth + 1)


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a GaeKernelConfig; ``pes``: of all rows."""
    gae, width = config.gae, config.engine.data_width
    rows, lanes = gae.rows, width // LANE_BITS
    sums = (
        area("gae.statistics.statistics", lanes=lanes),
        area("gae.statistics.statistics.accumulators", lanes=lanes),
    )
    # A beat is a part of a slot, or of moments.
    replies = sum(config.slot_beats["results"]), 2 * 8 * MOMENTS.size // width
    counts = (rows - 1).bit_length() + (gae.depth + 1).bit_length()
    lane = area("gae.standardize.lane", code=gae.code_width, code_bits=gae.most_code_bits)
    return {
        "pes": times(rows, pe(gae)),
        "stack": stack(gae),
        "estimator": together(_estimator(gae)),
        "standardize": together([area("gae.standardize"), times(lanes, lane)]),
        "statistics": together(sums),
        "intake": together(_intake(gae, width, lanes)),
        "output": together(
            [
                *(stream.split(width, each, _COUNT) for each in replies),
                area("gae.output", width=width),
            ]
        ),
        "core": area("gae.gae_core", rows=rows, counts=counts),
        "commands": shell.dispatcher(COMMANDS, config, products=_products(config)),
        **shell.parts(config, (), GAE_STATUS),
    }


def _products(config):
    """DSP blocks that multiply a command's slots by the beats of a slot, as operands (numbers or
    codes) and as results. Factors that differ by a power of two share a product; a power of two
    needs none."""
    beats = [sum(planes) for planes in config.slot_beats.values()]
    return products(*{count // (count & -count) for count in beats})


def pe(gae):
    """Resources of a ``PE`` of a GaeConfig; its two results are rounded and clipped."""
    results = area(f"gae.array.pe_results.{gae.word.width}.{gae.result_width}")
    return together([area(f"gae.array.pe.{gae.code_width}.{gae.lookahead}"), results])


def stack(gae):
    """Resources of the ``Stack`` of a GaeConfig."""
    memory = Ram.estimate(gae.rows * gae.cell_width, gae.depth, gae.ram_style)
    own = area(
        "gae.array.stack",
        # Of a row: its kind and two numbers are written, codes or results; a value is read, from
        # memory or above it; results are read.
        rows=gae.rows,
        cells=gae.rows * gae.cell_width,
        codes=gae.rows * gae.code_width,
        results=gae.rows * gae.result_width,
        # Positions and counts of slots.
        count=(gae.depth + 1).bit_length(),
    )
    return together([memory, own])


def _estimator(gae):
    """Five counters; what is delayed beside a PE; rows counted by trees of sums."""
    yield area("gae.array.estimator", rows=gae.rows, latency=PE.latency_of(gae))
    if gae.rows > 1:
        yield area("gae.array.estimator.counts", rows=gae.rows)


def _intake(gae, width, lanes):
    """Beats of ``width`` bits to slots: a code for each bit of a beat, the kinds beside it."""
    rows, codes = gae.rows, gae.rows * gae.code_width
    kinds = width // 8  # of a beat
    seen, positions = min(rows, kinds), -(-rows // kinds)
    # Beats of a command, scales, what counts, what was clipped; codes given or computed.
    yield area("gae.intake.intake", width=width, rows=rows)
    yield area("gae.intake.intake.codes", bits=min(width, 2 * codes))
    # A row's kind, reward and value.
    yield area("gae.intake.slot_assembler", words=-(-rows // lanes), rows=rows, codes=codes)
    # The kind of the newest slot, of which a beat's are chosen.
    chosen = seen * selector(positions)
    yield area("gae.intake.slot_rules", kinds=seen, chosen=chosen, rows=rows)
    if positions > 2:
        yield area("gae.intake.slot_rules.many", rows=rows)
    yield area("gae.intake.first_error", kinds=kinds)

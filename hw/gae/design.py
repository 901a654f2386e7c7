"""The design ``gae``: advantages and rewards-to-go of whole rollouts (HEPPO)."""

from dataclasses import replace

from hw.estimate import exceeded
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.core import GaeCore
from hw.gae.estimate import estimate
from hw.gae.layouts import FACTOR_WIDTH, NUMBER_WIDTH
from hw.gae.records import GAE_ERRORS, MOMENTS, Kind
from hw.shell.command import round_up
from hw.shell.design import Design, default_engine
from hw.shell.program import PAGE_BYTES

__all__ = ["DESIGN", "HEPPO_WIDTHS"]


#: Codes and results of HEPPO's memory; what on-chip memory is counted with.
HEPPO_WIDTHS = {"code_width": 8, "result_width": 8}


def _library(numbers):
    """Results of 32 bits: those of 8 are far from another library's (docs/gae.md), and who calls
    from Python wants advantages rather than a small memory."""
    return _default(numbers, code_width=8, result_width=32)


def _default(numbers, **widths):
    """HEPPO's 64 rows where they fit; 8 where multipliers are small and there is no UltraRAM."""
    rows, widths = 64 if numbers["ultra_ram"] else 8, widths or HEPPO_WIDTHS
    while rows > 1:
        gae = GaeConfig(rows=rows, **widths)
        config = GaeKernelConfig(gae=gae, engine=default_engine(numbers))
        if not any(exceeded(estimate(config).resources, numbers)):
            break
        rows //= 2
    return config


def _fewer_rows(config, fits):
    """The largest power of two below the config's rows that fits."""
    rows = 1 << (config.gae.rows - 1).bit_length() >> 1
    while rows >= 1:
        if fits(replace(config, gae=replace(config.gae, rows=rows))):
            return [f"rows {rows}"]
        rows //= 2
    return []


def _slots(config):
    """A whole stack in operands."""
    return config.gae.depth + 1, config.slot_bytes("numbers")


def _rollout(config):
    """Program and status of an estimate, and a whole stack in operands and in results."""
    slots = config.gae.depth + 1
    sizes = {
        "program": 1,
        "status": 1,
        "operands": slots * config.slot_bytes("numbers"),
        "results": slots * config.slot_bytes("results"),
    }
    return {name: round_up(size, PAGE_BYTES) for name, size in sizes.items()}


def _identity(config):
    """Planes of a slot, kinds, and the formats of codes, words and coefficients."""
    gae = config.gae
    return {
        "planes": config.slot_beats,
        "kinds": {kind.name: kind.value for kind in Kind},
        "formats": [str(each) for each in (gae.word, gae.coefficient, gae.scale)],
        "codes": [gae.code_limit, gae.result_limit, gae.result_shift],
        "numbers": [NUMBER_WIDTH, FACTOR_WIDTH],
    }


DESIGN = Design(
    name="gae",
    summary="advantages and rewards-to-go of 8-bit rollouts, in place (HEPPO)",
    config_type=GaeKernelConfig,
    default=_default,
    library=_library,
    core=GaeCore,
    errors=GAE_ERRORS,
    records={"Records": [MOMENTS]},
    largest="operands",
    storage=_slots,
    buffers=_rollout,
    estimate=estimate,
    suggest=_fewer_rows,
    identity=_identity,
)

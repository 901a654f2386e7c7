"""The design ``adder``: the small one that ``docs/adding_a_design.md`` walks through."""

from design.adder.config import NUMBER_BYTES, AdderConfig
from design.adder.core import AdderCore
from design.adder.estimate import estimate
from design.adder.records import ADDER_ERRORS

from hw.shell.design import Design, default_engine

__all__ = ["DESIGN"]


def _default(numbers):
    """The longest vectors of which two fit a bank, up to 2^20; beats of half the board's width."""
    half = {**numbers, "data_width": numbers["data_width"] // 2}
    return AdderConfig(
        capacity=min(1 << 20, numbers["bank_bytes"] // (2 * NUMBER_BYTES)),
        engine=default_engine(numbers),
        vectors_engine=default_engine(half),
    )


DESIGN = Design(
    name="adder",
    summary="sums of two vectors (for tests)",
    config_type=AdderConfig,
    default=_default,
    core=AdderCore,
    errors=ADDER_ERRORS,
    largest="x",
    storage=lambda config: (config.capacity, 2 * NUMBER_BYTES),  # y lies beside x
    estimate=estimate,
    identity=lambda config: {"number bytes": NUMBER_BYTES},
)

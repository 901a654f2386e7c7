"""The lookup tables and registers that the learner's units estimate are those that yosys maps."""

import json

import pytest
from mapped_unit import mapped_unit

from bench.area_fit import MAPS, mapped_units
from bench.area_units import UNITS as MAPPED
from hw.arith import estimate as arith
from hw.arith.arithmetic import Arithmetic
from hw.arith.tanh import Tanh, TanhFixed
from hw.estimate import RESOURCES
from hw.learner.play.windows import Windows, WindowsConfig
from hw.nn import estimate
from hw.nn.fixed_coefficients import FixedCoefficients
from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import OPTIMIZERS, OptimizerConfig
from hw.nn.td_loss import TdLoss

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")


def optimizer(unit, kind, arithmetic, estimate=estimate.optimizer):
    config = OptimizerConfig(optimizer=kind, arithmetic=arithmetic)
    return unit(config, arithmetic.gradient_sum_shape(64)), estimate(config)


#: name -> unit, estimate
UNITS = {
    **{
        f"fixed_optimizer_{kind}": lambda kind=kind: optimizer(FixedOptimizer, kind, FIXED)
        for kind in OPTIMIZERS
    },
    **{
        f"fixed_coefficients_{kind}": lambda kind=kind: optimizer(
            FixedCoefficients, kind, FIXED, estimate.coefficients
        )
        for kind in OPTIMIZERS
    },
    # The others have tables, which yosys maps in another way if they are alone.
    "optimizer_sgd": lambda: optimizer(Optimizer, "sgd", FLOAT),
    "tanh": lambda: (Tanh(), arith.tanh(FLOAT)),
    "fixed_tanh": lambda: (TanhFixed(FIXED.activation), arith.tanh(FIXED)),
    "loss": lambda: (TdLoss(FLOAT), TdLoss.estimate(FLOAT)),
    "fixed_loss": lambda: (TdLoss(FIXED), TdLoss.estimate(FIXED)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version."""
    unit, need = UNITS[name]()
    found = mapped_unit(unit, name, family="xcup_dsp", flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1)
    assert need.ff == pytest.approx(found["ff"], rel=0.05, abs=10)
    assert need.dsp == found["dsp"]
    assert (need.bram36 or 0) == found["bram36"]


#: Units of no kernel, by the begins of their names.
FITTED = {"learner": ("explore_", "windows_", "episodes_", "scaled_", "weighted_"),
           "nn": ("td_program_",)}  # fmt: skip
#: The project's own limits on an ECP5: LUT4 and multipliers, at most.
LIMITS = {
    ("learner, explore_8_2", "learner, windows_8_4_1_16", "learner, episodes_8"): (3500, 3),
    ("nn, td_program_fixed",): (2700, 4),
}


def test_estimates_of_units_for_play():
    maps = json.loads(MAPS.read_text())["ecp5"]
    for folder, begins in FITTED.items():
        for name, make in MAPPED[folder].items():
            if name.startswith(begins):
                lut, ff, *others = maps[f"{folder}, {name}"]
                need = make()[1].of("ecp5")
                assert need.lut == pytest.approx(lut, rel=0.05), name
                assert need.ff == pytest.approx(ff, rel=0.02), name
                assert [need.bram36, need.uram, need.dsp] == others, name


def test_units_for_play_are_as_small_as_they_must_be():
    maps = json.loads(MAPS.read_text())["ecp5"]
    for units, (lut, dsp) in LIMITS.items():
        found = [dict(zip(RESOURCES, maps[unit], strict=True)) for unit in units]
        assert sum(each["lut"] for each in found) <= lut, units
        assert sum(each["dsp"] for each in found) <= dsp, units


@pytest.mark.long
@pytest.mark.parametrize("family, tolerance", [("ecp5", 0.12), ("xcup", 0.25)])
def test_an_unseen_size_of_windows(family, tolerance):
    config = WindowsConfig(environments=12, observation=6, action=2, longest=12)
    found = mapped_units({"windows": Windows(config)}, family, "unseen_windows")["windows"]
    need = Windows.estimate(config).of(family)
    assert need.lut == pytest.approx(found["lut"], rel=tolerance)
    assert need.ff == pytest.approx(found["ff"], rel=tolerance)
    assert (need.bram36, need.dsp) == (found["bram36"], found["dsp"])

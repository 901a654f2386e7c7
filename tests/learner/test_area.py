"""The lookup tables and registers that the learner's units estimate are those that yosys maps."""

import json

import pytest
from amaranth import Shape
from mapped_unit import mapped_unit

from bench.area_fit import MAPS, mapped_units
from bench.area_units import UNITS as MAPPED
from hw.arith import estimate as arith
from hw.arith.arithmetic import Arithmetic
from hw.arith.tanh import Tanh, TanhFixed
from hw.estimate import RESOURCES, together
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.control.step_check import StepCheck
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.network.merge import Merge
from hw.learner.network.smooth import Smooth
from hw.learner.play.windows import Windows, WindowsConfig
from hw.nn import estimate
from hw.nn.fixed_coefficients import FixedCoefficients
from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import OPTIMIZERS, OptimizerConfig
from hw.nn.td_loss import TdLoss
from hw.nn.twin_td import ClimbLoss, TwinTd

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")


def optimizer(unit, kind, arithmetic, estimate=estimate.optimizer):
    config = OptimizerConfig(optimizer=kind, arithmetic=arithmetic)
    return unit(config, arithmetic.gradient_sum_shape(64)), estimate(config)


def of_layer(kind, *arguments):
    return kind(*arguments), kind.estimate(*arguments)


SHAPE = BlockShape(inputs=8, outputs=6, input_word=2, output_word=4)
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
    "smooth": lambda: of_layer(Smooth, LayerConfig(arithmetic=FIXED, lanes=2, batch=64), SHAPE, 1),
    **{
        f"gradient_norm_{width}": lambda width=width, arithmetic=arithmetic: of_layer(
            GradientNorm, LayerConfig(arithmetic=arithmetic), Shape(width), 3
        )
        for width, arithmetic in ((90, FIXED), (32, FLOAT))
    },
    **{
        f"step_check_{name}_{clips}": lambda name=name, clips=clips: of_layer(
            StepCheck, LearnerConfig(algorithm=name, clip_norm=clips)
        )
        for name, clips in (("dqn", True), ("ddpg", True), ("td3", False), ("td3", True))
    },
    "twin_loss": lambda: (TwinTd(FIXED), TwinTd.estimate(FIXED)),
    **{
        f"climb_loss_{arithmetic.kind}": lambda arithmetic=arithmetic: (
            ClimbLoss(arithmetic),
            ClimbLoss.estimate(arithmetic),
        )
        for arithmetic in (FIXED, FLOAT)
    },
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


def norm(width, layers, arithmetic):
    return GradientNorm.estimate(LayerConfig(arithmetic=arithmetic), Shape(width), layers)


def smooth(lanes, outputs, word, paths, arithmetic):
    config = LayerConfig(arithmetic=arithmetic, lanes=lanes, batch=64)
    shape = BlockShape(inputs=8, outputs=outputs, input_word=2, output_word=word)
    return Smooth.estimate(config, shape, paths)


def shown(kind, batch):
    """An optimizer that gives the square of its gradient."""
    config, sums = (
        OptimizerConfig(optimizer=kind, arithmetic=FIXED),
        FIXED.gradient_sum_shape(batch),
    )
    square = estimate.square(config, FixedOptimizer.square_shape(FIXED, sums).width)
    return together([estimate.optimizer(config), square])


#: Estimates of units, with the LUT, FF, RAMB36 and DSP that yosys mapped, taken down once.
TAKEN_DOWN = [
    (norm(60, 2, FIXED), (2832, 1888, 1, 23)),
    (norm(67, 3, FIXED), (2976, 2031, 1, 23)),
    (norm(90, 3, FIXED), (3093, 2100, 1, 23)),
    (norm(100, 5, FIXED), (3235, 2437, 1, 23)),
    (norm(32, 2, FLOAT), (2477, 1800, 1, 21)),
    (norm(32, 4, FLOAT), (3125, 2536, 1, 21)),
    (smooth(1, 1, 1, 1, FIXED), (1668, 890, 0, 2)),
    (smooth(2, 6, 1, 1, FIXED), (1717, 953, 1, 2)),
    (smooth(2, 6, 4, 1, FIXED), (2252, 1585, 0, 2)),
    (smooth(4, 6, 3, 2, FIXED), (2998, 2805, 0, 2)),
    (smooth(1, 1, 1, 1, FLOAT), (1820, 1174, 0, 2)),
    (smooth(2, 3, 2, 1, FLOAT), (3198, 2600, 0, 2)),
    (Merge.estimate(LayerConfig(arithmetic=FIXED, lanes=2), 3, 1, 2), (390, 345, 0, 0)),
    (TwinTd.estimate(FIXED), (5592, 5808, 0, 16)),
    (TwinTd.estimate(FLOAT), (4762, 5327, 0, 16)),
    (ClimbLoss.estimate(FIXED), (803, 807, 0, 0)),
    (ClimbLoss.estimate(FLOAT), (635, 712, 0, 0)),
    (shown("sgd", 64), (1110, 877, 0, 6)),
    (shown("sgd", 1024), (1144, 901, 0, 6)),
    (shown("rmsprop", 256), (1241, 1144, 1, 10)),
    (shown("adam", 16), (1671, 1459, 1, 11)),
]


@pytest.mark.parametrize("need, found", TAKEN_DOWN)
def test_estimates_of_units_for_td3_and_norms(need, found):
    assert need.lut == pytest.approx(found[0], rel=0.035)
    assert need.ff == pytest.approx(found[1], rel=0.055)
    assert (need.bram36, need.uram, need.dsp) == (found[2], 0, found[3])


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

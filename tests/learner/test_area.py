"""The lookup tables and registers that the learner's units estimate are those that yosys maps."""

import pytest
from mapped_unit import mapped_unit

from hw.arith.arithmetic import Arithmetic
from hw.arith.tanh import Tanh, TanhFixed
from hw.learner.chain.backward import Backward
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.forward import Forward
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.nn.fixed_coefficients import FixedCoefficients
from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer import Optimizer
from hw.nn.optimizer_config import OPTIMIZERS, OptimizerConfig
from hw.nn.td_loss import TdLoss

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")
#: A chain of three PEs whose last has padding, and a layer of one PE with several sums apart.
CHAIN = LayerShape(inputs=10, outputs=17, vector=2, length=3, activation="relu")
APART = LayerShape(inputs=20, outputs=2, vector=4, interleave=3)
BOTH = ("online", "target")


def layer(arithmetic, shape, lanes, **options):
    """The units of a layer of two groups, the first of which has a backward pass."""
    config = LayerConfig(arithmetic=arithmetic, lanes=lanes, **options)
    return {
        "forward": (Forward(config, shape, BOTH), Forward.estimate(config, shape, BOTH)),
        "backward": (
            Backward(config, shape, 1, 1, True, "leaky_relu"),
            Backward.estimate(config, shape, 1, 1, True, "leaky_relu"),
        ),
        "parameters": (LayerParameters(config, shape), LayerParameters.estimate(config, shape)),
    }


def optimizer(unit, kind, arithmetic):
    config = OptimizerConfig(optimizer=kind, arithmetic=arithmetic)
    return unit(config, arithmetic.gradient_sum_shape(64)), unit.estimate(config)


#: name -> unit, estimate
UNITS = {
    **{
        f"{name}_{kind}": lambda unit=unit, kind=kind: optimizer(unit, kind, FIXED)
        for kind in OPTIMIZERS
        for name, unit in (
            ("fixed_optimizer", FixedOptimizer),
            ("fixed_coefficients", FixedCoefficients),
        )
    },
    # The others have tables, which yosys maps in another way if they are alone.
    "optimizer_sgd": lambda: optimizer(Optimizer, "sgd", FLOAT),
    "tanh": lambda: (Tanh(), Tanh.estimate()),
    "fixed_tanh": lambda: (
        TanhFixed(FIXED.activation),
        TanhFixed.estimate(FIXED.activation),
    ),
    "loss": lambda: (TdLoss(FLOAT), TdLoss.estimate(FLOAT)),
    "fixed_loss": lambda: (TdLoss(FIXED), TdLoss.estimate(FIXED)),
    **{
        f"{name}_{unit}": lambda unit=unit, arguments=arguments, optimizer=optimizer: layer(
            *arguments, optimizer=optimizer
        )[unit]
        for name, arguments, optimizer in (
            ("chain", (FIXED, CHAIN, 4), "adam"),
            ("apart", (FLOAT, APART, 2), "sgd"),
        )
        for unit in ("forward", "backward", "parameters")
    },
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    """Within a tenth: yosys changes from version to version. A unit that is alone keeps the
    registers of a handshake that chains do not use."""
    unit, need = UNITS[name]()
    found = mapped_unit(unit, name, family="xcup_dsp", flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1)
    assert need.ff == pytest.approx(found["ff"], rel=0.05, abs=10)
    assert need.dsp == found["dsp"]
    assert (need.bram36 or 0) == found["bram36"]

"""The lookup tables and registers that the learner's units estimate are those that yosys maps."""

import pytest
from mapped_unit import mapped_unit

from hw.arith import estimate as arith
from hw.arith.arithmetic import Arithmetic
from hw.arith.tanh import Tanh, TanhFixed
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

"""Numbers of FIXAR's twin, written out: what hardware and twin alike could have wrong."""

import numpy as np
from fixar.kernels import SMALL

from hw.fixar.precision import Precision, slots
from sim.model.fixar.network import FixarNetwork, Watch
from sim.model.fixar.numbers import operands

CONFIG = SMALL.learner


def test_weights_are_rounded_half_up_to_operands():
    """Survivor 20. A weight has 28 places, an operand 23: 32 units of the one are one of the
    other's; what the largest weights round to has no place."""
    table = {
        0: 0, 15: 0, 16: 1, 31: 1, 47: 1, 48: 2,
        -1: 0, -16: 0, -17: -1, -32: -1, -48: -1, -49: -2,
        2**31 - 33: 2**26 - 1, 2**31 - 17: 2**26 - 1, 2**31 - 16: 2**26 - 1, 2**31 - 1: 2**26 - 1,
        -(2**31): -(2**26),
    }  # fmt: skip
    arithmetic = CONFIG.arithmetic
    assert (arithmetic.weight.fraction, arithmetic.operand.fraction) == (28, 23)
    found = operands(arithmetic, np.array([list(table)]))
    assert found.astype(int).tolist() == [list(table.values())]


def test_clipped_actions_are_counted():
    """Survivor 19. Actions have 20 places: behind a shift of 4 codes end at a half, behind 5 at 1;
    tanh of 1 and 2 is 0.76 and 0.96."""
    for shift, clipped in ((4, 3), (5, 0)):
        watch = Watch(CONFIG)
        network = FixarNetwork(CONFIG, "actor", watch)
        shifts = (shift,) * slots(CONFIG)[0]
        network.precision = Precision(activations=True, activation_shifts=shifts)
        outputs = np.array([[1, -1, 0], [2, 0, 0]]) << 20
        network.action_cells(outputs)
        assert watch.saturations == [0, clipped, 0], shift

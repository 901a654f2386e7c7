"""hw.learner.control.iteration_report: which clocks of an iteration it counts."""

import numpy as np
from clocks import Clocks

from hw.learner.control.iteration_report import IterationReport
from hw.learner.records import REPORT


def shown(*cycles):
    """A REPORT whose other numbers are 0."""
    record = np.zeros((), REPORT.dtype)
    record["cycles"] = cycles
    return int.from_bytes(record.tobytes(), "little")


def test_clocks_of_two_iterations(simulate, tmp_path):
    """Draw and gather as they are when the gradient step begins; clocks of the step; of the whole
    from the clock behind ``restart``, which is 0. Survivor 26: not from 1. Survivor 23: those of a
    draw are not of a batch that was not drawn."""
    clocks = Clocks()
    drawn, other = (dict(draw_cycles=k, gather_cycles=k + 2) for k in (7, 50))
    begun = clocks.add(restart=1, **dict.fromkeys(IterationReport().numbers, 0))
    clocks.at(begun + 3, train=1, drawn=1, status=drawn)
    for clock in range(begun + 4, begun + 9):
        clocks.at(clock, stepping=1, status=other)
    clocks.expect(begun + 12, report=shown(7, 9, 5, 11))
    again = begun + 20
    clocks.at(again, restart=1)
    clocks.expect(again, report=shown(7, 9, 5, 19))
    clocks.at(again + 2, train=1, drawn=0, status=other)
    clocks.at(again + 3, stepping=1, status=other)
    clocks.expect(again + 6, report=shown(0, 0, 1, 5))
    clocks.run(simulate, IterationReport(), tmp_path)

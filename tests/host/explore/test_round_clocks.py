"""host.explore.round_clocks: what is run in a period."""

import numpy as np

from host.explore.round_clocks import periods
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.schedule import Schedule

CONFIG = Fa3cConfig(
    height=1, width=1, binary32=True, input_exponent=0, convolutions=(), hidden=(16,), outputs=3,
    lanes=1, units=("infer", "train"), steps=5, agents=16, snapshots=4, parameter_rows=64,
)  # fmt: skip


class Network:
    """Notes how many tasks each round has."""

    def __init__(self):
        self.config, self.ran, self.status = CONFIG, [], np.zeros(1)

    def load(self, parameters):
        pass

    def run(self, tasks):
        self.ran.append(len(tasks))


def test_a_round_without_a_task_is_left_out():
    """Before all groups have begun, no group has a task in some rounds."""
    network, schedule = Network(), Schedule(CONFIG, 16, 4)
    turns, period = periods(network, schedule), schedule.period
    assert len(next(turns)) == len(network.ran) < period
    assert len(next(turns)) == period
    assert all(network.ran)

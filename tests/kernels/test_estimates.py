"""A kernel's estimate adds up the units and memory blocks that the kernel has.

Sums that yosys' numbers confirm within some percent say nothing of a small unit that was forgotten,
or counted twice. Here each unit counts as one, whatever its size.
"""

from collections import Counter

import pytest
from inventory import Estimated, elaborated, rows_of
from kernels.whole_programs import PROGRAMS
from legal_configs import legal_config
from marks import long_but

from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.arith.tanh import Tanh, TanhFixed
from hw.designs import DESIGNS
from hw.estimate import Estimate, times, together
from hw.gae.array.pe import PE
from hw.gae.array.stack import Stack
from hw.nn.fixed_divisor import FixedDivisor
from hw.nn.optimizer import Optimizer
from hw.replay.tree.manager import ReplayManager
from hw.replay.tree.operations import response_layout
from hw.stream.estimate import queue
from hw.stream.queue import Queue
from hw.stream.ram import Ram

#: Units with a table in a block that is no Ram.
_TABLES = FixedDivisor, Float32Rsqrt, Tanh, TanhFixed
#: Units of a design whose resources are within those of what is around them; units that a kernel
#: has one of, and that the estimate has as parts of the kernel.
WITHIN = {
    "replay": "ReplayCore ReplayManager",
    "gae": "Intake Estimator Quantize",
    "dqn": "JobReplayCore ReplayManager Interpolate Quantize Float32Multiply Float32Add",
    "fixar": "JobReplayCore ReplayManager Interpolate Quantize Float32Multiply Float32Add "
    "Float32Reciprocal Ram Queue Pack TanhFixed BatchMemory "
    "Noise TdLoss ToFloat BatchSum TdErrorQueue Iteration Upsizer Downsizer ReadyRegister",
    "a3c": "Float32Multiply Float32Add Interpolate Ram Queue Upsizer Downsizer",
}
WITHIN["ddpg"] = WITHIN["td3"] = WITHIN["dqn"]


#: Designs, for the config of their whole program, and random configs by their numbers.
CASES = [f"{name}{seed}" for name in DESIGNS for seed in ("", *(f" {k}" for k in range(20)))]
CASES.append("fixar 119")


#: The first random ``fixar`` has so many samples that all its memories are blocks, the other has
#: weights of which a half of a block is enough for the last bits.
QUICK = ["replay", "gae", "ddpg", "a3c", "fixar 18", "fixar 119"]


@pytest.fixture(scope="module", params=long_but(QUICK, CASES))
def kernel(request):
    """Design, config, and the kernel's components."""
    name, _, seed = request.param.partition(" ")
    config = legal_config(name, int(seed)) if seed else PROGRAMS[name].config
    return DESIGNS[name], config, elaborated(DESIGNS[name].kernel(config))


def test_units(kernel):
    """Each class that has an estimate, but for ``WITHIN``."""
    design, config, parts = kernel
    units = Counter(map(type, parts))
    # The queue of a tree's responses is Amaranth's, with a memory that is estimated as a Ram.
    units[Ram] += units[ReplayManager]
    told = [unit for unit in units if rows_of(unit) or hasattr(unit, "estimate")]
    told = [unit for unit in told if unit.__name__ not in WITHIN[design.name].split()]
    with Estimated(told) as estimated:
        counted = estimated.count(design.estimate(config))
    assert counted == Counter({unit: units[unit] for unit in told}), config.to_json()


def test_blocks(kernel):
    """The block RAM and the UltraRAM of each memory and table."""
    design, config, parts = kernel
    memories = [(unit.width, unit.depth, unit.style) for unit in parts if isinstance(unit, Ram)]
    memories += [
        (response_layout(unit.config).size, unit.queue_depth, "auto")
        for unit in parts
        if isinstance(unit, ReplayManager)
    ]
    blocks = [Ram.estimate(*sizes) for sizes in memories]
    blocks += [Estimate(bram36=1) for unit in parts if isinstance(unit, _TABLES)]
    roots = [unit for unit in parts if isinstance(unit, Optimizer)]
    blocks += [Estimate(bram36=1) for unit in roots if unit.config.optimizer != "sgd"]
    wanted, found = together(blocks), design.estimate(config)
    assert (found.bram36, found.uram) == (wanted.bram36, wanted.uram), config.to_json()


def test_no_unit_is_left_out_that_the_kernel_lacks(kernel):
    """``WITHIN`` names units that are in a kernel."""
    design, config, parts = kernel
    if config == PROGRAMS[design.name].config:
        assert set(WITHIN[design.name].split()) <= {type(unit).__name__ for unit in parts}


def test_lanes_of_a_shared_unit_count_each():
    """Three lanes name one module, which has a unit of its own."""
    config = PROGRAMS["gae"].config
    parts = Counter(map(type, elaborated(DESIGNS["gae"].kernel(config))))
    assert parts[PE] == config.gae.rows == 5 and parts[Stack] == 1


def test_a_mark_is_counted_as_often_as_it_is_added_up():
    with Estimated([Queue, Ram]) as estimated:
        one = together([queue(9, 100), Ram.estimate(9, 100)])  # a Queue has a Ram
        found = estimated.count(times(3, one, queue(9, 2)))
    assert found == {Queue: 6, Ram: 6}


def test_nothing_is_marked_afterwards():
    """Also where estimates are kept."""
    design, config = DESIGNS["dqn"], PROGRAMS["dqn"].config
    before = design.estimate(config)
    with Estimated([Queue]):
        assert design.estimate(config).ff > 1 << 40
    assert design.estimate(config) == before

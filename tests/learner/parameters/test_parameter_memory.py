"""parameter_memory and hw.stream.ram: memories of a PE, and how many blocks they take."""

import pytest

from boards.area import synthesize
from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig
from hw.learner.memory_ports import bias_sum_shape
from hw.learner.parameters.parameter_memory import (
    ParameterMemory,
    ParameterMemoryShape,
    stored_sets,
)
from hw.stream.ram import Ram, RamDual, memory_blocks
from hw.verilog import to_verilog


def test_kinds_of_an_optimizer():
    sets = {name: stored_sets(LayerConfig(optimizer=name)) for name in ("sgd", "rmsprop", "adam")}
    assert sets["sgd"] == ("online", "target", "first")
    assert sets["rmsprop"] == ("online", "target", "second")
    assert sets["adam"] == ("online", "target", "first", "second")


def test_bias_sum_holds_every_batch():
    fixed = Arithmetic(kind="fixed")
    for batch in (1, 2, 63, 64, 65):
        config = LayerConfig(arithmetic=fixed, batch=batch)
        width = bias_sum_shape(config).width
        assert fixed.gradient.low * batch >= -(1 << (width - 1))
        # As a number of the weights' gradients, it fits among them.
        assert width + fixed.fraction("activation") <= fixed.gradient_sum_shape(batch).width


@pytest.mark.parametrize(
    "width, depth, dual, blocks",
    [
        (72, 512, False, 1),
        (72, 512, True, 2),  # with two reading ports a block has 36 bits at most
        (36, 1024, True, 1),
        (128, 128, True, 4),
        (128, 128, False, 2),
    ],
)
def test_memory_blocks(width, depth, dual, blocks):
    assert memory_blocks(width, depth, "block", dual=dual) == blocks


@pytest.mark.parametrize("kind", [Ram, RamDual])
@pytest.mark.parametrize(
    "options, error",
    [
        (dict(width=1, depth=2, style="blocks"), "style must be one of .*, not 'blocks'"),
        (dict(width=0, depth=2), "width must be a positive integer, not 0"),
        (dict(width=1, depth=2.5), "depth must be a positive integer, not 2.5"),
    ],
)
def test_ram_rejects(kind, options, error):
    with pytest.raises(ValueError, match=error):
        kind(**options)


@pytest.mark.long
def test_dual_port_is_one_copy(tmp_path):
    """yosys makes one memory of it, in blocks as in lookup tables; a port's writes cost none."""
    block = to_verilog(RamDual(width=72, depth=512, style="block"), name="block")
    found = synthesize(block, "block", work=tmp_path)
    assert found["bram36"] == memory_blocks(72, 512, "block", dual=True) and found["lut"] <= 2
    small = to_verilog(RamDual(width=32, depth=64, style="distributed"), name="small")
    found = synthesize(small, "small", work=tmp_path)
    assert found["cells"]["RAM64X1D"] == 32 and not found["bram36"]


@pytest.mark.parametrize("depth, blocks", [(64, 0), (128, 4 + 2 + 2 + 2 + 2)])
def test_bank_blocks(depth, blocks):
    """Adam with words of 128 bits: weights with two ports, four memories with one."""
    config = LayerConfig()
    sums = config.arithmetic.gradient_sum_shape(config.batch)
    shape = ParameterMemoryShape(config, depth, 4, sums, dual=True)
    assert shape.estimate.bram36 == blocks
    assert ParameterMemory(shape).shape is shape

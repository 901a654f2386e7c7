"""The parameters of a layer of blocks as yosys maps them, each unit a module of its own."""

import pytest
from mapped_unit import mapped_unit

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.parameters import estimate
from hw.learner.parameters.block_memory import BlockMemory
from hw.learner.parameters.block_memory_shape import BlockMemoryShape
from hw.learner.parameters.join import Join
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.parameters.moments import Moments

CONFIG = LayerConfig(arithmetic=Arithmetic(kind="fixed"))
#: Memories of lookup tables, and of blocks.
SHALLOW = BlockShape(inputs=4, outputs=64, input_word=4, output_word=8, part=8)
DEEP = BlockShape(inputs=64, outputs=64, input_word=8, output_word=4, part=4)


def memory(shape):
    shape = BlockMemoryShape.of_blocks(CONFIG, shape, dual=True)
    return BlockMemory(shape), estimate.block_memory(shape)


#: name -> unit, estimate
UNITS = {
    "shallow": lambda: memory(SHALLOW),
    "deep": lambda: memory(DEEP),
    "moments": lambda: (Moments(CONFIG, SHALLOW), estimate.moments(CONFIG, SHALLOW)),
    "join": lambda: (Join(CONFIG, SHALLOW), estimate.join(CONFIG, SHALLOW)),
    "join_deep": lambda: (Join(CONFIG, DEEP), estimate.join(CONFIG, DEEP)),
    "parameters": lambda: (
        LayerParameters(CONFIG, SHALLOW),
        estimate.layer_parameters(CONFIG, SHALLOW),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", UNITS)
def test_area(name):
    unit, need = UNITS[name]()
    found = mapped_unit(unit, f"block_parameters_{name}", family="xcup_dsp", flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1)
    assert need.ff == pytest.approx(found["ff"], rel=0.05, abs=10)
    assert (need.dsp or 0) == found["dsp"]
    assert (need.bram36 or 0) == found["bram36"]

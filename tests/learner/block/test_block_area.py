"""The units of a block as yosys maps them, each a module of its own."""

import pytest
from later import later
from mapped_unit import mapped_unit

from hw.arith.arithmetic import Arithmetic
from hw.learner.block import estimate
from hw.learner.block.backward import Backward
from hw.learner.block.column import Column
from hw.learner.block.config import BlockShape
from hw.learner.block.forward import Forward
from hw.learner.block.gradient_element import GradientElement
from hw.learner.block.layer_config import LayerConfig
from hw.learner.block.row import Row

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()


def shape(input_word, output_word):
    return BlockShape(inputs=64, outputs=64, input_word=input_word, output_word=output_word)


#: Unit, DSP blocks, lookup tables at most: sums run along the cascade, whatever their length.
UNITS = {
    "column_4": (lambda: Column(FIXED, shape(4, 8), "relu"), 4, 130),
    "column_16": (lambda: Column(FIXED, shape(16, 8), "relu"), 16, 165),
    "row_8": (lambda: Row(FIXED, shape(4, 8), "relu"), 8, 115),
    "element_2": (lambda: GradientElement(FIXED, 2, 512), 2, 0),
    "element_4": (lambda: GradientElement(FIXED, 4, 512), 4, 0),
}


@pytest.mark.parametrize("name", [name if name == "element_2" else later(name) for name in UNITS])
def test_area(name):
    make, dsp, lut = UNITS[name]
    found = mapped_unit(make(), f"block_{name}", family="xcup_dsp", flatten=False)
    assert found["dsp"] == dsp
    assert found["lut"] <= lut


#: Backward passes: arithmetic, sizes, options.
PASSES = {
    "words": (FIXED, dict(inputs=64, outputs=2, input_word=8, output_word=2), dict()),
    "first": (
        FIXED,
        dict(inputs=4, outputs=64, input_word=4, output_word=8),
        dict(input_gradient=False, period=1, reserved=True),
    ),
    "float": (
        FLOAT,
        dict(inputs=8, outputs=16, input_word=2, output_word=2),
        dict(input_activation="leaky_relu"),
    ),
}

#: Forward passes: arithmetic and sizes; sums in a memory, in registers, and several apart.
FORWARDS = {
    "memory": (
        FIXED, dict(inputs=64, outputs=64, input_word=4, output_word=8, activation="relu"),
    ),
    "registers": (FIXED, dict(inputs=10, outputs=4, input_word=2, output_word=2)),
    "apart": (
        FLOAT, dict(inputs=20, outputs=2, input_word=2, output_word=2, interleave=8),
    ),
}  # fmt: skip


def close(unit, need, name):
    """Within a tenth of what yosys maps: it changes from version to version."""
    found = mapped_unit(unit, name, family="xcup_dsp", flatten=False)
    assert need.lut == pytest.approx(found["lut"], rel=0.1)
    assert need.ff == pytest.approx(found["ff"], rel=0.05, abs=10)
    assert (need.dsp, need.bram36 or 0) == (found["dsp"], found["bram36"])


@pytest.mark.parametrize("name", [later(name) for name in PASSES])
def test_backward_area(name):
    arithmetic, sizes, options = PASSES[name]
    config = LayerConfig(arithmetic=arithmetic, lanes=2)
    arguments, options = (config, BlockShape(**sizes)), dict(input_activation="relu") | options
    unit = Backward(*arguments, **options)
    close(unit, estimate.backward(*arguments, **options), f"block_backward_{name}")


@pytest.mark.parametrize("name", [later(name) for name in FORWARDS])
def test_forward_area(name):
    arithmetic, sizes = FORWARDS[name]
    config = LayerConfig(arithmetic=arithmetic, lanes=2)
    arguments = config, BlockShape(**sizes), ("online", "target")
    close(Forward(*arguments), estimate.forward(*arguments[:2], 2), f"block_forward_{name}")

"""The units of a block as yosys maps them, each a module of its own."""

import pytest
from later import later
from mapped_unit import mapped_unit

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.column import Column
from hw.learner.block.config import BlockShape
from hw.learner.block.gradient_element import GradientElement
from hw.learner.block.row import Row

FIXED = Arithmetic(kind="fixed")


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

"""hw.arith.arithmetic: which class a kind is, its JSON, and what is no hardware of the kinds."""

import json
import pickle
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, run

import numpy as np
import pytest
from amaranth import signed, unsigned

from hw.arith.arithmetic import Arithmetic
from hw.arith.binary32 import Binary32
from hw.arith.fixed import SQ, UQ
from hw.arith.fixed_point import DualPrecision, FixedPoint
from sim.model.arith.arithmetic import twin_of

ROOT = Path(__file__).parents[2]
FLOAT, FIXED, DUAL = Binary32(), FixedPoint(), DualPrecision()
COARSE = FixedPoint(weight=SQ(5, 2), activation=SQ(6, 3), gradient=SQ(2, 9))


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(kind="double"), "kind must be one of dual, fixed, float32, not 'double'"),
        (dict(weight=SQ(5, 23)), r"weight must be SQ of at most 27 bits, not SQ\(5, 23\)"),
        (dict(activation=SQ(2, 17)), r"activation must be SQ of at most 18 bits, not SQ\(2, 17\)"),
        (dict(gradient=UQ(2, 10)), r"gradient must be SQ of at most 18 bits, not UQ\(2, 10\)"),
        (dict(gradient=8), "gradient must be SQ of at most 18 bits, not 8"),
        (dict(kind=["fixed"]), r"kind must be one of dual, fixed, float32, not \['fixed'\]"),
        (dict(kind="dual", weight=SQ(4, 29)), r"weight must be SQ of at most 32 bits"),
        (dict(kind="dual", operand=SQ(4, 24)), r"operand must be SQ of at most 27 bits"),
        (dict(kind="dual", activation=SQ(12, 21)), r"activation must be SQ of at most 32 bits"),
        (dict(kind="dual", gradient=SQ(8, 20)), r"gradient must be SQ of at most 27 bits"),
        (dict(kind="dual", gradient=UQ(8, 19)), r"gradient must be SQ of at most 27 bits"),
        (
            dict(kind="dual", operand=SQ(3, 23)),
            r"operand must have the weight's 4 integer bits, not SQ\(3, 23\)",
        ),
    ],
)
def test_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        Arithmetic(**values)


#: Of the kernels' default and a fixed one: saved states, builds and recorded runs have these.
FORMATS_JSON = (
    '{"activation":{"fraction":10,"integer":8,"signed":true},'
    '"gradient":{"fraction":14,"integer":4,"signed":true},'
    '"kind":"%s","weight":{"fraction":23,"integer":4,"signed":true}}'
)
DUAL_JSON = (
    '{"activation":{"fraction":20,"integer":12,"signed":true},'
    '"gradient":{"fraction":19,"integer":8,"signed":true},"kind":"dual",'
    '"operand":{"fraction":23,"integer":4,"signed":true},'
    '"weight":{"fraction":28,"integer":4,"signed":true}}'
)


@pytest.mark.parametrize(
    "kind, cls, text",
    [
        ("float32", Binary32, FORMATS_JSON % "float32"),
        ("fixed", FixedPoint, FORMATS_JSON % "fixed"),
        ("dual", DualPrecision, DUAL_JSON),
    ],
)
def test_kind_says_the_class(kind, cls, text):
    """Whichever class is asked; and JSON is what it was before there were classes."""
    made = cls()
    assert type(made) is cls and made.to_json() == text
    values = json.loads(text)
    same = [Arithmetic(kind=kind), cls(kind=kind), Arithmetic.from_dict(values)]
    same += [Arithmetic.from_json(text), cls.from_json(text), replace(made), deepcopy(made)]
    same += [Binary32.from_dict(values), pickle.loads(pickle.dumps(made))]
    same += [eval(repr(made), {"Arithmetic": Arithmetic, "SQ": SQ})]
    for other in same:
        assert type(other) is cls and other == made and hash(other) == hash(made)
    assert Arithmetic() == Binary32() != FixedPoint()


def test_one_import_is_enough():
    """In a new process, where nothing else has brought the classes."""
    code = "from hw.arith.arithmetic import Arithmetic; print(Arithmetic(kind='dual').to_json())"
    done = run([sys.executable, "-c", code], cwd=ROOT, text=True, stdout=PIPE, timeout=60)
    assert done.stdout.strip() == DUAL_JSON


def test_replace_changes_the_class():
    """As ``--set`` does: other fields stay, whatever the class makes of them."""
    fixed = replace(Binary32(weight=SQ(2, 9)), kind="fixed")
    assert type(fixed) is FixedPoint and fixed.weight == SQ(2, 9)
    assert replace(fixed, kind="float32") == Binary32(weight=SQ(2, 9))
    dual = replace(fixed, kind="dual", weight=SQ(4, 9))
    assert type(dual) is DualPrecision and dual.operand == SQ(4, 23)
    with pytest.raises(ValueError, match="^kind must be dual, not 'fixed'"):
        replace(dual, kind="fixed")
    with pytest.raises(TypeError, match="colour"):
        Arithmetic(colour=1)
    with pytest.raises(ValueError, match="colour must be a field of Binary32"):
        Arithmetic.from_dict(dict(colour=1))
    assert Arithmetic.from_json(COARSE.to_json()) == COARSE


def test_sums_of_gradients():
    """A dual one has 48 bits whatever the batch is, and 8 fraction bits less than the product."""
    assert FLOAT.gradient_sum_shape(64) == unsigned(32)
    assert FIXED.gradient_sum_shape(64) == FIXED.sum_shape("activation", "gradient", count=64)
    assert FIXED.gradient_sum_shape(64).width == 42 and FIXED.gradient_sum_fraction == 24
    for batch in (1, 64, 4096):
        assert DUAL.gradient_sum_shape(batch) == signed(48)
    assert DUAL.gradient_sum_fraction == 31
    # A number alone is as wide as its format, and a bit for every doubling.
    assert FIXED.sum_shape("gradient", count=64).width == 18 + 7
    most = 64 * FIXED.gradient.low
    assert most >= -(1 << (FIXED.sum_shape("gradient", count=64).width - 1))


@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED, DUAL], ids=["float", "fixed", "dual"])
def test_weights_in_an_image(arithmetic):
    """Real numbers as words and back; the twin reads them the same, and writes what it read."""
    x = np.array([0.5, -0.25, 7.5, -8, 3.0, -0.0, 100, -100], np.float32)
    words, clipped = arithmetic.weight_words(x)
    assert words.dtype == np.uint32 and clipped == 2 * arithmetic.saturates
    back = arithmetic.weights_of(words)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back[:6], x[:6])
    np.testing.assert_array_equal(np.abs(back[6:]) < 100, arithmetic.saturates)
    twin = twin_of(arithmetic)
    values = twin.weights(words)
    assert values.dtype == twin.dtype
    np.testing.assert_array_equal(twin.words(values), words)
    real = arithmetic.weight.to_float(values) if arithmetic.saturates else values
    np.testing.assert_array_equal(real.astype(np.float32), back)


def test_twin_drops_bits_above_a_weight():
    twin = twin_of(COARSE)  # SQ(5, 2): 7 bits
    words = np.array([0x40, 0x3F, 0x80, 0xFFFF_FF81, 0x7F], np.uint32)
    assert twin.weights(words).tolist() == [-64, 63, 0, 1, -1]


def test_twin_conversions_of_stated_cases():
    x = np.array([1.5, -2], np.float32)
    binary, fixed = twin_of(FLOAT), twin_of(FIXED)
    values, saturated = binary.quantize(x, "gradient")
    assert values is x and not saturated.any() and binary.to_float(x, "gradient") is x
    values, saturated = fixed.quantize(np.array([0.5, 9, np.nan], np.float32), "gradient")
    assert values.tolist() == [8192, 131071, 0] and saturated.tolist() == [False, True, True]
    assert fixed.to_float(values, "gradient").tolist()[:1] == [0.5]
    assert fixed.sum_to_float(np.array([3 << 22])).tolist() == [0.75]
    assert twin_of(DUAL).sum_to_float(np.array([3 << 29])).tolist() == [0.75]

"""layer_parameters: load, store, reads and updates against the image and the twin."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib.wiring import ConnectionError
from learner.numbers import NARROW
from learner.parameters.parameter import STEPS, Parameter, given_word

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.backward import Backward
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.forward import Forward
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.layer_parameters import LayerParameters

#: name -> layer, units, optimizer, arithmetic, input_gradient. Padding of both sets, one PE and
#: several, units of unequal size, an output of padding in the first unit and in another.
CASES = {
    "adam": (
        LayerShape(inputs=5, outputs=5, vector=2, length=2),
        1,
        "adam",
        Arithmetic(),
        True,
    ),
    "sgd": (
        LayerShape(inputs=5, outputs=2, vector=4, interleave=3),
        1,
        "sgd",
        Arithmetic(),
        False,
    ),
    # So many PEs that their words come together in two steps.
    "chain": (LayerShape(inputs=19, outputs=10, length=10), 1, "sgd", NARROW, True),
    "rmsprop": (LayerShape(inputs=9, outputs=9, length=5), 4, "rmsprop", NARROW, True),
    "fixed adam": (
        LayerShape(inputs=5, outputs=5, vector=2, length=2),
        1,
        "adam",
        NARROW,
        True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_session(simulate, tmp_path, case):
    layer, units, optimizer, arithmetic, input_gradient = CASES[case]
    config = LayerConfig(update_units=units, optimizer=optimizer, arithmetic=arithmetic, batch=8)
    parameter, before = (Parameter(config, layer, seed) for seed in (1, 2))
    vectors = dict(
        before=[before.image(kind) for kind in PARAMETER_SETS],
        images=[parameter.image(kind) for kind in PARAMETER_SETS],
        stored=parameter.stored(),
        updates=[],
    )
    saturations = 0
    for step in STEPS:
        gradient = parameter.gradient()
        reads = parameter.reads(gradient)
        count = parameter.update(step, gradient)
        saturations += count
        vectors["updates"].append(
            dict(
                gradients=reads["gradient"],
                biases=reads["bias_gradient"],
                reads=reads,
                step=given_word(config, step),
                saturations=count,
                stored=parameter.stored(),
            )
        )
    assert not arithmetic.saturates or saturations > 3, "no limit was met"
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    simulate(
        LayerParameters(config, layer, input_gradient=input_gradient),
        "learner.parameters.layer_parameters_bench",
        vectors=str(file),
        length=layer.length,
        depth=layer.depth,
        outputs=layer.outputs,
        input_gradient=input_gradient,
        seed=3,
        estimate=asdict(LayerParameters.estimate(config, layer, input_gradient=input_gradient)),
    )


def test_estimate():
    """Units side by side save time; a memory port less saves nothing but blocks."""
    layer = LayerShape(inputs=64, outputs=64, vector=4, length=8)
    one, four = (
        LayerParameters.estimate(LayerConfig(update_units=units), layer) for units in (1, 4)
    )
    # The PEs of three units, their biases, and a merge of fewer words.
    assert one.update - four.update == 6 * layer.depth + 48 + 1
    assert four.dsp == 4 * one.dsp == 4 * 4 * 35
    without = LayerParameters.estimate(LayerConfig(), layer, input_gradient=False)
    assert without.bram36 == four.bram36 - 8 * 2


def test_image_is_as_it_is_scanned():
    """``pack`` and ``unpack`` are inverse, padding aside."""
    layer = CASES["adam"][0]
    parameter = Parameter(LayerConfig(), layer, 1)
    again = layer.unpack(layer.pack(*parameter.values["online"]))
    for got, expected in zip(again, parameter.values["online"], strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "arithmetic, layer, error, message",
    [
        (NARROW, dict(vector=1, length=4), AssertionError, None),  # Amaranth asserts it
        (NARROW, dict(vector=1), ConnectionError, "address' with shape .* widths"),
        (Arithmetic(), dict(), ConnectionError, "bias.*' with shape .* widths"),
    ],
)
def test_no_port_of_a_chain_is_cut_or_left_open(arithmetic, layer, error, message):
    """Chains of another layer, or of other weights, are not taken."""
    sizes = dict(inputs=10, outputs=20, vector=2, length=2)
    chains = LayerConfig(arithmetic=NARROW), LayerShape(**sizes)
    other = LayerConfig(arithmetic=arithmetic), LayerShape(**sizes | layer)
    parameters, sources = LayerParameters(*chains), ["online"]
    parameters.attach(Module(), Forward(*chains, sources), Backward(*chains))
    with pytest.raises(error, match=message):
        parameters.attach(Module(), Forward(*other, sources), Backward(*chains))
    with pytest.raises(error, match=message):
        parameters.attach(Module(), Forward(*chains, sources), Backward(*other))

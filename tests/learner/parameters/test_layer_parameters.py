"""layer_parameters of blocks: load, store, reads and updates against the image and the twin."""

import json

import numpy as np
import pytest
from later import later
from learner.numbers import NARROW
from learner.parameters.parameter import STEPS, Parameter, given_word

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_clocks import READ_CLOCKS, gradient_latency, update_clocks
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.layer_parameters import LayerParameters, measure_clocks

#: name -> sizes of the layer, optimizer, arithmetic, input_gradient. Padding of both sides, in a
#: word that is joined, in words without an input, of free outputs; parts that divide a row or not,
#: that are a block or more, or cut a row; image words of several kinds; memories of lookup tables
#: and of blocks.
CASES = {
    "adam": (
        dict(inputs=5, outputs=6, input_word=2, output_word=4, part=2), "adam", Arithmetic(), True,
    ),
    "sgd": (
        dict(inputs=5, outputs=2, input_word=2, output_word=2, interleave=4),
        "sgd", Arithmetic(), False,
    ),
    "uneven": (
        dict(inputs=7, outputs=7, input_word=4, output_word=3, part=8, joined=2),
        "sgd", NARROW, True,
    ),
    "large part": (
        dict(inputs=3, outputs=7, input_word=3, output_word=2, part=8, free=4),
        "rmsprop", NARROW, True,
    ),
    "blocks": (dict(inputs=13, outputs=11, output_word=2), "sgd", NARROW, True),
    "free": (
        dict(inputs=3, outputs=7, input_word=2, output_word=4, part=2, free=5),
        "adam", Arithmetic(), True,
    ),
    "one word": (
        dict(inputs=4, outputs=3, input_word=4, output_word=4, part=4), "adam", NARROW, False,
    ),
}  # fmt: skip
#: Those that are measured too.
MEASURED = ("adam", "uneven", "large part", "free")
#: In binary32 and in fixed point, with dx and without.
QUICK = ["adam", "sgd", "large part"]
#: And in how many clocks addresses change.
CLOCKS = [*((case, 15) for case in QUICK), *(later(case, 40) for case in CASES)]


@pytest.mark.parametrize("case, clocks", CLOCKS)
def test_session(simulate, tmp_path, case, clocks):
    sizes, optimizer, arithmetic, input_gradient = CASES[case]
    shape = BlockShape(**sizes)
    measures = case in MEASURED
    config = LayerConfig(optimizer=optimizer, arithmetic=arithmetic, batch=8, clip_norm=measures)
    parameter, before = (Parameter(config, shape, seed) for seed in (1, 2))
    noise = np.random.default_rng(4)  # padding may be anything when loaded
    vectors = dict(
        before=[before.image(kind) for kind in PARAMETER_SETS],
        images=[parameter.image(kind, noise) for kind in PARAMETER_SETS],
        stored=parameter.stored(),
        updates=[],
    )
    saturations = 0
    for step in STEPS:
        gradient = parameter.gradient()
        squares = parameter.squares(step, gradient) if measures else None
        reads = parameter.reads(gradient)
        count = parameter.update(step, gradient)
        saturations += count
        vectors["updates"].append(
            dict(
                reads=reads,
                squares=squares,
                step=given_word(config, step),
                saturations=count,
                stored=parameter.stored(),
            )
        )
    assert not arithmetic.saturates or saturations > 3, "no limit was met"
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    simulate(
        LayerParameters(config, shape, input_gradient=input_gradient),
        "learner.parameters.layer_parameters_bench",
        vectors=str(file),
        rows=shape.input_word,
        columns=shape.output_word,
        blocks=shape.blocks,
        words=shape.output_words,
        width=config.arithmetic.shape("weight").width,
        skew=arithmetic.dot_skew,
        gradient_latency=gradient_latency(shape),
        input_gradient=input_gradient,
        seed=3,
        clocks=clocks,
        measures=measures,
        estimate=dict(
            measure=measure_clocks(config, shape),
            update=update_clocks(config, shape),
            load=shape.image_words + 1,
            store=shape.image_words + READ_CLOCKS + 2,
        ),
    )

"""update of blocks: numbers that are padding leave as zeros, and are not counted."""

import numpy as np
from clocks import Clocks
from learner.numbers import NARROW
from nn.optimizer_cases import given

from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.parameters.update import Update
from hw.nn.optimizers import optimizer_of
from sim.model.nn.optimizer import update

#: In the order of COEFFICIENTS: steps so large that weights are clipped.
STEP = tuple(map(np.float32, (1, 0.5, 1, 0.9, 0.1, 0.5, 1e-6, 1, 0)))


def test_padding(simulate, tmp_path):
    config = LayerConfig(arithmetic=NARROW, optimizer="sgd", batch=8)
    unit = Update(config, BlockShape(inputs=2, outputs=2, output_word=2, part=2))
    at = optimizer_of(NARROW).timing(config.optimizer_config)
    rng, clocks, clipped = np.random.default_rng(1), Clocks(), 0
    high = NARROW.weight.high
    for k in range(64):
        gradient = rng.integers(-1 << 14, 1 << 14, 2)
        online, target = rng.integers(-high - 1, high + 1, (2, 2))
        first, zero = rng.standard_normal(2).astype(np.float32), np.zeros(2, np.float32)
        new = update(config, STEP, gradient, online, target, first, zero)
        alone = [
            update(config, STEP, *(x[n : n + 1] for x in (gradient, online, target, first, zero)))
            for n in range(2)
        ]
        padding, counts = int(rng.integers(4)), int(k % 4 != 3)
        real = [not padding >> n & 1 for n in range(2)]
        count = counts * sum(one.saturations for one, ok in zip(alone, real, strict=True) if ok)
        clipped += count
        inputs = clocks.inputs
        clocks.at(k, gradient=gradient)
        inputs[k].setdefault("old", {})["first"] = first
        clocks.at(k + at.weights)
        inputs[k + at.weights].setdefault("old", {}).update(online=online, target=target)
        clocks.at(k + at.moments, moments_padding=padding)
        clocks.at(k + at.latency, weights_padding=padding, counts=counts)
        for clock, values in (
            (k + at.moments + 1, dict(first=new.first)),
            (k + at.latency + 1, dict(online=new.weight, target=new.target)),
        ):
            shown = {
                name: [x if ok else 0 for x, ok in zip(v, real, strict=True)]
                for name, v in values.items()
            }
            clocks.expected.setdefault(clock, {}).setdefault("new", {}).update(shown)
        clocks.expect(k + at.latency + 1, saturations=count)
    for clock in range(len(clocks.inputs) + 2):
        clocks.at(clock, updating=1, coefficients=given(config, STEP))
    assert clipped > 3, "no limit was met"
    clocks.run(simulate, unit, tmp_path)

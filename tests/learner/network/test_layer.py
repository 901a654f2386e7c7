"""hw.learner.network.layer: forward, backward and updates of one layer, through its own ports."""

import json

import numpy as np
import pytest
from later import later
from learner.numbers import NARROW, activations, numbers
from learner.parameters.parameter import STEPS, Parameter, given_word
from packed import packed, port_shapes

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_clocks import READ_CLOCKS, update_clocks
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import PARAMETER_SETS
from hw.learner.network.layer import Layer
from sim.model.learner.network.network import Network
from sim.model.nn.activation import derivative

#: Learner, layer, and the layer's options: inputs from experiences, or from a layer before, which
#: wants gradients.
CASES = {
    "fixed, first of a double DQN": (
        dict(arithmetic=NARROW, lanes=2, optimizer="adam"),
        dict(inputs=7, outputs=5, input_word=2, output_word=3, activation="relu", part=2),
        dict(weight_sources=("online", "target", "online"), backward_groups=1, slots=3, feed=1),
    ),
    "fixed, critic": (
        dict(arithmetic=NARROW, lanes=1, optimizer="sgd"),
        dict(inputs=6, outputs=3, input_word=3, output_word=1),
        dict(
            weight_sources=("online", "online", "target"),
            backward_groups=2,
            slots=2,
            chain=(0, 1, 2),
            input_activation="tanh",
        ),
    ),
    "float": (
        dict(arithmetic=Arithmetic(), lanes=2, optimizer="rmsprop"),
        dict(
            inputs=5,
            outputs=3,
            input_word=2,
            output_word=2,
            interleave=4,
            activation="tanh",
            part=4,
        ),
        dict(
            weight_sources=("online", "target"),
            backward_groups=1,
            slots=4,
            chain=(0, 1),
            input_activation="relu",
        ),
    ),
}
#: Samples of each batch; a step without a floor last, for it divides by zero.
SAMPLES, MORE_SAMPLES = (3, 1, 2), (5, 1, 4)
BATCH_STEPS = STEPS[0], STEPS[0], STEPS[1]


def drawn(arithmetic, kind, shape, rng, activation=None):
    """Numbers whose products are finite."""
    if activation:
        x = activations(arithmetic, activation, shape, rng)
    else:
        x = numbers(arithmetic, kind, shape, rng)
    return np.clip(x, -8, 8) if x.dtype == np.float32 else x


def columns(values):
    """[features, batch] of [samples, lanes, features]."""
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)


def cut(sample, together, padding=None):
    """Words [groups][lanes][together] of ``sample`` [groups, lanes, numbers]; the last one is
    shorter, or has ``padding``."""
    words = []
    for first in range(0, sample.shape[-1], together):
        word = sample[..., first : first + together]
        if padding is not None:
            behind = [(0, 0)] * 2 + [(0, together - word.shape[-1])]
            word = np.pad(word, behind, constant_values=padding)
        words.append(word)
    return words


class Batches:
    """Batches through a ``Layer`` by the twin, as words of its ports."""

    def __init__(self, case, seed):
        learner, shape, self.options = CASES[case]
        self.config, self.layer = LayerConfig(batch=16, **learner), BlockShape(**shape)
        self.unit = Layer(self.config, self.layer, **self.options)
        self.rng, self.ports = np.random.default_rng(seed), port_shapes(self.unit)
        self.parameter = Parameter(self.config, self.layer, seed)
        self.network = Network(self.config, [self.layer])

    def word(self, port, value):
        bits, care = packed(self.ports[port], value)
        return f"{bits:x}", f"{care:x}"

    def batch(self, samples, step):
        config, layer, options = self.config, self.layer, self.options
        arithmetic, groups = config.arithmetic, len(options["weight_sources"])
        before = options.get("input_activation")
        x = drawn(
            arithmetic,
            "activation",
            (samples, groups, config.lanes, layer.inputs),
            self.rng,
            before,
        )
        delta = drawn(
            arithmetic,
            "gradient",
            (samples, options["backward_groups"], config.lanes, layer.outputs),
            self.rng,
        )
        y, clipped = self._forward(x)
        dx, gradients, backward_clipped = self._backward(x, delta, before)
        update_clipped = self.parameter.update(step, gradients)
        return dict(
            inputs=self._inputs(x),
            o=[
                self.word("o", dict(valid=1, index=o, value=word))
                for sample in y
                for o, word in enumerate(cut(sample, layer.output_word))
            ],
            delta=[
                [self.word("delta__payload", word)[0] for word in cut(each, layer.output_word, 0)]
                for each in delta
            ],
            dx=[] if dx is None else self._dx(dx),
            step=given_word(config, step),
            saturations=[update_clipped, clipped, backward_clipped],
            stored=self.parameter.stored(),
        )

    def _forward(self, x):
        """``(y [samples, groups, lanes, outputs], saturations)``."""
        y, saturations = [], 0
        for group, bank in enumerate(self.options["weight_sources"]):
            parameters = [self.parameter.values[bank]]
            results, clipped = self.network.forward(parameters, columns(x[:, group]))
            y.append(results[-1].T.reshape(len(x), self.config.lanes, -1))
            saturations += clipped
        return np.stack(y, axis=1), saturations

    def _backward(self, x, delta, before):
        """``(dx [samples, backward_groups, lanes, inputs] or None, gradients, saturations)``."""
        online = [self.parameter.values["online"]]
        gradients = self.network.backward(online, [columns(x[:, 0])], columns(delta[:, 0]))
        if before is None:
            return None, gradients.gradients[0], 0
        dx, saturations = [], 0
        for group in range(self.options["backward_groups"]):
            inputs = columns(x[:, group])
            result = self.network.backward(
                online, [inputs], columns(delta[:, group]), trained=False, input_gradient=True
            )
            each = derivative(self.config.arithmetic, before, result.dx, inputs)
            dx.append(each.T.reshape(len(x), self.config.lanes, -1))
            saturations += result.saturations
        return np.stack(dx, axis=1), gradients.gradients[0], saturations

    def _inputs(self, x):
        """Words of the source, sample by sample."""
        inputs, groups = self.layer.inputs, len(self.options["weight_sources"])
        if not self.options.get("feed"):
            return [
                [
                    self.word("chain", dict(valid=1, index=i, value=word))[0]
                    for i, word in enumerate(cut(sample, self.layer.input_word, 0))
                ]
                for sample in x
            ]
        return [
            [
                self.word(
                    "feed__payload",
                    dict(
                        last=group == groups - 1 and i == inputs - 1,
                        numbers=[dict(index=i, mask=1 << group, value=sample[group, :, i])],
                    ),
                )[0]
                for group in range(groups)
                for i in range(inputs)
            ]
            for sample in x
        ]

    def _dx(self, dx):
        """The padding behind the last input says nothing, be it a whole word."""
        layer = self.layer
        return [
            self.word(
                "dx", dict(valid=1, index=i) | ({"value": words[i]} if i < len(words) else {})
            )
            for sample in dx
            for words in [cut(sample, layer.input_word)]
            for i in range(layer.input_words)
        ]


@pytest.mark.parametrize("samples", [SAMPLES, later(MORE_SAMPLES)], ids=["few", "more"])
@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=pytest.mark.long) if each == "float" else each for each in CASES],
)
def test_batches(simulate, tmp_path, case, samples):
    """Load, then batches of forward, backward and update; everything is stored after each."""
    batches = Batches(case, 1)
    config, layer = batches.config, batches.layer
    vectors = dict(images=[batches.parameter.image(kind) for kind in PARAMETER_SETS])
    vectors["batches"] = [
        batches.batch(count, step) for count, step in zip(samples, BATCH_STEPS, strict=True)
    ]
    saturations = np.sum([batch["saturations"] for batch in vectors["batches"]], axis=0)
    dx = batches.options.get("input_activation") is not None
    assert not config.arithmetic.saturates or (saturations[: 2 + dx] > 0).all(), saturations
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    simulate(
        batches.unit,
        "learner.network.layer_bench",
        vectors=str(file),
        source="feed" if batches.options.get("feed") else "chain",
        outputs=layer.output_words,
        clocks=20 * (layer.blocks + layer.inputs * 3 + layer.outputs + 50),
        estimate=dict(
            update=update_clocks(config, layer),
            load=layer.image_words + 1,
            store=layer.image_words + READ_CLOCKS + 2,
        ),
    )

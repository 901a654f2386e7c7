"""All parameters of one layer: their images, and what the twin makes of them."""

import numpy as np
from nn.optimizer_cases import given
from packed import packed

from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.learner.records import HYPERPARAMETERS
from hw.nn.optimizers import optimizer_of
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.parameters.gradient_norm import square_total, squares
from sim.model.nn.optimizer import coefficients, update

__all__ = ["STEPS", "Parameter", "given_word", "joined"]


def given_word(config, step):
    """What the optimizers of the second network are given, in hexadecimal."""
    layout = optimizer_of(config.arithmetic).COEFFICIENTS
    return f"{packed(layout, given(config, coefficients(step, 1)))[0]:x}"


def bits(values):
    """Numbers as they stand in an image."""
    if values.dtype == np.float32:
        return values.view(np.uint32).astype(np.int64)
    return np.asarray(values, np.int64) & 0xFFFFFFFF


def joined(numbers, width):
    """Rows of numbers as words, the first lowest, in hexadecimal."""
    mask = (1 << width) - 1
    return [
        f"{sum((int(number) & mask) << width * k for k, number in enumerate(row)):x}"
        for row in numbers
    ]


class Parameter:
    """All of one layer, as ``(weights, biases)`` a kind, and its gradients."""

    def __init__(self, config, layer, seed):
        self.config, self.layer = config, layer
        self.rng = np.random.default_rng(seed)
        self.sets = stored_sets(config)
        self.values = {
            kind: self._kept(*map(self._numbers, (kind, kind), self._shapes()))
            for kind in PARAMETER_SETS
        }

    def _shapes(self):
        return (self.layer.outputs, self.layer.inputs), (self.layer.outputs,)

    def _kept(self, weights, biases):
        """Both, with weights of 0 for free outputs."""
        weights = weights.copy()
        weights[self.layer.outputs - self.layer.free :] = 0
        return weights, biases

    def _floats(self, shape):
        rng = self.rng
        values = rng.standard_normal(shape) * np.exp2(rng.integers(-30, 5, shape))
        values = np.where(rng.random(shape) < 0.1, 0, values)
        values = np.where(rng.random(shape) < 0.02, 1e-40, values)  # a subnormal
        return values.astype(np.float32)

    def _numbers(self, kind, shape):
        if kind in ("online", "target") and self.config.arithmetic.saturates:
            limits = self.config.arithmetic.weight
            return self.rng.integers(limits.low, limits.high + 1, shape)
        values = self._floats(shape)
        return np.abs(values) if kind == "second" else values

    def _sum_widths(self):
        """Of gradients of weights and biases."""
        sums = self.config.arithmetic.gradient_sum_shape(self.config.batch)
        return sums.width, self.config.bias_sum_shape.width

    def gradient(self):
        if not self.config.arithmetic.saturates:
            return tuple(map(self._floats, self._shapes()))
        widths = self._sum_widths()
        return tuple(
            self.rng.integers(-(1 << (width - 1)), 1 << (width - 1), shape)
            >> self.rng.integers(0, width, shape)
            for width, shape in zip(widths, self._shapes(), strict=True)
        )

    def image(self, kind, noise=None):
        """Words of ``image_word`` numbers, without the section's padding; ``noise``: a generator of
        what is in the padding of blocks and biases, else zeros."""
        shape = self.layer
        numbers = bits(shape.pack(*self.values[kind]))
        if noise is not None:
            ones = self._kept(*(np.ones(each, np.uint8) for each in self._shapes()))
            drawn = noise.integers(1, 1 << 32, len(numbers))
            numbers = np.where(shape.pack(*ones), numbers, drawn)
        numbers = numbers[: shape.image_words * shape.image_word]
        return joined(numbers.reshape(-1, shape.image_word), 32)

    def stored(self):
        words = self.image("online")
        return [
            self.image(kind) if kind in self.sets else ["0"] * len(words) for kind in PARAMETER_SETS
        ]

    def memory(self, weights, biases, *widths):
        """Words of all blocks, and of all output words, of numbers of ``widths``."""
        shape = self.layer
        numbers = shape.pack(weights, biases)
        if weights.dtype == np.float32:
            numbers = bits(numbers)
        count = shape.blocks * shape.weight_parts * shape.part
        blocks = numbers[:count].reshape(shape.blocks, -1)[:, : shape.multipliers]
        words = numbers[count : shape.parts * shape.part].reshape(shape.output_words, -1)
        parts = blocks, words[:, : shape.output_word]
        return [joined(part, width) for part, width in zip(parts, widths, strict=True)]

    def reads(self, gradient):
        """port -> its words."""
        width = self.config.arithmetic.shape("weight").width
        online, target = (self.memory(*self.values[k], width, width) for k in ("online", "target"))
        sums = self.memory(*gradient, *self._sum_widths())
        return dict(
            online=online[0],
            target=target[0],
            bias_online=online[1],
            bias_target=target[1],
            gradient=sums[0],
            bias_gradient=sums[1],
        )

    def squares(self, step, gradient):
        """What a measuring walk adds up, by the twin: an integer, or the bits of a binary32."""
        config, (weights, biases) = self.config, self._kept(*gradient)
        pair = weights, twin_of(config.arithmetic).times_one(biases)
        if config.arithmetic.saturates:
            return square_total(config, np.concatenate([np.ravel(part) for part in pair]))
        scale = np.float32(step["scale"])
        return int(squares(config, [self.layer], [pair], scale).view(np.uint32))

    def update(self, step, gradient):
        """By the twin; saturations."""
        config, values, gradient = self.config, coefficients(step, 1), self._kept(*gradient)
        saturations = 0
        news = []
        for part in range(2):
            g = gradient[part]
            if part:
                g = twin_of(config.arithmetic).times_one(g)
            old = {kind: self.values[kind][part] for kind in PARAMETER_SETS}
            new = update(config, values, g, *(old[kind] for kind in PARAMETER_SETS))
            saturations += new.saturations
            news.append(new)
        for kind in self.sets:
            name = "weight" if kind == "online" else kind
            self.values[kind] = self._kept(*(getattr(new, name) for new in news))
        return saturations


def record(**fields):
    step = np.zeros((), HYPERPARAMETERS.dtype)
    for name, value in fields.items():
        step[name] = value
    return step


STEPS = [
    record(
        scale=1 / 64,
        first_decay=0.9,
        first_gain=0.1,
        second_decay=0.999,
        second_gain=0.001,
        rate=(0, 0.01),
        floor=(0, 1e-3),
        blend=(0, 0.005),
        keep=(0, 0.995),
    ),
    # A hard update; large steps; and no floor, so that a padding of 0 divides by 0.
    record(
        scale=1,
        first_decay=0.5,
        first_gain=1,
        second_decay=0.9,
        second_gain=0.1,
        rate=(0, 0.5),
        floor=(0, 0),
        blend=(0, 1),
        keep=(0, 0),
    ),
]

"""All parameters of one layer of blocks: their images, and what its memories show."""

import numpy as np
from learner.parameters.parameter import Parameter, bits, joined

__all__ = ["BlockParameter"]


class BlockParameter(Parameter):
    """As of a chain, of a BlockShape."""

    def image(self, kind):
        """Words of ``image_word`` numbers, without the section's padding."""
        shape = self.layer
        numbers = bits(shape.pack(*self.values[kind]))[: shape.image_words * shape.image_word]
        return joined(numbers.reshape(-1, shape.image_word), 32)

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

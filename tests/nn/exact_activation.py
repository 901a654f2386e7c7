"""Activations in real numbers (float64), how far those of fixed point may be from them, and torch's
modules of them.

``y`` is what enters, ``x`` what leaves; ``half`` is half a unit of the result's format. What is
``Near`` has a value and an error, as in ``nn.exact_optimizer``.
"""

import numpy as np

__all__ = ["EXACT"]

_TANH_TABLE = 2.0**-20  # relative error of tanh(x) / x, and |tanh| <= 1


class Linear:
    """Clocks of ``apply`` and ``derive`` in float32, fixed and dual."""

    latency = derivative_latency = (0, 0, 0)
    #: Kind of arithmetic -> bits of binary32 or raw numbers: (y, x), and (dx, x, product).
    applied = {"float32": ([0x8000_0000, 0x7FC0_0000], [0x8000_0000, 0x7FC0_0000])}
    derived_from = {"float32": ([0xC000_0000], [0], [0xC000_0000])}
    #: Whether the slope jumps where y is 0.
    bent = False
    #: Largest magnitude of a result, or None.
    limit = None

    def function(self, y):
        return y

    def slope(self, y):
        return np.ones_like(y)

    def near(self, y, half):
        return y

    def derived(self, dx, y, x, half):
        """Near of ``dx`` times the slope."""
        return dx

    def module(self, nn):
        return nn.Identity()

    def gain(self, init):
        """Of the weights before it, at first."""
        return init.calculate_gain("linear")


class Relu(Linear):
    # A NaN must not vanish.
    applied = {
        "float32": (
            [0x8000_0000, 0xBF80_0000, 0x3F80_0000, 0x7FC0_0000, 0xFF80_0000],
            [0, 0, 0x3F80_0000, 0x7FC0_0000, 0],
        ),
        "fixed": ([-1, 0, 1], [0, 0, 1]),
    }
    # A subnormal counts as a zero, which is what the next addition makes of it.
    derived_from = {
        "float32": (
            [0xC000_0000] * 5,
            [0, 0x007F_FFFF, 0x0080_0000, 0xBF80_0000, 0x7FC0_0000],
            [0, 0, 0xC000_0000, 0, 0],
        ),
        "fixed": ([-5, -5, -5], [-1, 0, 1], [0, 0, -5]),
    }
    latency = derivative_latency = (1, 1, 1)
    bent = True

    def function(self, y):
        return np.maximum(y, 0)

    def slope(self, y):
        return np.where(y > 0, 1.0, 0.0)

    def near(self, y, half):
        return y._replace(value=np.maximum(y.value, 0))

    def derived(self, dx, y, x, half):
        unsure, on = np.abs(y.value) <= y.error, y.value > 0
        error = np.where(unsure, np.abs(dx.value) + dx.error, dx.error)
        return dx._replace(value=np.where(on, dx.value, 0), error=np.where(on | unsure, error, 0))

    def module(self, nn):
        return nn.ReLU()

    def gain(self, init):
        return init.calculate_gain("relu")


class LeakyRelu(Linear):
    # -1/64; what is below the smallest normal is zero, but the tie next to it rounds up to it.
    applied = {
        "float32": (
            [0x8000_0000, 0xBF80_0000, 0x3F80_0000, 0x7FC0_0000, 0xFF80_0000]
            + [0x8080_0000, 0x837F_FFFF, 0x837F_FFFE, 0x8380_0000],
            [0x8000_0000, 0xBC80_0000, 0x3F80_0000, 0x7FC0_0000, 0xFF80_0000]
            + [0x8000_0000, 0x8080_0000, 0x8000_0000, 0x8080_0000],
        ),
        "fixed": ([5, 0, -1, -32, -33, -64, -96, -97], [5, 0, 0, 0, -1, -1, -1, -2]),
    }
    derived_from = {
        "float32": (
            [0xC000_0000] * 5,
            [0, 0x007F_FFFF, 0x0080_0000, 0xBF80_0000, 0x7FC0_0000],
            [0xBD00_0000, 0xBD00_0000, 0xC000_0000, 0xBD00_0000, 0xBD00_0000],
        ),
        "fixed": ([96, 95, 32, 31, -32, -33, 9], [0, -1, 0, 0, 0, 0, 1], [2, 1, 1, 0, 0, -1, 9]),
    }
    latency = derivative_latency = (1, 1, 1)
    bent = True
    leak = 2.0**-6

    def function(self, y):
        return np.where(y > 0, y, self.leak * y)

    def slope(self, y):
        return np.where(y > 0, 1.0, self.leak)

    def near(self, y, half):
        return y._replace(value=self.function(y.value), error=y.error + half)

    def derived(self, dx, y, x, half):
        unsure, slope = np.abs(y.value) <= y.error, self.slope(y.value)
        either = (1 - self.leak) * np.abs(dx.value) + dx.error
        error = np.where(unsure, either, slope * dx.error) + half
        return dx._replace(value=slope * dx.value, error=error)

    def module(self, nn):
        return nn.LeakyReLU(self.leak)

    def gain(self, init):
        return init.calculate_gain("leaky_relu", self.leak)


class Tanh(Linear):
    # SQ(8, 10) and SQ(4, 14): tanh(1) is 780 / 1024.
    applied = {
        "float32": ([0x8000_0000, 0xFF80_0000], [0x8000_0000, 0xBF80_0000]),
        "fixed": ([0, 1024, 1 << 17], [0, 780, 1024]),
    }
    derived_from = {
        "float32": ([0xC000_0000] * 2, [0, 0x3F80_0000], [0xC000_0000, 0x8000_0000]),
        "fixed": ([16384] * 3, [0, -512, 1024], [16384, 12288, 0]),
    }
    latency, derivative_latency = (13, 9, 11), (16, 6, 6)
    limit = 1

    def function(self, y):
        return np.tanh(y)

    def slope(self, y):
        return 1 - np.tanh(y) ** 2

    def near(self, y, half):
        return y._replace(value=np.tanh(y.value), error=y.error + half + _TANH_TABLE)

    def derived(self, dx, y, x, half):
        slope = 1 - x.value**2
        e_slope = 2 * np.abs(x.value) * x.error + x.error**2
        error = np.abs(dx.value) * e_slope + (np.abs(slope) + e_slope) * dx.error
        return dx._replace(value=dx.value * slope, error=error + half)

    def module(self, nn):
        return nn.Tanh()

    def gain(self, init):
        return init.calculate_gain("tanh")


#: Of all ``ACTIVATIONS`` of ``hw.nn.activation``.
EXACT = {"linear": Linear(), "relu": Relu(), "leaky_relu": LeakyRelu(), "tanh": Tanh()}

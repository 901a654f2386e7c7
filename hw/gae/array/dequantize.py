"""From codes to words: HEPPO's reward and value loaders (ReL and VaL, III-C).

Interval 1, latency ``loader_latency(config)``: 0 where the stack holds words.
"""

from amaranth import *

from hw.gae.array.rounded_mac import rounded_mac

__all__ = ["rounded_mac_clocks", "dequantize", "dequantize_latency"]


def rounded_mac_clocks(config):
    """Clocks of a ``rounded_mac`` outside the PE's loop: ``config.lookahead``, but at least 2."""
    return max(2, config.lookahead)


def dequantize_latency(config):
    """Clocks from a code to its word."""
    return 0 if config.code_width == 32 else rounded_mac_clocks(config)


def dequantize(m, config, code, scale, mean, *, name):
    """Returns ``(word, overflow)``: mean + floor((scale * code + 2**15) / 2**16), and whether this
    sum was too large for a word and wrapped. If the stack holds words: the code itself, and 0.

    Parameters
    ----------
    code : Value
        Signed, ``config.code_width`` bits.
    scale, mean : Value
        In the formats ``config.scale`` and ``config.word``, steady.
    """
    if not dequantize_latency(config):
        return code, Const(0)
    return rounded_mac(
        m,
        mean,
        scale,
        code,
        clocks=rounded_mac_clocks(config),
        shape=config.word.shape,
        fraction=config.scale.fraction,
        name=name,
    )

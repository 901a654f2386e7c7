"""From codes to words: HEPPO's reward and value loaders (ReL and VaL, III-C).

Interval 1, latency ``loader_latency(config)``: 0 where the stack holds words.
"""

from amaranth import *

from hw.gae.array.rounded_mac import blend

__all__ = ["blend_clocks", "load", "loader_latency"]


def blend_clocks(config):
    """Of the blends that are in no loop: never slower than the loop."""
    return max(2, config.lookahead)


def loader_latency(config):
    """Clocks from a code to its word."""
    return 0 if config.code_width == 32 else blend_clocks(config)


def load(m, config, code, scale, mean, *, name):
    """``(word, overflow)`` of mean + floor((scale * code + half) / 2**16), or of the code itself.

    Parameters
    ----------
    code : Value
        Signed, ``config.code_width`` bits.
    scale, mean : Value
        Of ``config.scale`` and ``config.word``, steady.
    """
    if not loader_latency(config):
        return code, Const(0)
    return blend(
        m,
        mean,
        scale,
        code,
        clocks=blend_clocks(config),
        shape=config.word.shape,
        fraction=config.scale.fraction,
        name=name,
    )

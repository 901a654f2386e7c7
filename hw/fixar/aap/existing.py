"""Which samples of a core exist: a batch need not fill the last word of all cores."""

from amaranth import *

__all__ = ["existing"]


def existing(m, index, pair, batch, config, *, name):
    """``keep`` of word ``index`` of a stream, two clocks later: which of its samples there are.

    Sample j of a core is that of place ``j * cores`` in ``batch``, which begins with its first.
    """
    beyond = []
    for half in range(2):
        sample = Mux(pair, Cat(C(half, 1), index), index)
        # A product with a small constant, without a DSP block.
        bits = [bit for bit in range(config.cores.bit_length()) if config.cores >> bit & 1]
        place = Signal(range(4 * (config.batch + 8)), name=f"{name}_{half}", reset_less=True)
        m.d.sync += place.eq(sum(sample << bit for bit in bits))
        beyond.append(place >= batch)
    keep = Signal(2, name=name, reset_less=True)
    m.d.sync += keep.eq(Cat(~beyond[0], ~beyond[1] & pair))
    return keep

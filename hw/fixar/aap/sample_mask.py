"""Which samples of a core exist, since a batch need not fill the last word of all cores."""

from amaranth import *

__all__ = ["sample_mask"]


def sample_mask(m, index, pair, batch, config, *, name):
    """Two bits, two clocks later: which of the two samples of word ``index`` exist.

    Sample j of a core stands at place ``j * cores`` of the batch, counted from the core's first
    sample; it exists if this place is below ``batch``. ``pair``: a word has two samples, else one.
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

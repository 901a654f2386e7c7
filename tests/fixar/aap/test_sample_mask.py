"""hw.fixar.aap.sample_mask: samples of a batch, and padding behind them, word by word."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from clocks import Clocks, run_together

from hw.fixar.aap.sample_mask import sample_mask
from hw.fixar.config import FixarConfig


class Existing(wiring.Component):
    def __init__(self, config):
        self.config = config
        most = range(config.batch + 8)
        super().__init__(
            {"index": In(most), "pair": In(1), "batch": In(range(config.batch + 1)), "keep": Out(2)}
        )

    def elaborate(self, platform):
        m = Module()
        keep = sample_mask(m, self.index, self.pair, self.batch, self.config, name="exists")
        m.d.comb += self.keep.eq(keep)
        return m


def test_every_word(simulate, tmp_path):
    """Survivor 12: also words whose places, all cores' samples before them, have a bit more than
    the batch."""
    sizes = (1, 8), (2, 31), (3, 7), (3, 31)
    run_together(simulate, tmp_path, {str(each): every_word(*each) for each in sizes})


def every_word(cores, largest):
    """A case of ``run_together``."""
    config = FixarConfig(observation=3, action=1, hidden=(4,), batch=largest, cores=cores, side=4)
    clocks = Clocks()
    for batch in {1, cores, largest - 1, largest}:
        for pair in (0, 1):
            # Words of the last tile, whose samples need not exist.
            for index in range(-(-largest // cores) + 4 if not pair else largest // cores // 2 + 4):
                samples = (2 * index, 2 * index + 1) if pair else (index,)
                keep = sum((s * cores < batch) << k for k, s in enumerate(samples))
                now = clocks.add(index=index, pair=pair, batch=batch)
                clocks.expect(now + 2, keep=keep)
    return clocks, Existing(config)

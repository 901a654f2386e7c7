"""The memories of all parameters: a word is ``side`` numbers of 32 bits.

``READ_LATENCY`` = 2 clocks from an address to its word.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.parameters.layouts import word_width
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_memory import stored_sets
from hw.stream.ram import Ram, memory_blocks, style_of

__all__ = ["READ_LATENCY", "WEIGHTS", "Memories"]

READ_LATENCY = 2

#: What is read and written later than the moments.
WEIGHTS = ("online", "target")


class Memories(wiring.Component):
    """One memory for each parameter set that the optimizer has; one port reads, the other writes.

    A word is never read in the clock in which it is written. After reset the contents are
    undefined.

    Parameters
    ----------
    config : FixarConfig
    ultra_ram : bool
        Whether deep memories may be made of UltraRAM.

    Members
    -------
    weights_enable, moments_enable : In(1)
        Without it the words, and those on their way, do not move.
    weights_address, moments_address : In(range(config.weight_words))
        Words to read: of online and target; of first and second.
    online, target, first, second : Out(32 * side)
        ``READ_LATENCY`` clocks with enable after their address; 0 where the optimizer has none.
    write : In({online, target, first, second})
        Which memories are written in this clock.
    write_weights_address, write_moments_address : In(range(config.weight_words))
        Their word: of online and target; of first and second.
    write_online, write_target, write_first, write_second : In(32 * side)
        The new word of each.
    """

    def __init__(self, config, ultra_ram=True):
        self.config, self.ultra_ram, self.sets = config, ultra_ram, stored_sets(config)
        address, word = In(range(config.weight_words)), word_width(config)
        super().__init__(
            {
                "weights_enable": In(1),
                "moments_enable": In(1),
                "weights_address": address,
                "moments_address": address,
                **dict.fromkeys(PARAMETER_SETS, Out(word)),
                "write": In(data.StructLayout(dict.fromkeys(PARAMETER_SETS, 1))),
                "write_weights_address": address,
                "write_moments_address": address,
                **{f"write_{name}": In(word) for name in PARAMETER_SETS},
            }
        )

    def style(self, name):
        """The memory style of the set ``name``: "distributed", "block" or "ultra". The online
        weights, which are read most, are never in UltraRAM."""
        return style_of(self.config.weight_words, self.ultra_ram and name != "online")

    @property
    def blocks(self):
        """``{style: memory blocks}``."""
        words, width = self.config.weight_words, word_width(self.config)
        blocks = {"ultra": 0, "block": 0, "distributed": 0}
        for name in self.sets:
            blocks[self.style(name)] += memory_blocks(width, words, self.style(name))
        return blocks

    def elaborate(self, platform):
        m = Module()
        for name in self.sets:
            group = "weights" if name in WEIGHTS else "moments"
            enable = getattr(self, f"{group}_enable")
            m.submodules[f"{name}_ram"] = ram = Ram(
                width=word_width(self.config),
                depth=self.config.weight_words,
                style=self.style(name),
            )
            # The second clock: a block has this register inside.
            word = Signal(word_width(self.config), name=f"{name}_word", reset_less=True)
            m.d.comb += [
                ram.read_enable.eq(enable),
                ram.read_address.eq(getattr(self, f"{group}_address")),
                ram.write_enable.eq(self.write[name]),
                ram.write_address.eq(getattr(self, f"write_{group}_address")),
                ram.write_data.eq(getattr(self, f"write_{name}")),
                getattr(self, name).eq(word),
            ]
            with m.If(enable):
                m.d.sync += word.eq(ram.read_data)
        return m

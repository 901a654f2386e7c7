"""The memories of all parameters: a word is ``side`` numbers of 32 bits.

``READ_LATENCY`` = 2 clocks from an address to its word.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.parameters.layouts import word_width
from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["READ_LATENCY", "WEIGHTS", "Memories"]

READ_LATENCY = 2

#: What is read and written later than the moments.
WEIGHTS = ("online", "target")


class Memories(wiring.Component):
    """One memory for each parameter set that the optimizer has; one port reads, the other writes.

    Weights and targets are banks of ``port_words`` words side by side, which are read together.

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
    online_words, target_words : Out(32 * side * port_words)
        At the same time all words that are side by side with those of ``online`` and ``target``.
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
                **{f"{name}_words": Out(word * config.port_words) for name in WEIGHTS},
                "write": In(data.StructLayout(dict.fromkeys(PARAMETER_SETS, 1))),
                "write_weights_address": address,
                "write_moments_address": address,
                **{f"write_{name}": In(word) for name in PARAMETER_SETS},
            }
        )

    def style(self, name):
        """The memory style of the set ``name``: "distributed", "block" or "ultra". The online
        weights, which are read most, are never in UltraRAM."""
        return style_of(self.shape(name)[1], self.ultra_ram and name != "online")

    def shape(self, name):
        """``(banks, words of each)`` of the set ``name``."""
        banks = self.config.port_words if name in WEIGHTS else 1
        return banks, self.config.weight_words // banks

    def elaborate(self, platform):
        m = Module()
        width = word_width(self.config)
        for name in self.sets:
            group = "weights" if name in WEIGHTS else "moments"
            enable, address = (getattr(self, f"{group}_{part}") for part in ("enable", "address"))
            words = self._banks(m, name, enable, address, getattr(self, f"write_{group}_address"))
            if name in WEIGHTS:
                m.d.comb += getattr(self, f"{name}_words").eq(words)
            if len(words) > width:
                place = address[: (len(words) // width - 1).bit_length()]
                place = delay(m, place, READ_LATENCY, name=f"{name}_place", enable=enable)
                words = words.word_select(place, width)
            m.d.comb += getattr(self, name).eq(words)
        return m

    def _banks(self, m, name, enable, address, write_address):
        """The words of all banks of the set ``name``."""
        (banks, depth), words = self.shape(name), []
        bits = (banks - 1).bit_length()
        for bank in range(banks):
            ram = Ram(width=word_width(self.config), depth=depth, style=self.style(name))
            m.submodules[f"{name}_{bank}_ram"] = ram
            # The second clock: a block has this register inside.
            word = Signal(ram.read_data.shape(), name=f"{name}_word_{bank}", reset_less=True)
            m.d.comb += [
                ram.read_enable.eq(enable),
                ram.read_address.eq(address[bits:]),
                ram.write_enable.eq(self.write[name] & (write_address[:bits] == bank)),
                ram.write_address.eq(write_address[bits:]),
                ram.write_data.eq(getattr(self, f"write_{name}")),
            ]
            with m.If(enable):
                m.d.sync += word.eq(ram.read_data)
            words.append(word)
        return Cat(words)

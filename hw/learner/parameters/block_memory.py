"""The memories of a layer's blocks, or of its biases: online weights, the target's, gradients.

Interval 1. ``READ_LATENCY`` = 2 clocks from an address to its word, and ``gradient_latency`` of the
shape to gradients.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.layer_clocks import READ_LATENCY
from hw.learner.block.ports import gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["BlockMemory"]


class BlockMemory(wiring.Component):
    """Memories of online and target weights and of gradients, each of one port that reads and one
    that writes. While ``scanning``, a walk reads, part by part; otherwise the passes do.

    A memory block holds the neighbours of a row that are in one image word: so a part is written by
    the write enables of its blocks, whichever part it is. If ``dual``, the online weights lie in
    other blocks a second time, for the neighbours of a column.

    Parameters
    ----------
    shape : BlockMemoryShape

    Members
    -------
    scanning : In(1)
        A walk reads.
    forward_address, backward_address, gradient_address : In(range(depth))
        The word of online and target that forward reads, row k another ``k * skew`` clocks later;
        the word of ``weight``, column k another ``k * skew`` clocks later; the word of gradients.
    weights_scan, gradient_scan : In({address, shown})
        What a walk reads, without skew: the word of online and target, and of gradients. ``shown``,
        a bit for each part: the other parts are read as zeros. A memory of gradients that is read
        in one clock shows all.
    online, target : Out [rows][columns]
        The word at ``forward_address``, READ_LATENCY clocks later.
    weight : Out [rows][columns]
        The online word at ``backward_address``, READ_LATENCY clocks later; 0 if not ``dual``.
    gradient : Out [rows][columns]
        The word at ``gradient_address``, ``gradient_latency`` clocks later.
    gradient_write : In(gradient_write_layout)
        Backward writes a word of gradients.
    write : In({address, enable, online, target})
        A walk writes a part. ``enable`` has a bit for each image word of a word, apart for online
        and for target.
    """

    def __init__(self, shape):
        self.shape = shape
        address, bits = range(shape.depth), unsigned(shape.image_words)
        scan = In(data.StructLayout({"address": address, "shown": shape.parts}))
        weights = vector_layout(shape.weight, shape.rows, shape.columns)
        part = data.ArrayLayout(shape.weight, shape.part)
        write = {
            "address": address,
            "enable": data.StructLayout({"online": bits, "target": bits}),
            "online": part,
            "target": part,
        }
        super().__init__(
            {
                "scanning": In(1),
                "forward_address": In(address),
                "backward_address": In(address),
                "gradient_address": In(address),
                "weights_scan": scan,
                "gradient_scan": scan,
                "online": Out(weights),
                "target": Out(weights),
                "weight": Out(weights),
                "gradient": Out(vector_layout(shape.sums, shape.rows, shape.columns)),
                "gradient_write": In(
                    gradient_write_layout(shape.sums, shape.depth, shape.rows, shape.columns)
                ),
                "write": In(data.StructLayout(write)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = self.shape
        hidden = self._hidden(m, self.weights_scan, "weights")
        rows = []
        for k, passed in enumerate(self._skewed(m, self.forward_address, shape.rows, "forward")):
            rows.append(Signal(range(shape.depth), name=f"row_{k}"))
            m.d.comb += rows[k].eq(Mux(self.scanning, self.weights_scan.address, passed))
        addresses = [rows[number // shape.columns] for number in range(shape.numbers)]
        for name in ("online", "target"):
            self._weights(m, name, name, shape.weight_rams, addresses, hidden)
        if shape.dual:
            columns = self._skewed(m, self.backward_address, shape.columns, "backward")
            self._weights(m, "weight", "online", shape.dual_rams, columns * shape.rows)
        self._gradients(m)
        return m

    def _skewed(self, m, address, count, name):
        """``address`` for each of ``count`` rows or columns."""
        addresses = [address]
        for k in range(1, count):
            addresses.append(delay(m, addresses[-1], self.shape.skew, name=f"{name}_{k}"))
        return addresses

    def _hidden(self, m, scan, name):
        """A bit for each part, a clock after the address: it is read as zeros."""
        hidden = self.scanning.replicate(self.shape.parts) & ~scan.shown
        return delay(m, hidden, 1, name=f"{name}_hidden")

    def _weights(self, m, port, name, groups, addresses, hidden=None):
        """The memory of ``port``, written as the set ``name``."""
        shape, write = self.shape, self.write
        words = [None] * shape.numbers
        for group in groups:
            ram = self._ram(m, port, group, shape.weight, addresses[group[0]])
            m.d.comb += [
                ram.write_enable.eq(write.enable[name][group[0] // shape.image_word]),
                ram.write_address.eq(write.address),
                ram.write_data.eq(Cat(write[name][n % shape.part] for n in group)),
            ]
            hide = 0 if hidden is None else hidden[group[0] // shape.part]
            word = self._register(m, ram.read_data, hide, f"{port}_{group[0]}_word")
            for k, number in enumerate(group):
                words[number] = word.word_select(k, shape.weight.width)
        m.d.comb += Value.cast(getattr(self, port)).eq(Cat(words))

    def _gradients(self, m):
        shape, write = self.shape, self.gradient_write
        width, values = shape.sums.width, Value.cast(write.value)
        address = Signal(range(shape.depth))
        m.d.comb += address.eq(
            Mux(self.scanning, self.gradient_scan.address, self.gradient_address)
        )
        hidden, words = self._hidden(m, self.gradient_scan, "gradient"), []
        for part, group in enumerate(shape.gradient_rams):
            ram = self._ram(m, "gradient", group, shape.sums, address)
            m.d.comb += [
                ram.write_enable.eq(write.enable),
                ram.write_address.eq(write.address),
                ram.write_data.eq(values[group.start * width : group.stop * width]),
            ]
            word = ram.read_data
            if shape.gradient_latency == READ_LATENCY:
                word = self._register(m, word, hidden[part], f"gradient_{part}_word")
            words.append(word)
        m.d.comb += Value.cast(self.gradient).eq(Cat(words))

    def _ram(self, m, name, group, number, address):
        depth = self.shape.depth
        ram = Ram(width=len(group) * number.width, depth=depth, style=style_of(depth))
        m.submodules[f"{name}_{group[0]}"] = ram
        m.d.comb += ram.read_address.eq(address)
        return ram

    def _register(self, m, read, hide, name):
        """The second clock of READ_LATENCY: a block RAM has this register, with its reset,
        inside."""
        register = Signal(len(read), name=name, reset_less=True)
        m.d.sync += register.eq(read)
        with m.If(hide):
            m.d.sync += register.eq(0)
        return register

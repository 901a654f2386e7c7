"""The activations that enter a layer: written element by element, read word by word, twice.

Forward reads a sample as it arrives. Backward reads it again when its errors have come, which frees
the sample's slot. Observations for ACT have no errors, so forward frees their slots. One element a
clock comes in from the layer before, one to four of an experience; one word a clock leaves on
either side.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.nn.layouts import element_layout, feed_layout, vector_layout
from hw.stream.queue import Queue
from hw.stream.ram import Ram, style_of

__all__ = ["ActivationBuffer"]


class ActivationBuffer(wiring.Component):
    """Keeps the activations of samples. Forward reads every word once; backward reads those of the
    first ``backward_groups`` groups once more. What is called a sample here is one of each lane,
    and has ``groups`` groups: the inputs of forward passes that go side by side, each with its own
    weights (``Layer.weight_sources``).

    Samples lie in ``slots`` slots, which are used in turn. A slot is taken when a source begins its
    sample, so arriving elements never wait (``docs/flow_control.md``); it is free again when
    backward fetches its last word. Forward may fetch a word in the clock after its last element has
    come; if there is a feed, only after the whole sample has come from its last source. Backward
    may begin in the clock after forward has fetched the whole sample.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    groups, backward_groups : int
        Forward passes of a sample; how many of them, counted from the first, have a backward pass.
    slots : int
        Samples held.
    feed : int
        How many elements of an experience come in a clock; 0 if none do.
    chain : sequence of int
        The groups whose elements come from the layer before, in its order; () for none.
    chain_count, chain_offset : int
        Number of that layer's outputs, and the input element that its output 0 becomes.

    Elements past the inputs read as zeros. There is a memory for each of ``max(vector, feed)``
    neighbouring elements, so that a word is read, and the feed written, in one clock.

    Attributes
    ----------
    FETCH_LATENCY, LATENCY : int
        FETCH_LATENCY: clocks from the fetch of a word until ``forward`` or ``backward`` offers it.
        LATENCY: clocks until then from the last element of the word on ``chain``, or of the sample
        on ``feed``. Where both come, one clock more from the later of them.

    Members
    -------
    feed : In(stream of feed_layout), chain : In(element_layout)
        ``last`` of the feed and the chain's last output end a sample. If both come, the feed waits.
    feed_begun, chain_begun : In(1), feed_room, chain_room : Out(1)
        For each source, ``begun``, a pulse: it begins a sample; ``room``: it may begin one.
    acting : In(1)
        Backward reads nothing, and a slot is free when forward fetches its last word. It changes
        only while every slot is free.
    forward : Out(stream of [groups][lanes][vector])
        Words leave ``interleave`` at a time, without a gap between them.
    backward : Out(stream of [backward_groups][lanes][vector])
        The same words of the groups that have a backward pass.
    """

    FETCH_LATENCY, LATENCY = 2, 3

    def __init__(
        self,
        config,
        layer,
        *,
        groups,
        backward_groups,
        slots,
        feed=0,
        chain=(),
        chain_count=1,
        chain_offset=0,
    ):
        self.config, self.layer, self.groups, self.backward_groups = (
            config,
            layer,
            groups,
            backward_groups,
        )
        self.slots, self.feed_count, self.chain_groups = slots, feed, tuple(chain)
        self.chain_count, self.chain_offset = chain_count, chain_offset
        self._banks, self._rows = self.banks_of(layer, feed)
        self._shift = (self._banks // layer.vector).bit_length() - 1  # bits of a row's word
        shape, lanes = config.arithmetic.shape("activation"), config.lanes
        self._value = vector_layout(shape, lanes)
        self._word = vector_layout(shape, lanes, layer.vector)
        super().__init__(
            {
                "feed": In(
                    stream.Signature(feed_layout(shape, layer.inputs, groups, lanes, max(1, feed)))
                ),
                "chain": In(
                    element_layout(shape, chain_count, max(1, len(self.chain_groups)), lanes)
                ),
                "feed_begun": In(1),
                "chain_begun": In(1),
                "feed_room": Out(1),
                "chain_room": Out(1),
                "acting": In(1),
                "forward": Out(stream.Signature(data.ArrayLayout(self._word, groups))),
                "backward": Out(stream.Signature(data.ArrayLayout(self._word, backward_groups))),
            }
        )

    @staticmethod
    def banks_of(layer, feed):
        """``(memories of a group's elements, rows that a sample takes in each of them)``."""
        banks = max(layer.vector, feed)
        return banks, -(-layer.words * layer.vector // banks)

    @staticmethod
    def ahead_of(interleave):
        """A word is fetched only while fewer words than this number wait for the chain."""
        return 2 * interleave + 2

    def elaborate(self, platform):
        m = Module()
        layer, words = self.layer, self.layer.words
        forward, backward = self._reader(m, "forward"), self._reader(m, "backward")
        self._write(m, forward, backward)

        # Words that forward may fetch: as they come, or whole samples once all sources are done.
        arrived = Signal(range(words + 1))
        feed_last, chain_last = Signal(), Signal()
        m.d.comb += [
            feed_last.eq(self.feed.valid & self.feed.ready & self.feed.p.last),
            chain_last.eq(self.chain.valid & (self.chain.index == self.chain_count - 1)),
        ]
        if self.feed_count and self.chain_groups:
            both = Signal()
            pending = []
            for name, last in (("feed", feed_last), ("chain", chain_last)):
                count = Signal(range(self.slots + 1), name=f"{name}_pending")
                m.d.sync += count.eq(count + last - both)
                pending.append(count != 0)
            m.d.comb += [both.eq(pending[0] & pending[1]), arrived.eq(Mux(both, words, 0))]
        elif self.feed_count:
            m.d.comb += arrived.eq(Mux(feed_last, words, 0))
        else:
            whole = -(-layer.inputs // layer.vector)
            ends = (self.chain.index & (layer.vector - 1)) == layer.vector - 1
            with m.If(chain_last):
                m.d.comb += arrived.eq(words - whole + 1)
            with m.Elif(self.chain.valid & ends):
                m.d.comb += arrived.eq(1)
        m.d.sync += forward.ready.eq(forward.ready + arrived - forward.fetch)
        again = Signal(range(words + 1))  # what forward has read, backward may
        m.d.comb += again.eq(Mux(forward.done & ~self.acting, words, 0))
        m.d.sync += backward.ready.eq(backward.ready + again - backward.fetch)
        with m.If(forward.done & self.acting):
            m.d.sync += backward.base.eq(self._behind(backward.base))

        freed = Signal()
        m.d.comb += freed.eq(Mux(self.acting, forward.done, backward.done))
        for begun, room, name in (
            (self.feed_begun, self.feed_room, "feed"),
            (self.chain_begun, self.chain_room, "chain"),
        ):
            used = Signal(range(self.slots + 1), name=f"{name}_used")
            m.d.sync += used.eq(used + begun - freed)
            m.d.comb += room.eq(used != self.slots)
        return m

    def _reader(self, m, name):
        """Fetches words in order into a queue, whose output is the stream ``name``."""
        layer, port = self.layer, getattr(self, name)
        ahead = layer.interleave if name == "forward" else 1
        most = self.ahead_of(ahead)
        # Two more may be on their way.
        queue = Queue(port.payload.shape(), most + 2)
        m.submodules[f"{name}_queue"] = queue
        reader = _Reader(self.slots, layer.words, self._rows, name)
        fetched = Signal(name=f"{name}_fetched")
        m.d.comb += [
            reader.fetch.eq((reader.ready != 0) & (queue.level < most)),
            reader.done.eq(reader.fetch & (reader.word == layer.words - 1)),
            reader.address.eq(reader.base + reader.word[self._shift :]),
            queue.i.valid.eq(fetched),
            port.payload.eq(queue.o.payload),
        ]
        m.d.sync += [fetched.eq(reader.fetch), reader.at.eq(reader.word)]
        with m.If(reader.fetch):
            m.d.sync += reader.word.eq(Mux(reader.done, 0, reader.word + 1))
        with m.If(reader.done):
            m.d.sync += reader.base.eq(self._behind(reader.base))

        # A group of words leaves once all of it is here.
        position = Signal(range(ahead), name=f"{name}_position")
        whole = (position != 0) | (queue.level >= ahead)
        m.d.comb += [
            port.valid.eq(queue.o.valid & whole),
            queue.o.ready.eq(port.ready & whole),
        ]
        with m.If(port.valid & port.ready):
            m.d.sync += position.eq(Mux(position == ahead - 1, 0, position + 1))

        # Padding: elements behind the last input.
        reader.data = Signal(port.payload.shape(), name=f"{name}_data")
        final, place = divmod(layer.inputs - 1, layer.vector)
        for index in range(layer.vector):
            inside = (reader.at < final) | ((reader.at == final) & (index <= place))
            for group in range(len(reader.data)):
                for lane in range(self.config.lanes):
                    element = queue.i.payload[group][lane][index]
                    m.d.comb += element.eq(Mux(inside, reader.data[group][lane][index], 0))
        return reader

    def _write(self, m, forward, backward):
        """Writes elements: one memory for each group and bank, and a second one if backward reads
        it too."""
        layer, lanes = self.layer, self.config.lanes
        depth = self.slots * self._rows
        bits = self._banks.bit_length() - 1
        feed_last = self.feed.valid & self.feed.ready & self.feed.p.last
        chain_last = self.chain.valid & (self.chain.index == self.chain_count - 1)
        feed_base, chain_base = self._base(m, "feed", feed_last), self._base(m, "chain", chain_last)
        element = Signal(range(layer.inputs), name="chain_element")
        m.d.comb += [
            element.eq(self.chain.index + self.chain_offset),
            self.feed.ready.eq(~self.chain.valid if self.chain_groups else 1),
        ]
        feeds = self.feed.valid & self.feed.ready
        for group in range(self.groups):
            sources = []  # whether an element comes, which one, its sample's base, its value
            if group in self.chain_groups:
                value = self.chain.value[self.chain_groups.index(group)]
                sources.append((self.chain.valid, element, chain_base, value))
            if self.feed_count:
                sources += [
                    (feeds & number.mask[group], number.index, feed_base, number.value)
                    for number in self.feed.p.numbers
                ]
            for bank in range(self._banks):
                name = f"{group}_{bank}"
                write, value = Signal(name=f"write_{name}"), Signal(self._value, name=f"v_{name}")
                address = Signal(range(depth), name=f"address_{name}")
                for k, (comes, index, base, number) in enumerate(sources):
                    here = comes & (index[:bits] == bank) if bits else comes
                    # Where one element comes in a clock, banks share what they are given.
                    chosen = Const(1) if k == 0 else here if self.feed_count > 1 else comes
                    with m.If(chosen):
                        m.d.comb += [address.eq(base + index[bits:]), value.eq(number)]
                    with m.If(here):
                        m.d.comb += write.eq(1)
                for reader in (forward, backward) if group < self.backward_groups else (forward,):
                    width = Shape.cast(self._value).width
                    ram = Ram(width=width, depth=depth, style=style_of(depth))
                    m.submodules[f"{reader.name}_{name}"] = ram
                    word = data.View(self._value, ram.read_data)
                    # Of several words in a row, the one that was asked for.
                    place, here = bank % layer.vector, bank // layer.vector
                    m.d.comb += [
                        ram.write_enable.eq(write),
                        ram.write_address.eq(address),
                        ram.write_data.eq(value),
                        ram.read_address.eq(reader.address),
                    ]
                    with m.If(reader.at[: self._shift] == here):
                        m.d.comb += [
                            reader.data[group][lane][place].eq(word[lane]) for lane in range(lanes)
                        ]

    def _base(self, m, name, last):
        """First address of the slot that a source fills."""
        base = Signal(range(self.slots * self._rows), name=f"{name}_base")
        with m.If(last):
            m.d.sync += base.eq(self._behind(base))
        return base

    def _behind(self, base):
        """First address of the slot after the one that begins at ``base``."""
        end = base == (self.slots - 1) * self._rows
        return Mux(end, 0, base + self._rows)


class _Reader:
    """Of one of the two readers: words that it may fetch, and where it stands."""

    def __init__(self, slots, words, rows, name):
        self.name = name
        self.ready = Signal(range(slots * words + 1), name=f"{name}_ready")
        self.word = Signal(range(words), name=f"{name}_word")
        self.at = Signal(range(words), name=f"{name}_at", reset_less=True)  # the word in ``data``
        self.base = Signal(range(slots * rows), name=f"{name}_base")
        self.address = Signal(range(slots * rows), name=f"{name}_address")
        self.fetch = Signal(name=f"{name}_fetch")
        self.done = Signal(name=f"{name}_done")  # the last word of a sample is fetched

"""The activations that enter a layer: written word by word, or number by number, and read twice.

Forward reads a sample as it arrives. Backward reads it again when its errors have come, which frees
the sample's slot. Observations for ACT have no errors, so forward frees their slots. One word a
clock comes in from the layer before, one to four numbers of an experience; one word a clock leaves
on either side.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import at_least, below
from hw.errors import UsageError
from hw.learner.block.ports import word_layout
from hw.learner.block.word_reader import WordReader, behind
from hw.nn.layouts import feed_layout, vector_layout
from hw.stream.ram import Ram, style_of

__all__ = ["ActivationBuffer"]


class ActivationBuffer(wiring.Component):
    """Keeps the activations of samples. Forward reads every word once; backward reads the first
    ``backward_groups`` groups once more. A sample here is one sample of each lane, and has
    ``groups`` groups: inputs of parallel forward passes, each with its own weights
    (``Forward.weight_sources``).

    Samples lie in ``slots`` slots, which are used in turn. A slot is taken when a source begins its
    sample, so what arrives never waits (``docs/flow_control.md``); it is free again when backward
    fetches its last word. Forward may fetch a word in the clock after it has come; with a feed,
    only after the whole sample has come from its last source. Backward may begin in the clock after
    forward has fetched the whole sample.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
        If both a feed and a chain come, the chain brings the ``joined`` inputs; otherwise one of
        them brings all inputs, and a chain needs ``joined`` to be 0. UsageError otherwise.
    groups, backward_groups : int
        Forward passes of a sample; how many, counted from the first, have a backward pass.
    slots : int
        Samples held.
    feed : int
        How many numbers of an experience come in a clock; 0 if none do. With a feed, ``input_word``
        must be a power of two; UsageError otherwise. Numbers that a group takes in the same clock
        are neighbours of the experience; UsageError if a joined one could come with one that is not
        joined, and both were for the same memory.
    chain : sequence of int
        The groups whose words come from the layer before, in its order; () for none.

    The padding of a word reads as zeros. Each group has a memory, or with a feed
    ``max(input_word, feed)`` memories for neighbouring numbers, so that a word is read, and a feed
    or a word written, in one clock.

    Attributes
    ----------
    FETCH_LATENCY, LATENCY : int
        FETCH_LATENCY: clocks from the fetch of a word until ``forward`` or ``backward`` offers it.
        LATENCY: clocks until then from the word on ``chain``, or the last number of the sample on
        ``feed``. Where both come, one clock more from the later one.
    chain_words : int
        Words of a sample that come on ``chain``.

    Members
    -------
    feed : In(stream of feed_layout), chain : In(word_layout [groups of chain][lanes][input_word])
        ``last`` of the feed and the chain's last word end a sample. If both come, the feed waits.
    chain_mask : In(groups of chain)
        Bit k: group ``chain[k]`` takes the words of ``chain``. Steady while a sample is here.
    feed_begun, chain_begun : In(1), feed_room, chain_room : Out(1)
        For each source, ``begun``, a pulse: it begins a sample; ``room``: it may begin one.
    acting : In(1)
        Backward reads nothing, and a slot is free when forward fetches its last word. It changes
        only while every slot is free.
    forward : Out(stream of [groups][lanes][input_word])
        Words leave in bursts of ``interleave``: once the first is valid, the others are valid when
        they are requested.
    backward : Out(stream of [backward_groups][lanes][input_word])
        The same words of the groups that have a backward pass.
    """

    FETCH_LATENCY, LATENCY = 1, 2

    def __init__(self, config, shape, *, groups, backward_groups, slots, feed=0, chain=()):
        if chain and bool(shape.joined) != bool(feed):
            rule = "above 0 with a feed and a chain" if feed else "0 without a feed"
            raise UsageError(f"joined must be {rule}, not {shape.joined!r}")
        if feed and shape.input_word & (shape.input_word - 1):
            raise UsageError(
                f"input_word must be a power of two with a feed, not {shape.input_word!r}"
            )
        own = shape.inputs - shape.joined
        if shape.joined and own % shape.input_word and own + 2 < feed <= shape.input_word:
            raise UsageError(
                f"feed must be at most {own + 2} with so few inputs before those that are joined, "
                f"not {feed!r}"
            )
        self.config, self.shape, self.slots = config, shape, slots
        self.groups, self.backward_groups = groups, backward_groups
        self.feed_count, self.chain_groups = feed, tuple(chain)
        self.chain_words = shape.joined_words if feed else -(-shape.inputs // shape.input_word)
        self._own = own
        self._numbers = shape.input_word if feed == 0 else 1  # of a memory
        self._banks, self._rows = self.banks_of(shape, feed)
        self._shift = (self._banks * self._numbers // shape.input_word).bit_length() - 1
        number, lanes = config.arithmetic.shape("activation"), config.lanes
        self._value = vector_layout(number, lanes, self._numbers)
        word = vector_layout(number, lanes, shape.input_word)
        chains = max(1, len(self.chain_groups))
        super().__init__(
            {
                "feed": In(
                    stream.Signature(feed_layout(number, shape.inputs, groups, lanes, max(1, feed)))
                ),
                "chain": In(word_layout(number, self.chain_words, chains, lanes, shape.input_word)),
                "feed_begun": In(1),
                "chain_begun": In(1),
                "chain_mask": In(chains, init=(1 << chains) - 1),
                "feed_room": Out(1),
                "chain_room": Out(1),
                "acting": In(1),
                "forward": Out(stream.Signature(data.ArrayLayout(word, groups))),
                "backward": Out(stream.Signature(data.ArrayLayout(word, backward_groups))),
            }
        )

    @staticmethod
    def banks_of(shape, feed):
        """``(memories of a group, rows of a sample in each memory)``."""
        if feed == 0:
            return 1, shape.input_words
        banks = max(shape.input_word, feed)
        return banks, -(-shape.input_words * shape.input_word // banks)

    def elaborate(self, platform):
        m = Module()
        words = self.shape.input_words
        m.submodules.forward = forward = self._reader(self.shape.interleave)
        m.submodules.backward = backward = self._reader(1)
        for port, reader in ((self.forward, forward), (self.backward, backward)):
            m.d.comb += [port.valid.eq(reader.valid), reader.ready.eq(port.ready)]
        feed_last, chain_last = Signal(), Signal()
        m.d.comb += [
            feed_last.eq(self.feed.valid & self.feed.ready & self.feed.p.last),
            chain_last.eq(self.chain.valid & (self.chain.index == self.chain_words - 1)),
            forward.arrived.eq(self._arrived(m, feed_last, chain_last)),
            # What forward has read, backward may.
            backward.arrived.eq(Mux(forward.done & ~self.acting, words, 0)),
            backward.skip.eq(forward.done & self.acting),
        ]
        self._memories(m, self._sources(m, feed_last, chain_last), forward, backward)

        freed = Signal()
        m.d.comb += freed.eq(Mux(self.acting, forward.done, backward.done))
        for comes, begun, room, name in (
            (self.feed_count, self.feed_begun, self.feed_room, "feed"),
            (self.chain_groups, self.chain_begun, self.chain_room, "chain"),
        ):
            used = Signal(range(self.slots + 1), name=f"{name}_used")
            if comes:
                m.d.sync += used.eq(used + begun - freed)
            m.d.comb += room.eq(used != self.slots)
        return m

    def _reader(self, interleave):
        return WordReader(self.shape.input_words, interleave, self.slots, 1 << self._shift)

    def _arrived(self, m, feed_last, chain_last):
        """How many words forward may fetch from the next clock on: as they come, or whole samples
        once all sources are done."""
        words = self.shape.input_words
        if not self.feed_count:
            padding = words - self.chain_words
            return Mux(chain_last, 1 + padding, self.chain.valid)
        if not self.chain_groups:
            return Mux(feed_last, words, 0)
        both = Signal()
        pending = []
        for name, last in (("feed", feed_last), ("chain", chain_last)):
            count = Signal(range(self.slots + 1), name=f"{name}_pending")
            m.d.sync += count.eq(count + last - both)
            pending.append(count != 0)
        m.d.comb += both.eq(pending[0] & pending[1])
        return Mux(both, words, 0)

    def _sources(self, m, feed_last, chain_last):
        """For each group, what may write to its memories in a clock: a list of ``(whether it does,
        its sample's base, number of its word, its place in the word, its values)``. A source whose
        place is None has values for all places."""
        shape, first = self.shape, 0 if not self.feed_count else self.shape.joined_word
        word = Signal(range(shape.input_words), name="chain_word")
        m.d.comb += [
            word.eq(self.chain.index + first),
            self.feed.ready.eq(~self.chain.valid if self.chain_groups else 1),
        ]
        feeds = self.feed.valid & self.feed.ready
        feed_base, chain_base = self._base(m, "feed", feed_last), self._base(m, "chain", chain_last)
        bits, padding = (shape.input_word - 1).bit_length(), -self._own % shape.input_word
        groups = [[] for _ in range(self.groups)]
        for value, group in enumerate(self.chain_groups):
            comes = self.chain.valid & self.chain_mask[value]
            groups[group].append((comes, chain_base, word, None, self.chain.value[value]))
        for k, number in enumerate(self.feed.p.numbers if self.feed_count else ()):
            # Joined inputs begin at a word of their own.
            place = Signal(range(shape.input_words * shape.input_word), name=f"feed_place_{k}")
            joined = Mux(number.index >= self._own, padding, 0) if shape.joined else 0
            m.d.comb += place.eq(number.index + joined)
            for group, sources in enumerate(groups):
                comes = feeds & number.mask[group]
                sources.append((comes, feed_base, place[bits:], place[:bits], number.value))
        return groups

    def _memories(self, m, groups, forward, backward):
        """A memory for each group and bank, and a second one if backward reads it too."""
        depth, width = self.slots * self._rows, Shape.cast(self._value).width
        for group, sources in enumerate(groups):
            for bank in range(self._banks):
                name = f"{group}_{bank}"
                # Of the words in a row, and of the places in a word, those of this bank.
                row_word, first = divmod(bank * self._numbers, self.shape.input_word)
                write, address = (
                    Signal(name=f"write_{name}"),
                    Signal(range(depth), name=f"at_{name}"),
                )
                value = Signal(self._value, name=f"value_{name}")
                for k, (comes, base, word, place, values) in enumerate(sources):
                    here = comes & (word[: self._shift] == row_word)
                    if place is not None:
                        here &= place == first
                    # Where one thing comes in a clock, banks share what they are given.
                    chosen = Const(1) if k == 0 else here if self.feed_count > 1 else comes
                    with m.If(chosen):
                        m.d.comb += address.eq(base + word[self._shift :])
                        for lane in range(self.config.lanes):
                            for n in range(self._numbers):
                                part = (
                                    values[lane] if place is not None else values[lane][first + n]
                                )
                                m.d.comb += value[lane][n].eq(part)
                    with m.If(here):
                        m.d.comb += write.eq(1)
                readers = [("forward", forward, self.forward)]
                if group < self.backward_groups:
                    readers.append(("backward", backward, self.backward))
                for side, reader, port in readers:
                    ram = Ram(width=width, depth=depth, style=style_of(depth))
                    m.submodules[f"{side}_{name}"] = ram
                    m.d.comb += [
                        ram.write_enable.eq(write),
                        ram.write_address.eq(address),
                        ram.write_data.eq(value),
                        ram.read_address.eq(reader.address),
                        ram.read_enable.eq(reader.fetch),
                    ]
                    numbers = data.View(self._value, ram.read_data)
                    with m.If(reader.word[: self._shift] == row_word):
                        self._show(m, port.payload[group], numbers, first, reader.word)

    def _show(self, m, word, numbers, first, index):
        """Shows a memory's ``numbers`` in ``word``, from place ``first`` on, if they are inputs of
        word number ``index``."""
        filled = self.shape.input_words_filled()
        own, words = self.shape.joined_word, self.shape.input_words
        for n in range(self._numbers):
            # The words in which this place is filled are the first ones, of own and of joined.
            before = sum(count > first + n for count in filled[:own])
            behind_own = own + sum(count > first + n for count in filled[own:])
            inside = below(index, before) | (at_least(index, own) & below(index, behind_own))
            if before == own:
                inside = Const(1) if behind_own == words else below(index, behind_own)
            for lane in range(self.config.lanes):
                m.d.comb += word[lane][first + n].eq(Mux(inside, numbers[lane][n], 0))

    def _base(self, m, name, last):
        """First address of the slot that a source fills."""
        base = Signal(range(self.slots * self._rows), name=f"{name}_base")
        with m.If(last):
            m.d.sync += base.eq(behind(base, self.slots, self._rows))
        return base

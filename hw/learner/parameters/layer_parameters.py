"""The parameters of a layer: memories that forward and backward read, update, load and store."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.layer_clocks import READ_CLOCKS, READ_LATENCY
from hw.learner.block.ports import backward_signature, forward_signature
from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.learner.parameters.block_memory import BlockMemory
from hw.learner.parameters.block_memory_shape import BlockMemoryShape
from hw.learner.parameters.join import JOINED, Join
from hw.learner.parameters.moments import Moments
from hw.learner.parameters.square_sum import SquareSum
from hw.learner.parameters.update import Update, optimizer_members
from hw.learner.parameters.walk import Walk, padding
from hw.nn.optimizers import optimizer_of
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["LayerParameters", "measure_clocks"]


def measure_clocks(config, shape):
    """Clocks of a measuring walk through a layer's parameters: ``LayerParameters.busy`` is high."""
    moments = optimizer_of(config.arithmetic).timing(config.optimizer_config).moments
    return shape.parts + READ_CLOCKS + moments + SquareSum.latency_of(config, shape)


class LayerParameters(wiring.Component):
    """The memories of a layer's parameters, with update, load and store.

    An update visits them part by part in the order of ``Walk``, a part a clock, each number by an
    optimizer of its own. Load and store visit them image word by image word, one a clock. With
    ``config.clip_norm``, a measuring walk goes as an update, but writes nothing.
    Source: CF'22 3.2 (WU).

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
    input_gradient : bool
        Whether backward reads the weights. If not, they have a copy less, and ``backward.weight``
        is 0.

    Members
    -------
    forward : In(forward_signature), backward : In(backward_signature)
        ``memory`` of ``Forward`` and of ``Backward``.
    coefficients : In, or optimizer : Out
        The optimizers' coefficients for the layer's network, or the ports of the network's
        optimizer: see ``optimizer_members``. Steady while ``busy``.
    update : In(1)
        A pulse begins an update; all gradients must be complete.
    load, store : In(1), parameter_set : In(2)
        A pulse begins to load, or to store, the set with this number in ``PARAMETER_SETS``. Of a
        set that the optimizer lacks, loaded words are dropped, and zeros are stored.
    measure : In(1), squares : Out
        A pulse begins to add the squares of all gradients; ``squares`` is their sum from the fall
        of ``busy`` until the next such pulse. Only with ``config.clip_norm``.
    busy : Out(1)
        High from the clock after such a pulse until the work is done, ``update_clocks`` clocks in
        an update and ``measure_clocks`` in a measuring walk. Meanwhile nothing else may begin, and
        no sample may be under way.
    i, o : In, Out, streams of words of ``image_word`` numbers of 32 bits
        The words to load; the words that are stored. A stored fixed-point weight is sign-extended
        to 32 bits. Padding is stored as zeros and may be anything when loaded.
    saturations : Out
        How many weights and biases an update has clipped, clock by clock.
    """

    def __init__(self, config, shape, *, input_gradient=True):
        self.config, self.shape = config, shape
        self._blocks = BlockMemoryShape.of_blocks(config, shape, dual=input_gradient)
        self._biases = BlockMemoryShape.of_biases(config, shape)
        word = stream.Signature(unsigned(32 * shape.image_word))
        measures = {"measure": In(1), "squares": Out(SquareSum.sum_shape(config, shape))}
        super().__init__(
            {
                **(measures if config.clip_norm else {}),
                "forward": In(forward_signature(config, shape)),
                "backward": In(backward_signature(config, shape)),
                **optimizer_members(config),
                "update": In(1),
                "load": In(1),
                "store": In(1),
                "parameter_set": In(2),
                "busy": Out(1),
                "i": In(word),
                "o": Out(word),
                "saturations": Out(range(shape.part + 1)),
            }
        )

    def attach(self, m, forward, backward):
        """Connects these memories to ``Forward`` and ``Backward`` of the same layer. ``m`` is the
        module that contains all three."""
        wiring.connect(m, self.forward, forward.memory)
        wiring.connect(m, self.backward, backward.memory)

    def elaborate(self, platform):
        m = Module()
        config, shape = self.config, self.shape
        updating, loading, storing = Signal(), Signal(), Signal()
        # A measuring walk is an update whose results are not written.
        measure = measuring = Const(0)
        if config.clip_norm:
            measure, measuring = self.measure, Signal()
        take, fetch, done, stored = Signal(), Signal(), Signal(), Signal()
        parameter_set = Signal(self.parameter_set.shape(), reset_less=True)
        begins = ~self.busy & (self.update | measure | self.load | self.store)
        with m.If(begins):
            m.d.sync += [
                self.busy.eq(1),
                updating.eq(self.update | measure),
                loading.eq(self.load),
                storing.eq(self.store),
                parameter_set.eq(self.parameter_set),
            ]
        with m.Elif(done | stored):
            m.d.sync += [self.busy.eq(0), updating.eq(0), loading.eq(0), storing.eq(0)]

        m.submodules.walk = walk = Walk(shape)
        m.submodules.unit = unit = Update(config, shape)
        m.d.comb += [
            walk.start.eq(begins),
            walk.whole.eq(updating),
            walk.advance.eq(updating | take | fetch),
            self.i.ready.eq(loading & walk.active),
            take.eq(self.i.valid & self.i.ready),
            unit.updating.eq(updating),
            unit.image_i.eq(self.i.payload),
            self.saturations.eq(unit.saturations),
        ]
        if config.network_optimizer:
            wiring.connect(m, unit.optimizer, wiring.flipped(self.optimizer))
        else:
            m.d.comb += unit.coefficients.eq(self.coefficients)
        moved = {  # is this set loaded or stored?
            name: parameter_set == PARAMETER_SETS.index(name) for name in stored_sets(config)
        }
        reads, writes, measured = self._places(m, walk, updating, measuring, storing, take)
        memories = self._memories(m)
        self._read(m, memories, unit, walk, reads, storing, moved)
        self._write(m, memories, unit, walk, writes, updating, moved)
        self._store(m, unit, storing & walk.active, storing, fetch, stored)
        place, valid = writes["weights"]
        written = delay(m, valid & place.last, 1, name="done", reset=True)
        if not config.clip_norm:
            m.d.comb += done.eq(written)
            return m
        m.submodules.square_sum = square_sum = SquareSum(config, shape)
        with m.If(begins):
            m.d.sync += measuring.eq(measure)
        place, valid = measured
        m.d.comb += [
            square_sum.clear.eq(begins & measure),
            square_sum.i.valid.eq(valid),
            square_sum.i.last.eq(place.last),
            square_sum.i.value.eq(unit.squares),
            self.squares.eq(square_sum.total),
            done.eq(written | square_sum.done),
        ]
        return m

    def _places(self, m, walk, updating, measuring, storing, take):
        """The place of the weights that are read; for weights and moments, the place of the next
        clock's write, and whether it is valid; and the place whose squares leave the
        optimizers, and whether they are measured. Load and store do not wait for optimizers."""
        at = optimizer_of(self.config.arithmetic).timing(self.config.optimizer_config)
        clocks = {
            "read": at.weights,
            "moments": READ_CLOCKS + at.moments,
            "weights": READ_CLOCKS + at.latency,
        }
        later, place, active, elapsed = {}, walk.place, walk.active & updating, 0
        for name, clock in sorted(clocks.items(), key=lambda item: item[1]):
            place = delay(m, place, clock - elapsed, name=f"{name}_place")
            active = delay(m, active, clock - elapsed, name=f"{name}_active", reset=True)
            if name == "moments":
                measured = place, active & measuring
                active = active & ~measuring
            elapsed, later[name] = clock, (place, active)
        reads = Signal.like(walk.place, name="read")
        m.d.comb += reads.eq(Mux(storing, walk.place, later["read"][0]))
        writes = {}
        for name in ("weights", "moments"):
            written, valid = Signal.like(walk.place, name=name), Signal(name=f"{name}_valid")
            m.d.comb += [
                written.eq(Mux(updating, later[name][0], walk.place)),
                valid.eq(Mux(updating, later[name][1], take)),
            ]
            writes[name] = written, valid
        return reads, writes, measured

    def _memories(self, m):
        """Those of blocks, biases and moments, wired to the passes."""
        m.submodules.blocks = blocks = BlockMemory(self._blocks)
        m.submodules.biases = biases = BlockMemory(self._biases)
        m.submodules.moments = moments = Moments(self.config, self.shape)
        forward, backward = self.forward, self.backward
        m.d.comb += [
            blocks.forward_address.eq(forward.address),
            forward.weight.online.eq(blocks.online),
            forward.weight.target.eq(blocks.target),
            blocks.backward_address.eq(backward.address),
            backward.weight.eq(blocks.weight),
            blocks.gradient_address.eq(backward.gradient_address),
            backward.gradient.eq(blocks.gradient),
            blocks.gradient_write.eq(backward.gradient_write),
            biases.forward_address.eq(forward.bias_address),
            forward.bias.online.eq(biases.online[0]),
            forward.bias.target.eq(biases.target[0]),
            biases.gradient_address.eq(backward.bias_address),
            backward.bias_gradient.eq(biases.gradient[0]),
            Value.cast(biases.gradient_write).eq(Value.cast(backward.bias_write)),
            blocks.scanning.eq(self.busy),
            biases.scanning.eq(self.busy),
        ]
        return blocks, biases, moments

    def _read(self, m, memories, unit, walk, reads, storing, moved):
        """The part of a place, to the optimizers; in a store, zeros but for the word that is
        stored."""
        blocks, biases, moments = memories
        for scan, place, bias in (
            (blocks.weights_scan, reads, 0),
            (blocks.gradient_scan, walk.place, 0),
            (biases.weights_scan, reads, 1),
            (biases.gradient_scan, walk.place, 1),
        ):
            shown = [(place.bias == bias) & (place.part == k) for k in range(len(scan.shown))]
            m.d.comb += [scan.address.eq(place.address), scan.shown.eq(Cat(shown))]
        m.submodules.join = join = Join(self.config, self.shape)
        for words, memory in ((join.blocks, blocks), (join.biases, biases)):
            for name in (*JOINED, "gradient"):
                m.d.comb += Value.cast(words[name]).eq(Value.cast(getattr(memory, name)))
        m.d.comb += [
            join.bias.eq(delay(m, walk.place.bias, 1, name="gradient_bias")),
            join.part.eq(delay(m, walk.place.part, 1, name="gradient_part")),
            unit.gradient.eq(join.gradient),
            # Moments are not joined: that is a clock less.
            moments.address.eq(delay(m, walk.place.index, 1, name="moments_index")),
        ]
        word = delay(m, walk.word, READ_LATENCY, name="stored_word")
        for name, asked in moved.items():
            memory = join if name in JOINED else moments
            hidden = [storing & ~(asked & (word == k)) for k in range(self._image_words)]
            m.d.comb += [
                memory.hidden[name].eq(Cat(hidden)),
                unit.old[name].eq(getattr(memory, name)),
            ]

    def _write(self, m, memories, unit, walk, writes, updating, moved):
        """Writes the part from the optimizers or the image: registers of its address and enables,
        like the registers of its numbers."""
        blocks, biases, moments = memories
        word = [updating | (walk.word == k) for k in range(self._image_words)]
        place, valid = writes["weights"]
        m.d.comb += [
            unit.weights_padding.eq(padding(m, self.shape, place, name="weights_padding")),
            unit.counts.eq(updating & valid),
        ]
        for memory, bias in ((blocks, 0), (biases, 1)):
            m.d.comb += memory.write.address.eq(delay(m, place.address, 1, name=f"address_{bias}"))
            bits = [
                valid & (place.bias == bias) & (place.part == part) & word[k]
                for part in range(memory.shape.parts)
                for k in range(self._image_words)
            ][: memory.shape.image_words]
            for name in JOINED:
                enable = Cat(bit & (updating | moved[name]) for bit in bits)
                m.d.comb += [
                    memory.write[name].eq(unit.new[name]),
                    memory.write.enable[name].eq(
                        delay(m, enable, 1, name=f"{name}_enable_{bias}", reset=True)
                    ),
                ]
        place, valid = writes["moments"]
        m.d.comb += [
            unit.moments_padding.eq(padding(m, self.shape, place, name="moments_padding")),
            moments.write.address.eq(delay(m, place.index, 1, name="moment_address")),
        ]
        for name in moments.sets:
            enable = Cat(valid & bit & (updating | moved[name]) for bit in word)
            m.d.comb += [
                moments.write[name].eq(unit.new[name]),
                moments.write.enable[name].eq(
                    delay(m, enable, 1, name=f"{name}_enable", reset=True)
                ),
            ]

    @property
    def _image_words(self):
        return self.shape.part // self.shape.image_word

    def _store(self, m, unit, active, storing, fetch, stored):
        # A word is fetched only where the queue will have room for it.
        depth = READ_CLOCKS + 2
        m.submodules.queue = queue = Queue(unsigned(len(unit.image_o)), depth)
        reserved = Signal(range(depth + 1))
        m.d.comb += [
            fetch.eq(active & (reserved != depth)),
            queue.i.valid.eq(delay(m, fetch, READ_CLOCKS, name="fetched", reset=True)),
            queue.i.payload.eq(unit.image_o),
            stored.eq(storing & ~active & (reserved == 0)),
        ]
        m.d.sync += reserved.eq(reserved + fetch - (self.o.valid & self.o.ready))
        wiring.connect(m, queue.o, wiring.flipped(self.o))

"""The parameters of a layer: memories that forward and backward read, update, load and store."""

from functools import lru_cache

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import PARAMETER_SETS
from hw.learner.memory_ports import READ_LATENCY, backward_signature, forward_signature
from hw.learner.parameters.bias_banks import BiasBanks
from hw.learner.parameters.estimate import ParametersEstimate, resources
from hw.learner.parameters.parameter_memory import ParameterMemory, ParameterMemoryShape
from hw.learner.parameters.parameter_walk import ParameterWalk
from hw.learner.parameters.update_unit import UpdateUnit, merge, merge_stages
from hw.nn.optimizers import optimizer_of
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["LayerParameters"]


class LayerParameters(wiring.Component):
    """The memories of a layer's parameters, with update, load and store. Each of these three visits
    all words in the order of ``ParameterWalk``, one a clock.

    In an update, ``units`` PEs are visited side by side, each by ``vector`` optimizers; the biases
    follow, one bank of ``BiasBanks`` through each unit. ``estimate`` gives the clocks of update,
    load and store. Source: CF'22 3.2 (WU).

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    input_gradient : bool
        Whether backward reads the weights. If not, their memories have one port less, and
        ``backward.weight`` is 0.

    Members
    -------
    forward : In(forward_signature), backward : In(backward_signature)
        ``memory`` of ``Forward`` and of ``Backward``.
    coefficients : In
        The optimizers' coefficients for the layer's network. Steady while ``busy``.
    update : In(1)
        A pulse begins an update; all gradients must be complete.
    load, store : In(1), parameter_set : In(2)
        A pulse begins to load, or to store, the set with this number in ``PARAMETER_SETS``. Of a
        set that the optimizer lacks, loaded words are dropped, and zeros are stored.
    busy : Out(1)
        High from the clock after such a pulse until the work is done. Meanwhile nothing else may
        begin, and no sample may be under way.
    i, o : In, Out, streams of words of ``vector`` numbers of 32 bits
        The words to load; the words that are stored. A stored fixed-point weight is sign-extended
        to 32 bits.
    saturations : Out
        How many weights and biases an update has clipped, clock by clock.
    """

    def __init__(self, config, layer, *, input_gradient=True):
        self.config, self.layer = config, layer
        self.units, self.members = self._split(config, layer)
        self._pe = self._pe_shape(config, layer, input_gradient)
        self._biases = BiasBanks(config, layer, self.units)
        word = stream.Signature(unsigned(32 * layer.vector))
        super().__init__(
            {
                "forward": In(forward_signature(config, layer)),
                "backward": In(backward_signature(config, layer)),
                "coefficients": In(optimizer_of(config.arithmetic).COEFFICIENTS),
                "update": In(1),
                "load": In(1),
                "store": In(1),
                "parameter_set": In(2),
                "busy": Out(1),
                "i": In(word),
                "o": Out(word),
                "saturations": Out(range(self.units * layer.vector + 1)),
            }
        )

    @staticmethod
    def _split(config, layer):
        """Update units and PEs of each: unit u has those from ``u * members`` on."""
        members = -(-layer.length // config.units(layer))
        return -(-layer.length // members), members

    @staticmethod
    def _pe_shape(config, layer, input_gradient):
        sums = config.arithmetic.gradient_sum_shape(config.batch)
        return ParameterMemoryShape(config, layer.depth, layer.vector, sums, dual=input_gradient)

    @classmethod
    @lru_cache(maxsize=4096)
    def estimate(cls, config, layer, *, input_gradient=True):
        """``ParametersEstimate``: clocks, and resources of memories, walks and optimizers."""
        units, members = cls._split(config, layer)
        read = READ_LATENCY + merge_stages(members + 1)
        pe = cls._pe_shape(config, layer, input_gradient)
        biases = BiasBanks(config, layer, units)
        words = ParameterWalk.words(layer, layer.length)
        optimizer = optimizer_of(config.arithmetic).estimate(config.optimizer_config)
        return ParametersEstimate(
            update=ParameterWalk.words(layer, members, biases.words) + read + optimizer.latency + 1,
            load=words + 1,
            store=words + read + merge_stages(units) + 2,
            **resources(config, layer, members, pe, biases).resources,
        )

    def attach(self, m, forward, backward):
        """Connects these memories to ``Forward`` and ``Backward`` of the same layer. ``m`` is the
        module that contains all three."""
        wiring.connect(m, self.forward, forward.memory)
        wiring.connect(m, self.backward, backward.memory)

    def elaborate(self, platform):
        m = Module()
        config, layer = self.config, self.layer
        at = optimizer_of(config.arithmetic).timing(config.optimizer_config)
        read_clocks = READ_LATENCY + merge_stages(self.members + 1)

        # Which of the three is under way; load and store visit one PE after the other.
        updating, loading, storing, alone = Signal(), Signal(), Signal(), Signal()
        parameter_set = Signal(self.parameter_set.shape(), reset_less=True)
        take, fetch = Signal(), Signal()
        m.d.comb += [
            self.busy.eq(updating | loading | storing),
            alone.eq(self.load | self.store | loading | storing),
        ]

        # Each walk of an update starts when the first word is due there.
        clocks = {
            "moments_read": 0,
            "weights_read": at.weights,
            "moments_write": read_clocks + at.moments,
            "weights_write": read_clocks + at.latency,
        }
        scans, begun, elapsed = {}, self.update & ~self.busy, 0
        for name, clock in sorted(clocks.items(), key=lambda item: item[1]):
            scans[name] = m.submodules[name] = scan = ParameterWalk(
                layer, self.members, self._biases.words
            )
            begun = delay(m, begun, clock - elapsed, name=f"{name}_begun", reset=True)
            elapsed = clock
            other, moved = (self.load, take) if name.endswith("write") else (self.store, fetch)
            m.d.comb += [
                scan.parallel.eq(~alone),
                scan.start.eq(begun | (other & ~self.busy)),
                scan.advance.eq(updating | moved),
            ]
        reads, writes = scans["weights_read"], scans["weights_write"]
        stored = Signal()
        m.d.comb += [
            self.i.ready.eq(loading & writes.active),
            take.eq(self.i.valid & self.i.ready),
        ]
        done = delay(m, writes.active & writes.last & writes.advance, 1, name="done", reset=True)
        with m.If(~self.busy):
            m.d.sync += [
                updating.eq(self.update),
                loading.eq(self.load),
                storing.eq(self.store),
                parameter_set.eq(self.parameter_set),
            ]
        with m.Elif(done | stored):
            m.d.sync += [updating.eq(0), loading.eq(0), storing.eq(0)]

        banks = self._banks(m, scans, updating | storing)
        units = self._units(m, banks, scans, parameter_set, updating)
        self._store(m, units, storing & reads.active, storing, fetch, stored, read_clocks)
        self._write(m, banks, units, scans, parameter_set, updating, take)
        counts = [unit.saturations for unit in units]
        m.d.sync += self.saturations.eq(sum(counts[1:], counts[0]))
        return m

    def _banks(self, m, scans, scanning):
        """Banks of the PEs, then that of the biases."""
        banks = [ParameterMemory(self._pe) for _ in range(self.layer.length)]
        for pe, bank in enumerate(banks):
            m.submodules[f"bank_{pe}"] = bank
            m.d.comb += [
                bank.forward_address.eq(self.forward.address[pe]),
                bank.backward_address.eq(self.backward.address[pe]),
                bank.gradient_write.eq(self.backward.gradient_write[pe]),
                self.forward.weight[pe].online.eq(bank.online),
                self.forward.weight[pe].target.eq(bank.target),
                self.backward.weight[pe].eq(bank.weight),
                self.backward.gradient[pe].eq(bank.gradient),
            ]
        banks += self._biases.attach(m, self.forward, self.backward)
        for bank in banks:
            m.d.comb += [
                bank.scanning.eq(scanning),
                bank.weights_address.eq(scans["weights_read"].address),
                bank.moments_address.eq(scans["moments_read"].address),
            ]
        return banks

    def _pes(self, unit):
        return range(unit * self.members, min((unit + 1) * self.members, self.layer.length))

    def _selected(self, scan):
        """A bit for each bank: ``scan`` visits a word of it."""
        return Cat(scan.select, self._biases.scanned(scan, scan.parallel))

    def _units(self, m, banks, scans, parameter_set, updating):
        arithmetic, batch = self.config.arithmetic, self.config.batch
        selected = {
            name: delay(m, self._selected(scan), READ_LATENCY, name=f"{name}_selected")
            for name, scan in scans.items()
            if name.endswith("read")
        }
        units = []
        for k in range(self.units):
            sources = [*self._pes(k), *([self.layer.length + k] if k < self._biases.count else [])]
            unit = UpdateUnit(self.config, self._pe, len(sources), merge_stages(self.members + 1))
            m.submodules[f"unit_{k}"] = unit
            units.append(unit)
            m.d.comb += [
                unit.coefficients.eq(self.coefficients),
                unit.parameter_set.eq(parameter_set),
                unit.updating.eq(updating),
                unit.image_i.eq(self.i.payload),
            ]
            for group in ("weights", "moments"):
                bits = Cat(selected[f"{group}_read"][source] for source in sources)
                m.d.comb += [
                    getattr(unit, f"{group}_select").eq(bits),
                    getattr(unit, f"{group}_columns").eq(scans[f"{group}_write"].columns),
                ]
            for name in self._pe.memories:
                for port, source in zip(getattr(unit, f"{name}_i"), sources, strict=True):
                    word = Value.cast(getattr(banks[source], name))
                    if source >= self.layer.length and name == "gradient":
                        # So it is a sum as the others are.
                        bias_gradient = Signal(arithmetic.gradient_sum_shape(batch))
                        gradient = arithmetic.times_one(banks[source].gradient[0])
                        m.d.comb += bias_gradient.eq(gradient)
                        word = bias_gradient.as_unsigned()
                    m.d.comb += Value.cast(port).eq(word)
        return units

    def _store(self, m, units, active, storing, fetch, stored, read_clocks):
        stages = merge_stages(self.units)
        clocks = read_clocks + stages
        word = merge(m, [unit.image_o for unit in units], stages, name="image")
        # A word is fetched only where the queue will have room for it.
        depth = clocks + 2
        m.submodules.queue = queue = Queue(unsigned(len(word)), depth)
        reserved = Signal(range(depth + 1))
        m.d.comb += [
            fetch.eq(active & (reserved != depth)),
            queue.i.valid.eq(delay(m, fetch, clocks, name="fetched", reset=True)),
            queue.i.payload.eq(word),
            stored.eq(storing & ~active & (reserved == 0)),
        ]
        m.d.sync += reserved.eq(reserved + fetch - (self.o.valid & self.o.ready))
        wiring.connect(m, queue.o, wiring.flipped(self.o))

    def _write(self, m, banks, units, scans, parameter_set, updating, take):
        """Beside the units' registers of what is written: where."""
        enables = dict.fromkeys(PARAMETER_SETS, Const(0, len(banks)))
        for group in ("weights", "moments"):
            scan = scans[f"{group}_write"]
            rows = delay(m, scan.rows, 1, name=f"{group}_rows")
            address = delay(m, scan.address, 1, name=f"{group}_address")
            for bank in banks:
                m.d.comb += getattr(bank, f"write_{group}_address").eq(address)
            if group == "weights":
                counting = updating & scan.active
                for k, unit in enumerate(units):
                    bias = scan.bias & self._biases.real(scan.address, k)
                    m.d.comb += unit.bias_counts.eq(counting & bias)
                    real = Cat(scan.select[pe] & scan.rows[pe] for pe in self._pes(k)).any()
                    m.d.comb += unit.counts.eq(counting & real)
            for name in self._pe.sets:
                if (name in self._pe.WEIGHTS) != (group == "weights"):
                    continue
                moved = scan.active & (
                    updating | (take & (parameter_set == PARAMETER_SETS.index(name)))
                )
                enables[name] = Signal(len(banks), name=f"{name}_enable")
                m.d.sync += enables[name].eq(Mux(moved, self._selected(scan), 0))
                for pe, bank in enumerate(banks[: self.layer.length]):
                    word = Value.cast(getattr(units[pe // self.members], f"{name}_o"))
                    m.d.comb += getattr(bank, f"write_{name}").eq(Mux(rows[pe], word, 0))
                for unit, bank in zip(units, banks[self.layer.length :], strict=False):
                    bias = getattr(unit, f"{name}_o")[0]
                    m.d.comb += getattr(bank, f"write_{name}").eq(bias)
        for k, bank in enumerate(banks):
            m.d.comb += bank.write_enable.eq(Cat(enables[name][k] for name in PARAMETER_SETS))

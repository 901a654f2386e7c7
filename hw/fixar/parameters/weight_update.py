"""The update of a word of weights: ``side`` optimizers behind the sums of gradients of all cores.

Interval 1, free-running; ``WeightUpdate.latency_of(config)`` clocks from a sum to its last write.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.parameters.gradient_sum import GradientSum
from hw.fixar.parameters.layouts import WORD_BITS, sums_layout, word_width
from hw.fixar.parameters.memories import READ_LATENCY, WEIGHTS
from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.learner.records import HYPERPARAMETERS
from hw.nn.fixed_coefficients import FixedCoefficients
from hw.nn.optimizer_config import COEFFICIENTS
from hw.nn.optimizers import optimizer_of
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["WeightUpdate"]


class WeightUpdate(wiring.Component):
    """Updates one word of every parameter set by the optimizer's formulas, for each word of sums.

    For a sum that comes in clock 0, where g is ``GradientSum.latency_of`` and at is the
    optimizer's ``timing``::

        g - READ_LATENCY    moments_address
        g                   gradients and moments enter the optimizers
        g + 1               clipped_gradients
        g + at.moments      new moments are written
        g + at.weights - READ_LATENCY   weights_address
        g + at.latency      new weights are written
                     + 1    clipped_weights; busy for the last time

    Two words within ``latency_of`` clocks must not have the same address.

    Parameters
    ----------
    config : FixarConfig
    sum_width : int
        Bits of a core's sum.

    Members
    -------
    i : In(sums_layout)
        A word of sums of gradients from each core, with its address and shift.
    network : In(1)
        Which network's coefficients the optimizers use; 0 is the critic. Steady from
        ``settle_of(config)`` clocks before the first sum until ``busy`` falls, and so is
        ``hyperparameters``.
    hyperparameters : In(HYPERPARAMETERS)
        Coefficients of both networks' optimizers.
    busy : Out(1)
        From the clock after the first sum until all words are written and counted.
    weights_address, moments_address : Out
        Addresses to read in every clock.
    online, target, first, second : In(32 * side)
        Words, ``READ_LATENCY`` clocks after their address.
    write : Out({online, target, first, second})
        Which memories are written in this clock.
    write_weights_address, write_moments_address : Out
        Address of the written word: of online and target; of first and second.
    write_online, write_target, write_first, write_second : Out(32 * side)
        The new word of each memory.
    clipped_gradients, clipped_weights : Out(range(side + 1))
        How many numbers were clipped; each is reported once.
    """

    def __init__(self, config, sum_width):
        self.config, self.sum_width = config, sum_width
        address, word = Out(range(config.weight_words)), word_width(config)
        super().__init__(
            {
                "i": In(sums_layout(config, sum_width)),
                "network": In(1),
                "hyperparameters": In(HYPERPARAMETERS.shape),
                "busy": Out(1),
                "weights_address": address,
                "moments_address": address,
                **dict.fromkeys(PARAMETER_SETS, In(word)),
                "write": Out(data.StructLayout(dict.fromkeys(PARAMETER_SETS, 1))),
                "write_weights_address": address,
                "write_moments_address": address,
                **{f"write_{name}": Out(word) for name in PARAMETER_SETS},
                "clipped_gradients": Out(range(config.side + 1)),
                "clipped_weights": Out(range(config.side + 1)),
            }
        )

    @staticmethod
    def _timing(config):
        return optimizer_of(config.arithmetic).timing(config.optimizer_config)

    @classmethod
    def latency_of(cls, config):
        """Clocks from a sum to the write of its weights."""
        return GradientSum.latency_of(config.cores) + cls._timing(config).latency

    @staticmethod
    def settle_of(config):
        """Clocks for which ``network`` is steady before the first sum."""
        return max(0, FixedCoefficients.LATENCY + 1 - GradientSum.latency_of(config.cores))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        before, at = GradientSum.latency_of(config.cores), self._timing(config)
        m.submodules.gradient_sum = gradients = GradientSum(config, self.sum_width)
        m.d.comb += [gradients.sums.eq(self.i.sums), gradients.shift.eq(self.i.shift)]
        results, saturated = self._optimizers(m, gradients)

        # What counts, and where, from the sum's clock on.
        end = before + at.latency
        kept, address = [self.i.valid & self.i.keep], [self.i.address]
        for clock in range(end):
            kept.append(delay(m, kept[-1], 1, name=f"kept_{clock}", reset=True))
            address.append(delay(m, address[-1], 1, name=f"address_{clock}"))
        written = {
            "moments": before + at.moments,
            "weights": end,
        }
        m.d.comb += [
            self.moments_address.eq(address[before - READ_LATENCY]),
            self.weights_address.eq(address[before + at.weights - READ_LATENCY]),
        ]
        for group, clock in written.items():
            m.d.comb += getattr(self, f"write_{group}_address").eq(address[clock])
        for name, word in results.items():
            clock = written["weights" if name in WEIGHTS else "moments"]
            m.d.comb += [self.write[name].eq(kept[clock]), getattr(self, f"write_{name}").eq(word)]

        for count, bits, clock in (
            (self.clipped_gradients, gradients.clipped, before),
            (self.clipped_weights, saturated, end),
        ):
            shown = bits & kept[clock].replicate(config.side)
            m.d.sync += count.eq(sum(shown[1:], shown[0]))

        left = Signal(range(end + 2))
        m.d.comb += self.busy.eq(left != 0)
        with m.If(self.i.valid):
            m.d.sync += left.eq(end + 1)
        with m.Elif(self.busy):
            m.d.sync += left.eq(left - 1)
        return m

    def _optimizers(self, m, gradients):
        """``({parameter set: new word}, clipped weights)``."""
        config = self.config
        unit, coefficients = optimizer_of(config.arithmetic), self._coefficients(m)
        results = {name: Signal(word_width(config), name=f"new_{name}") for name in self.sets}
        saturated = Signal(config.side)
        for lane in range(config.side):
            optimizer = SharedModule(unit, config.optimizer_config, gradients.shape)
            m.submodules[f"optimizer_{lane}"] = optimizer
            m.d.comb += [
                optimizer.coefficients.eq(coefficients),
                optimizer.gradient.eq(gradients.gradient[lane]),
                saturated[lane].eq(optimizer.saturated),
            ]
            for name, word in results.items():
                port = "weight" if name == "online" else name
                given, new = getattr(optimizer, port), getattr(optimizer, f"new_{port}")
                old = getattr(self, name).word_select(lane, WORD_BITS)
                # A weight with its sign, however many bits it has.
                m.d.comb += [
                    given.eq(old[: len(given)]),
                    word.word_select(lane, WORD_BITS).eq(new),
                ]
        return results, saturated

    @property
    def sets(self):
        """Parameter sets that the optimizer has."""
        return stored_sets(self.config)

    def _coefficients(self, m):
        """The coefficients from the network's hyperparameters, as the optimizers take them."""
        given = Signal(COEFFICIENTS, reset_less=True)
        for field in COEFFICIENTS.members:
            value = self.hyperparameters[field]
            if isinstance(value, data.View):  # one a network
                value = Mux(self.network, value[1], value[0])
            m.d.sync += given[field].eq(value)
        config = self.config
        convert = optimizer_of(config.arithmetic).convert
        shape = config.arithmetic.gradient_sum_shape(config.batch)
        return convert(m, config.optimizer_config, shape, given, name="coefficients")

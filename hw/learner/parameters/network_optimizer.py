"""The optimizer of a whole network, whose layers update one after the other."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.learner.parameters.update import optimizer_members
from hw.nn.optimizers import optimizer_of
from hw.shared import SharedModule

__all__ = ["NetworkOptimizer"]


class NetworkOptimizer(wiring.Component):
    """One optimizer for ``layers`` layers, for kernels with ``update_units`` 0.

    The latencies are the optimizer's: a layer sees it as one of its own while it has its turn.

    Parameters
    ----------
    config : LayerConfig
    layers : int

    Members
    -------
    coefficients : In
        As the optimizer takes them.
    begins : In(layers)
        A pulse of a layer's bit: its update begins. From the next clock on the optimizer computes
        for this layer.
    ports : In.array(layers)
        ``optimizer`` of the ``LayerParameters`` of each layer. Each receives the results, which
        belong to the layer whose turn it is.
    """

    def __init__(self, config, layers):
        self.config, self.layers = config, layers
        port = optimizer_members(config)["optimizer"].flip()
        super().__init__(
            {
                "coefficients": In(optimizer_of(config.arithmetic).COEFFICIENTS),
                "begins": In(layers),
                "ports": port.array(layers),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, turn = self.config, Signal(range(self.layers))
        m.submodules.optimizer = optimizer = SharedModule(
            optimizer_of(config.arithmetic),
            config.optimizer_config,
            config.arithmetic.gradient_sum_shape(config.batch),
        )
        m.d.comb += optimizer.coefficients.eq(self.coefficients)
        members = {path: value for path, _, value in optimizer.signature.flatten(optimizer)}
        for number, port in enumerate(self.ports):
            with m.If(self.begins[number]):
                m.d.sync += turn.eq(number)
            for path, member, value in port.signature.flatten(port):
                if member.flow == Out:
                    m.d.comb += value.eq(members[path])
        with m.Switch(turn):
            for number, port in enumerate(self.ports):
                with m.Case(number):
                    for path, member, value in port.signature.flatten(port):
                        if member.flow == In:
                            m.d.comb += members[path].eq(value)
        return m

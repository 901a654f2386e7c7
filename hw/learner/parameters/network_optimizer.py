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
    layer_<n> : In
        ``optimizer`` of the ``LayerParameters`` of layer n. The results of all layers are those of
        the layer that has its turn.
    """

    def __init__(self, config, layers):
        self.config, self.layers = config, layers
        port = optimizer_members(config)["optimizer"].flip()
        super().__init__(
            {
                "coefficients": In(optimizer_of(config.arithmetic).COEFFICIENTS),
                "begins": In(layers),
                **{f"layer_{n}": port for n in range(layers)},
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
        ports = [getattr(self, f"layer_{n}") for n in range(self.layers)]
        for number, port in enumerate(ports):
            with m.If(self.begins[number]):
                m.d.sync += turn.eq(number)
            for name, member in port.signature.members.items():
                if member.flow == Out:
                    m.d.comb += getattr(port, name).eq(getattr(optimizer, name))
        with m.Switch(turn):
            for number, port in enumerate(ports):
                with m.Case(number):
                    for name, member in port.signature.members.items():
                        if member.flow == In:
                            m.d.comb += getattr(optimizer, name).eq(getattr(port, name))
        return m

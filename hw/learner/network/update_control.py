"""The begin of each layer's update, and the scale of its gradients."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.algorithms.plan import mask
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.parameters.square_sum import SquareSum

__all__ = ["UpdateControl"]


class UpdateControl(wiring.Component):
    """Begins the update of each layer when its gradients are complete. With an optimizer for the
    network, an update also waits until none of the network's runs; of layers that are ready the
    last one goes first, for its gradients are complete first. With ``config.clip_norm`` a layer is
    measured then, and the layers of a network are updated together when their scale has come.
    Layers are in the order of the parameter image.

    Parameters
    ----------
    config : LearnerConfig

    Members
    -------
    updates : In(sweeps)
        As in ``SweepControl``.
    done, busy : In(layers)
        Members of each ``Layer``.
    update : Out(layers)
        A pulse of a layer's bit: it is updated.
    updating : Out(1)
        An update is asked for and has not begun, or a layer is busy.
    measure : Out(layers), squares : In(shape).array(layers)
        A pulse of a layer's bit: it is measured; what it measured.
    clear : In(1), scales : In(32).array(networks), max_norm : In([pairs] of 32)
        A pulse begins a gradient step, with these hyperparameters; ``max_norm`` by the rate of a
        network. Steady until all updates have ended.
    limited : Out(32).array(networks)
        The scale of the gradients of each network. These and the two lines above only with
        ``config.clip_norm``.
    """

    def __init__(self, config):
        self.config = config
        shapes = [layer for layers in config.networks.values() for layer in layers]
        count, shared = len(shapes), config.layer_config
        members = {
            "updates": In(config.plan.sweeps),
            "done": In(count),
            "busy": In(count),
            "update": Out(count),
            "updating": Out(1),
        }
        if config.clip_norm:
            sums = [SquareSum.sum_shape(shared, shape) for shape in shapes]
            self._sum = max(sums, key=lambda shape: shape.width)
            members |= {
                "measure": Out(count),
                "squares": In(self._sum).array(count),
                "clear": In(1),
                "scales": In(32).array(len(config.networks)),
                "max_norm": In(data.ArrayLayout(32, 2)),
                "limited": Out(32).array(len(config.networks)),
            }
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        plan, places, first = self.config.plan, [], 0
        for name, layers in self.config.networks.items():
            places.append((name, range(first, first + len(layers))))
            first += len(layers)
        waiting = Signal(first)  # layers whose update is asked for and has not begun
        m.d.comb += self.updating.eq(waiting.any() | self.busy.any())
        m.d.sync += waiting.eq(waiting & ~self.update)
        for sweep, update in enumerate(self.updates):
            trained = [plan.trained_in(name) == sweep for name, own in places for _ in own]
            with m.If(update):
                m.d.sync += waiting.eq(mask(trained))
        if self.config.layer_config.network_optimizer:
            for name, own in places:
                idle = Signal(name=f"{name}_idle")
                ready = (waiting & self.done)[own.start : own.stop]
                m.d.comb += idle.eq(~self.busy[own.start : own.stop].any())
                for k, layer in enumerate(own):
                    m.d.comb += self.update[layer].eq(ready[k] & idle & ~ready[k + 1 :].any())
            return m
        if not self.config.clip_norm:
            m.d.comb += self.update.eq(waiting & self.done)
            return m
        measured = Signal(first)  # layers whose measuring has begun
        m.d.comb += self.measure.eq(waiting & self.done & ~measured)
        m.d.sync += measured.eq((measured | self.measure) & ~self.update)
        for number, (name, own) in enumerate(places):
            norm = GradientNorm(self.config.layer_config, self._sum, len(own))
            m.submodules[f"{name}_norm"] = norm
            idle = (measured & ~self.busy)[own.start : own.stop]
            m.d.comb += [
                norm.clear.eq(self.clear),
                norm.complete.eq(idle.all()),
                norm.scale.eq(self.scales[number]),
                norm.max_norm.eq(self.max_norm[plan.networks[name].rate]),
                *(norm.totals[k].eq(self.squares[layer]) for k, layer in enumerate(own)),
                self.update[own.start : own.stop].eq(norm.ready.replicate(len(own))),
                self.limited[number].eq(norm.limited),
            ]
        return m

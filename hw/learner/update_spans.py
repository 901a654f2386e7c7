"""When the layers of a learner are updated, by the clocks of their last gradients.

Usually a layer is updated as soon as its own gradients are complete. With ``clip_norm`` it is
measured then, and all layers of its network begin when the network's scale has come. With
``update_units`` 0 the layers of a network take turns with its one optimizer.
"""

from hw.learner.block.layer_clocks import update_clocks
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.parameters.layer_parameters import measure_clocks
from hw.learner.placed_layers import placed

__all__ = ["sweep_end", "update_spans"]

#: Clocks from a layer's last gradient to its update, or its measuring walk, which is ``done``; from
#: the end of that walk until the layer is idle; and from the end of the update to the end of the
#: step.
_DONE, _IDLE, _SETTLED = 1, 1, 1


def sweep_end(config, sweep, left):
    """The clock when the learner detects the end of a sweep.

    left : clock of each layer's last gradient, None without errors
    """
    updated = [end for _, end in update_spans(config, sweep, left).values()]
    passed = [clock + _DONE for clock in left if clock is not None]
    return max(*passed, *updated) + _SETTLED


def update_spans(config, sweep, left):
    """``{number in placed: (begin, end)}`` of the update of each layer that a sweep trains;
    ``left`` is as for ``sweep_end``."""
    shared, begins = config.layer_config, {}
    for name in config.networks:
        if config.plan.trained_in(name) != sweep:
            continue
        own = {k: layer for k, layer in enumerate(placed(config)) if layer.network == name}
        done = {k: left[k] + _DONE for k in own}
        if config.clip_norm:
            measured = max(done[k] + measure_clocks(shared, own[k].shape) for k in own) + _IDLE
            ready = GradientNorm.ready_of(config.arithmetic, len(own))
            done = dict.fromkeys(own, measured + ready)
        clocks = {k: update_clocks(shared, layer.shape) for k, layer in own.items()}
        if shared.network_optimizer:
            done = _in_turn(done, clocks)
        begins |= {k: (done[k], done[k] + clocks[k]) for k in own}
    return begins


def _in_turn(ready, clocks):
    """``{layer: clock}`` when each update begins, from the clocks when the layers are ready: the
    network's optimizer takes them in turn, of several that are ready the last one."""
    begun, clock = {}, 0
    while waits := ready.keys() - begun:
        clock = max(clock, min(ready[number] for number in waits))
        number = max(number for number in waits if ready[number] <= clock)
        begun[number] = clock
        clock += clocks[number] + _SETTLED
    return begun

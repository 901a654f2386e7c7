"""CF'22's formula of a gradient step, and how much of a kernel's multipliers a step needs."""

from math import ceil

from hw.learner.placed_layers import placed

__all__ = ["REFERENCES", "cf22_cycles", "mac_utilization", "multipliers_of", "nominal_pes"]

#: CF'22's formula with the multipliers that a kernel has, and with the PEs that CF'22 gives the
#: network.
REFERENCES = (
    "CF'22's formula, these multipliers",
    "CF'22's formula, DP={} and {} PEs in the largest layer",
)


def multipliers_of(learner):
    """``{network: list}``: the multipliers that one lane of the kernel has for one data path of
    each layer, V W of its words."""
    return {
        name: [layer.multipliers for layer in layers] for name, layers in learner.networks.items()
    }


def nominal_pes(learner):
    """``{network: list}``: the PEs that CF'22 would give one lane in each layer. These are the
    config's ``multipliers`` in the network's largest layer, and in the others as many as take the
    same time."""
    pes = {}
    for name, layers in learner.networks.items():
        pace = max(layer.weights for layer in layers) / learner.multipliers
        pes[name] = [ceil(layer.weights / pace) for layer in layers]
    return pes


def cf22_cycles(learner, batch, pes):
    """Clocks of a gradient step by CF'22 3.2.3:
    ``(PI + n - 1) * T_max + sum_j DP * size(W_j) / PEs``; of two networks, those of the slower one.

    DP is the learner's lanes, and PI the samples of each, ``batch / DP``. There are n = 3 stages
    for each weight matrix W_j. T_max is the time of the slowest matrix: its multiply-accumulates
    over its PEs. In the weight update each PE has a unit of its own (CF'22's r_WU), so PEs is the
    sum over all layers. ``pes`` has the PEs of one lane in each layer, from ``multipliers_of`` or
    ``nominal_pes``.
    """
    clocks = []
    for name, layers in learner.networks.items():
        count = 3 * len(layers)
        slowest = max(layer.weights / own for layer, own in zip(layers, pes[name], strict=True))
        update = learner.lanes * sum(layer.weights for layer in layers) / sum(pes[name])
        clocks.append((batch // learner.lanes + count - 1) * slowest + update)
    return max(clocks)


def mac_utilization(learner, batch, cycles):
    """The share, 0 to 1, of the multiply-accumulates that a gradient step needs in those that its
    multipliers could do in ``cycles`` clocks.

    A layer needs a pass forward for each group of a sample, such as online and target network; the
    errors of its inputs, if another layer made them; and the weight gradients. The multipliers of
    every pass count in every clock of the step.
    """
    needed = busy = 0
    for stage in placed(learner):
        passes = stage.groups + stage.backward_groups * stage.input_gradient + 1
        needed += passes * stage.shape.weights * batch
        busy += passes * stage.shape.multipliers * learner.lanes
    return needed / (busy * cycles)

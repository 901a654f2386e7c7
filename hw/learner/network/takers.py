"""Wires a network to those that take its outputs: words forward, with noise if its passes are
smoothed; errors back, which are added if they come from several networks."""

from amaranth import *

from hw.comparison import at_least, below
from hw.learner.algorithms.plan import mask, of_sweep
from hw.learner.network.merge import Merge
from hw.learner.network.smooth import Smooth
from hw.learner.placed_layers import merges

__all__ = ["wire_takers"]


def wire_takers(m, trainer, name, networks):
    """Wires the last layer of a network to the first layers of those that take its outputs."""
    plan, before, takers = trainer.config.plan, networks[name][-1], trainer.config.plan.takers(name)
    rooms, comes, begun, words = [], [], [], []
    outputs = before.o
    if any(plan.smoothed(name)):
        smooth = _smooth(m, trainer, name, before)
        outputs = smooth.o
        rooms.append(smooth.room)
    for taker in takers:
        layer, runs = networks[taker][0], trainer.runs(taker)
        first = layer.shape.joined_word
        m.d.comb += [
            layer.chain.valid.eq(outputs.valid & runs),
            layer.chain.index.eq(outputs.index),
            layer.chain_begun.eq(before.started & runs),
        ]
        taken, paths = plan.taken(taker), layer.ring.chain_groups
        for k, path in enumerate(paths):
            sources = [sweep.get(path, 0) for sweep in taken]
            known = {sweep[path] for sweep in taken if path in sweep}
            sources = [known.pop()] * len(taken) if len(known) == 1 else sources
            value = of_sweep(trainer.running, sources)
            for source in {*sources}:
                with m.If(value == source):
                    m.d.comb += layer.chain.value[k].eq(outputs.value[source])
        masks = [mask(path in sweep for path in paths) for sweep in taken]
        m.d.comb += layer.chain_mask.eq(trainer.now(masks))
        rooms.append(layer.chain_room | ~runs)
        # Other words are of experiences, or padding.
        end = first + before.shape.output_words
        valid = layer.dx.valid & at_least(layer.dx.index, first) & below(layer.dx.index, end)
        returned = plan.returned(taker)
        back = trainer.now([int(bool(paths)) for paths in returned])
        comes.append(valid & back)
        begun.append(layer.dx_begun & back)
        words.append((layer.dx.value, returned))
        m.d.comb += layer.dx_room.eq(before.delta_room | ~back)
    m.d.comb += [
        before.room.eq(Cat(rooms).all()),
        before.delta_begun.eq(Cat(begun).any()),
    ]
    _return(m, trainer, name, before, comes, words)


def _smooth(m, trainer, name, before):
    """The ``Smooth`` after the layer ``before``, the last of a network."""
    config, sweeps = trainer.config, trainer.sweeps
    smooth = Smooth(config.layer_config, before.shape, config.plan.count(name))
    m.submodules[f"{name}_smooth"] = smooth
    masks, numbers = config.plan.smoothed(name), trainer.control.hyperparameters
    m.d.comb += [
        smooth.start.eq(Cat(sweeps.start[k] for k, mask in enumerate(masks) if mask).any()),
        smooth.samples.eq(before.samples),
        smooth.seed.eq(numbers.seed),
        smooth.deviation.eq(numbers.noise),
        smooth.clip.eq(numbers.noise_clip),
        smooth.smoothed.eq(Mux(trainer.acting, 0, of_sweep(sweeps.sweep, masks))),
        smooth.begun.eq(before.started),
        smooth.i.eq(before.o),
    ]
    # An ACT may be over before its last word would have passed.
    with m.If(trainer.acting):
        m.d.comb += smooth.i.valid.eq(0)
    return smooth


def _return(m, trainer, name, before, comes, words):
    """Wires the errors that takers return, ``words`` if they are in ``comes``, back to the
    layer ``before``."""
    groups = before.backward_groups
    if not merges(trainer.config, name):
        m.d.comb += before.delta.valid.eq(Cat(comes).any())
        for value, returned in words:
            for path in range(groups):
                for sweep, paths in _cases(trainer, returned, path):
                    with m.If(sweep):
                        m.d.comb += before.delta.payload[path].eq(value[paths])
        return
    merge = Merge(trainer.config.layer_config, before.shape.output_word, groups, len(words))
    m.submodules[f"{name}_merge"] = merge
    trainer.merges.append(merge)
    for k, (value, returned) in enumerate(words):
        wanted = [mask(path in paths for path in range(groups)) for paths in returned]
        m.d.comb += [merge.i[k].valid.eq(comes[k]), merge.wanted[k].eq(trainer.now(wanted))]
        for path in range(groups):
            for sweep, paths in _cases(trainer, returned, path):
                with m.If(sweep):
                    m.d.comb += merge.i[k].value[path].eq(value[paths])
    m.d.comb += [
        before.delta.valid.eq(merge.o.valid),
        before.delta.payload.eq(merge.o.value),
    ]


def _cases(trainer, returned, path):
    """``(condition, data path)`` for each data path of a taker that returns errors to ``path``.
    The condition is 1 in the sweeps that use it."""
    sources = {sweep[path] for sweep in returned if path in sweep}
    for source in sources:
        yield trainer.now([int(sweep.get(path) == source) for sweep in returned]), source

"""Updates of one network: sums of all cores, and what the twin of the optimizers makes of them."""

import numpy as np
from fixar.parameters.cases import bits, gradient_of, hexadecimal, layers, places_of
from learner.parameters.parameter import record
from packed import packed

from hw.fixar.parameters.layouts import sums_layout
from hw.learner.config import stored_sets
from sim.model.nn.optimizer import coefficients, update

__all__ = ["SUM_WIDTH", "Phase"]

SUM_WIDTH = 106

#: Of the critic and of the actor, one after the other: soft targets, and copies; large steps that
#: clip, and no floor, so that padding divides 0 by 0.
STEP = record(
    scale=1 / 64,
    first_decay=0.9,
    first_gain=0.1,
    second_decay=0.999,
    second_gain=0.001,
    rate=(0.01, 0.5),
    floor=(1e-3, 0),
    blend=(0.005, 1),
    keep=(0.995, 0),
)


def sums_of(config, rng, lanes, shift):
    """Cores' sums of a word, which has so many numbers, and its gradients."""
    sums = np.zeros((config.cores, config.side), object)
    gradients = [(0, False)] * config.side
    for lane in range(lanes):
        size = int(rng.integers(1, 60 - shift))
        shares = [int(rng.integers(-(1 << size), 1 << size)) for _ in range(config.cores)]
        sums[:, lane] = shares
        gradients[lane] = gradient_of(shares, shift)
    return sums, gradients


class Phase:
    """An update of one network in ``memories``, arrays [words, side], which it changes: of some of
    its words, or of all, in any order."""

    def __init__(self, config, rng, memories, network, words=None):
        self.config, self.rng, self.memories, self.network = config, rng, memories, network
        self.sums, self.counts = [], dict(clipped_gradients=0, clipped_weights=0)
        name = list(config.networks)[network]
        addresses = []
        for other, _, layer in layers(config):
            if other == name:
                addresses += [
                    (at, min(config.side, layer.outputs - k // (layer.inputs + 1) * config.side))
                    for k, at in enumerate(places_of(layer).tolist())
                ]
        for address, lanes in rng.permutation(addresses)[:words].tolist():
            self._visit(address, lanes)

    def _visit(self, address, lanes):
        config, layout = self.config, sums_layout(self.config, SUM_WIDTH)
        keep, shift = int(self.rng.random() < 0.8), int(self.rng.integers(32))
        sums, gradients = sums_of(config, self.rng, lanes, shift)
        word = dict(valid=1, keep=keep, address=address, shift=shift, sums=sums)
        self.sums.append(f"{packed(layout, word)[0]:x}")
        if not keep:
            return
        names = {"online": "weight", "target": "target", "first": "first", "second": "second"}
        old = [self.memories[name][address].copy() for name in names]
        new = update(
            config,
            coefficients(STEP, self.network),
            np.array([gradient for gradient, _ in gradients]),
            *(word.view(np.int32).astype(np.int64) for word in old[:2]),
            *(word.view(np.float32) for word in old[2:]),
        )
        for name in stored_sets(config):
            self.memories[name][address] = bits(getattr(new, names[name]))
        self.counts["clipped_gradients"] += sum(clipped for _, clipped in gradients)
        self.counts["clipped_weights"] += new.saturations

    def texts(self):
        return dict(
            network=self.network,
            hyperparameters=STEP.tobytes()[::-1].hex(),
            sums=self.sums,
            expected={name: hexadecimal(self.memories[name]) for name in stored_sets(self.config)},
            counts=self.counts,
        )

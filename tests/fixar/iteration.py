"""An iteration on one core, without the optimizers: its numbers by the twin, and what the core is
told."""

import numpy as np
from fixar.passes import Walk
from packed import packed

from hw.fixar.aap.aap import AapCore
from hw.fixar.plan import acting
from hw.fixar.precision import Precision, slots
from sim.model.fixar.network import FixarNetwork, Watch, beside
from sim.model.fixar.numbers import value_of
from sim.model.fixar.tanh import tail

__all__ = ["Iteration", "cells_of"]


def precision_of(config, kind, rng, output_shift):
    """``output_shift``: of errors at the critic's output, of which -1 needs a shift of 4."""
    activations, errors = slots(config)
    error_shifts = [int(s) for s in rng.integers(0, 7, errors)]
    error_shifts[len(config.hidden)] = output_shift
    return Precision(
        activations=kind != "full",
        errors=kind == "half",
        activation_shifts=tuple(int(s) for s in rng.integers(3, 9, activations)),
        error_shifts=tuple(error_shifts),
        activation_bits=int(rng.choice([8, 11, 15, 16])),
    )


class Iteration:
    """Numbers of an iteration of ``core``, by the twin, and what the core is told.

    above : biases are so large that no hidden number is 0.
    """

    def __init__(self, config, kind, batch, core, seed=1, above=0):
        self.config, self.batch, self.core = config, batch, core
        self.rng = np.random.default_rng(seed)
        self.precision = precision_of(config, kind, self.rng, 2 if seed % 2 else 6)
        self.watch = Watch(config)
        self.nets = {name: FixarNetwork(config, name, self.watch) for name in config.networks}
        for net in self.nets.values():
            net.precision = self.precision
        self.count = -(-(batch - core) // config.cores)
        self.prepared = {
            name: {kind: self._weights(layers, above) for kind in ("online", "target")}
            for name, layers in config.networks.items()
        }
        self.walk = Walk(config, self.precision, batch, core, self._framed())
        self.layouts = self.walk.layouts

    def _numbers(self, limit, *shape):
        drawn = self.rng.integers(-limit, limit, shape).astype(np.float64)
        ends = self.rng.choice([-limit, limit - 1], shape)
        return np.where(self.rng.random(shape) < 0.05, ends, drawn)

    def _weights(self, layers, above):
        limit, bias = (1 << 19, 1 << 25) if above else (1 << 23, 0)
        return [
            (
                self._numbers(limit, layer.outputs, layer.inputs),
                self._numbers(1 << 22, layer.outputs) + bias,
            )
            for layer in layers
        ]

    def _framed(self):
        """Inputs in the order of the frame: a critic's actions first."""
        return {
            name: {
                kind: [
                    (np.roll(w, layer.last, axis=1), b)
                    for (w, b), layer in zip(pairs, self.config.networks[name], strict=True)
                ]
                for kind, pairs in sets.items()
            }
            for name, sets in self.prepared.items()
        }

    def expect(self):
        """Runs the twin's passes."""
        config, watch = self.config, self.watch
        actor, critic = self.nets["actor"], self.nets["critic"]
        last, count = len(config.hidden), self.count
        frame = [config.observation, config.observation, config.action]
        self.frame = [self._numbers(1 << 21, size, count) for size in frame]
        seen, next_seen, acted = (actor.frame_cells(part, watched=False) for part in self.frame)
        _, outputs = actor.forward(self.prepared["actor"]["target"], next_seen)
        self.following = actor.action_cells(outputs)
        _, next_q = critic.forward(
            self.prepared["critic"]["target"], beside(next_seen, self.following)
        )
        critic_inputs, q = critic.forward(self.prepared["critic"]["online"], beside(seen, acted))
        actor_inputs, outputs = actor.forward(self.prepared["actor"]["online"], seen)
        self.policy = actor.action_cells(outputs)
        self.q, self.next_q = q[0], next_q[0]

        self.delta = self._numbers(1 << 21, 1, count)
        critic.see_errors(self.delta, last)
        errors = critic.error_cells(self.delta, last)
        self.sums = {}
        _spy(critic, self.sums, "critic")
        _spy(actor, self.sums, "actor")
        critic.backward(self.prepared["critic"]["online"], critic_inputs, errors)
        inputs, values = critic.forward(
            self.prepared["critic"]["online"], beside(seen, self.policy)
        )
        self.value = int(values[0].sum())
        seed = np.full((1, count), -(2.0**config.arithmetic.gradient.fraction))
        critic.see_errors(seed, last)
        errors = critic.error_cells(seed, last)
        first = [
            (np.roll(w, config.action, axis=1) if k == 0 else w, b)
            for k, (w, b) in enumerate(self.prepared["critic"]["online"])
        ]
        _, dx = critic.backward(first, inputs, errors, trained=False, input_gradient=config.action)
        self.seen_at_output = [(float(x.min()), float(x.max())) for x in (self.delta, seed)]
        delta = actor.through_tanh(dx, self.policy)
        actor.see_errors(delta, last)
        errors = actor.error_cells(delta, last)
        actor.backward(self.prepared["actor"]["online"], actor_inputs, errors)
        self.saturations = watch.saturations[1:]

    # -- what the core is told

    def jobs(self):
        self.expect()
        obs, next_obs, action = self.frame
        passes = self.walk.passes()
        decides = 4 * (len(self.config.hidden) + 1)
        jobs = [["intake", self._intake(obs, next_obs, action)]]
        jobs += [["pass", job] for job in passes[:decides]]
        jobs += [["errors", self._errors()]]
        jobs += [["pass", job] for job in passes[decides:]]
        words = self.layouts.action_depth
        return [*jobs, ["q", self.walk.words], ["action", words], ["value", 0]]

    def acting_jobs(self):
        """Of an ACT; and the tanh that the actor gives."""
        config, actor = self.config, self.nets["actor"]
        obs = self._numbers(1 << 24, config.observation, self.count)
        none = np.zeros((config.action, self.count))
        cells = actor.frame_cells(obs, watched=False)
        _, outputs = actor.forward(self.prepared["actor"]["online"], cells, watched=False)
        passes = self.walk.passes()
        jobs = [["intake", self._intake(obs, obs, none)], ["acting", 1]]
        jobs += [["pass", passes[k]] for k in acting(config)]
        return [*jobs, ["action", self.layouts.action_depth]], tail(config.arithmetic, outputs)

    def _cells(self, values):
        """Cells [features, words] of numbers of the frame."""
        return cells_of(self.nets["actor"].frame_cells(values, watched=False), self.walk.words)

    def _intake(self, obs, next_obs, action):
        config, layouts = self.config, self.layouts
        side, samples, a = config.side, config.samples, config.action
        writes = []

        def write(cells, base, to_action):
            for tile in range(-(-len(cells) // side)):
                block = np.zeros((side, cells.shape[1]), np.int64)
                own = cells[tile * side : (tile + 1) * side]
                block[: len(own)] = own
                for t in range(cells.shape[1]):
                    address = (base + tile) * samples + t
                    for halves in (1, 2) if (t + tile) % 2 else (3,):
                        word = block[:, t]
                        # The other half is not written.
                        word = word ^ {1: 0xFFFF0000, 2: 0xFFFF, 3: 0}[halves]
                        writes.append((to_action, address, halves, word.tolist()))

        for part, base in ((obs, layouts.regions.states[0]), (next_obs, layouts.regions.states[1])):
            frame = np.full((a + config.observation, self.walk.words), 0x5A5AA5A5, np.int64)
            frame[a:] = self._cells(part)
            write(frame, base, 0)
        write(self._cells(action), 0, 1)
        shape = AapCore(config).signature.members["intake"].shape
        return [
            packed(shape, dict(valid=1, action=x, address=at, halves=halves, word=word))[0]
            for x, at, halves, word in writes
        ]

    def _errors(self):
        shape = AapCore(self.config).signature.members["errors"].shape
        delta, pair = self.delta[0].astype(np.int64), self.walk.half_e
        words = []
        for word in range(self.walk.error_words):
            places = [2 * word, 2 * word + 1] if pair else [word]
            value = [int(delta[j]) if j < self.count else 0 for j in places]
            keep = sum((j < self.count) << k for k, j in enumerate(places))
            words.append(packed(shape, dict(valid=1, word=word, keep=keep, value=value))[0])
        return words


def cells_of(cells, words):
    """[features, words] of 32 bits; where there is no sample, what was there before: large."""
    if cells.half:
        count = cells.words.shape[1]
        codes = np.full((len(cells.words), 2 * words), 0x7FFF)
        codes[:, :count] = cells.words.astype(np.int64) & 0xFFFF
        return codes[:, ::2] | codes[:, 1::2] << 16
    numbers = value_of(cells).astype(np.int64) & 0xFFFFFFFF
    beyond = ((0, 0), (0, words - numbers.shape[1]))
    return np.pad(numbers, beyond, constant_values=1 << 30)


def _spy(net, sums, name):
    """Sums of a DW as they leave the accumulators, [outputs, inputs] and [outputs]."""
    kept, original = sums.setdefault(name, []), net._gradients

    def gradients(errors, cells):
        def whole(part):
            numbers = part.words if part.half else value_of(part)
            return numbers.astype(np.int64).astype(object)

        e, x = whole(errors), whole(cells)
        kept.append((e.dot(x.T), e.sum(axis=1)))
        return original(errors, cells)

    net._gradients = gradients

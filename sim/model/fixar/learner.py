"""Bit-exact twin of FIXAR's learner: gradient steps of DDPG in the paper's order.

The critic is updated first, and the actor's gradient goes through the updated critic (FIXAR III).
"""

import numpy as np

from hw.errors import UsageError
from hw.fixar.precision import Precision
from sim.model.arith import float32
from sim.model.arith.quantize import quantize
from sim.model.arith.to_float import to_float
from sim.model.fixar.network import FixarNetwork, Watch, beside
from sim.model.fixar.tanh import tail
from sim.model.learner.algorithms.ddpg import critic_loss
from sim.model.learner.network.trainer import Trained
from sim.model.learner.parameters.parameter_sets import ParameterSets
from sim.model.nn.losses import td_loss

__all__ = ["FixarTrainer"]


class FixarTrainer(ParameterSets):
    """Actor and critic of a FixarConfig with their optimizer state, all zeros at first; it acts and
    makes gradient steps.

    Attributes
    ----------
    precision : Precision
        The precision of activations and errors in the passes to come, set by ``set_precision``.
        Parameters always have full precision.
    watch : Watch
        Ranges of the activations and errors of all layers, and counts of clipped numbers.
    """

    def __init__(self, config):
        super().__init__(config)
        self.watch = Watch(config)
        self._nets = {name: FixarNetwork(config, name, self.watch) for name in config.networks}
        self.set_precision(Precision())

    def set_precision(self, precision):
        precision.check(self.config)
        self.precision = precision
        for network in self._nets.values():
            network.precision = precision

    # -- acting

    def act(self, observations):
        """The actor's actions, float32 [n, action], for observations float32 [n, observation]."""
        x = quantize(np.asarray(observations, np.float32).T, self.config.arithmetic.activation)[0]
        actor = self._nets["actor"]
        cells = actor.frame_cells(x.astype(np.float64), watched=False)
        _, outputs = actor.forward(self._prepared("actor", "online"), cells, watched=False)
        arithmetic = self.config.arithmetic
        return to_float(tail(arithmetic, outputs), arithmetic.tanh_format.fraction).T

    # -- a gradient step

    def train(self, records, index, weight, step):
        """Trains on a batch, in place; returns ``Trained``. The parameters are those of
        ``sim.model.learner.network.trainer.Trainer.train``. Raises UsageError, a ValueError, if
        the batch is empty or larger than ``config.batch``. If a TD error is infinite or NaN, no
        parameter changes, and ``value`` is 0."""
        batch = len(weight)
        if not 0 < batch <= self.config.batch:
            raise UsageError(f"batch must be in 1..{self.config.batch}, not {batch!r}")
        self.watch.saturations = [0, 0, 0]
        largest = np.float32(np.max(weight))
        names = ("obs", "next_obs", "action")
        obs, next_obs, action = (self._loaded(records[name], batch) for name in names)
        q, following, states = self._values(obs, next_obs, action)
        scalars = {name: np.asarray(records[name], np.float32) for name in ("reward", "discount")}
        scalars["weight"] = np.asarray(weight, np.float32)
        delta, result = self._td_errors(
            q, following, scalars, float32.reciprocal(largest), np.float32(step["clip"])
        )
        errors = self._nets["critic"].error_cells(delta, len(self.config.hidden))
        value = np.float32(0)
        if result.diverged is None:
            self._nets["critic"].see_errors(delta, len(self.config.hidden))
            value = self._descend(states, errors, batch, step)
        return Trained(
            td=result.td,
            loss=result.loss,
            td_sum=result.td_sum,
            value=value,
            weight=largest,
            diverged=result.diverged,
            saturations=tuple(self.watch.saturations),
        )

    def _prepared(self, name, parameter_set):
        return self._nets[name].prepare(self.weights_of(name, parameter_set))

    def _learn(self, name, gradients, step):
        self.keep(name, gradients)
        self.watch.saturations[0] += self.step(name, step, list(self._nets).index(name))

    def _loaded(self, field, batch):
        """Numbers [features, batch] of a field of the experiences; they count for ranges and
        saturations."""
        rows = np.asarray(field, np.float32).reshape(batch, -1).T
        raw, saturated = quantize(rows, self.config.arithmetic.activation)
        self.watch.saturations[1] += int(np.count_nonzero(saturated))
        self.watch.see("activations", 0, raw.min(), raw.max())
        return raw.astype(np.float64)

    def _values(self, obs, next_obs, action):
        """Q(s, a) and the target's Q value, raw, and what the backward passes need."""
        actor, critic = self._nets["actor"], self._nets["critic"]
        seen, next_seen, acted = (actor.frame_cells(part) for part in (obs, next_obs, action))
        _, outputs = actor.forward(self._prepared("actor", "target"), next_seen)
        following = actor.action_cells(outputs)
        _, next_q = critic.forward(self._prepared("critic", "target"), beside(next_seen, following))
        critic_inputs, q = critic.forward(self._prepared("critic", "online"), beside(seen, acted))
        actor_inputs, outputs = actor.forward(self._prepared("actor", "online"), seen)
        policy = actor.action_cells(outputs)
        return q[0], next_q[0], (critic_inputs, actor_inputs, seen, policy)

    def _td_errors(self, q, following, scalars, inverse, clip):
        """Errors [1, batch] at the critic's output, and the results of the batch."""
        q, following = (x.astype(np.int64)[:, None] for x in (q, following))
        # The policy's value, in the middle, comes later, from the updated critic.
        outputs = (q, q, following)
        result = critic_loss(td_loss, self.config, outputs, scalars, inverse, clip)
        self.watch.saturations[2] += result.saturations
        return result.delta[0].T.astype(np.float64), result

    def _descend(self, states, errors, batch, step):
        """Update the critic, then the actor through it; returns the sum of Q(s, mu(s))."""
        config, critic, actor = self.config, self._nets["critic"], self._nets["actor"]
        critic_inputs, actor_inputs, seen, policy = states
        last = len(config.hidden)
        gradients, _ = critic.backward(self._prepared("critic", "online"), critic_inputs, errors)
        self._learn("critic", gradients, step)

        prepared = self._prepared("critic", "online")
        inputs, values = critic.forward(prepared, beside(seen, policy))
        seed = np.full((1, batch), -(2.0**config.arithmetic.gradient.fraction))
        critic.see_errors(seed, last)
        errors = critic.error_cells(seed, last)
        action_first = [
            (np.roll(w, config.action, axis=1) if k == 0 else w, b)
            for k, (w, b) in enumerate(prepared)
        ]
        _, dx = critic.backward(
            action_first, inputs, errors, trained=False, input_gradient=config.action
        )
        delta = actor.through_tanh(dx, policy)
        actor.see_errors(delta, last)
        errors = actor.error_cells(delta, last)
        gradients, _ = actor.backward(self._prepared("actor", "online"), actor_inputs, errors)
        self._learn("actor", gradients, step)
        total = np.array([int(values[0].sum())], np.int64)
        return to_float(total, config.arithmetic.activation.fraction)[0]

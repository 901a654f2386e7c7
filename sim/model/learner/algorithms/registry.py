"""The twin of every algorithm of ``hw.learner.algorithms``, by name."""

from hw.errors import UsageError
from sim.model.learner.algorithms.ddpg import ddpg_gradients
from sim.model.learner.algorithms.dqn import dqn_gradients
from sim.model.learner.algorithms.td3 import actor_gradients, critic_gradients

__all__ = ["GRADIENTS", "gradients_of"]

#: Name -> a tuple with a function for each sweep over the batch, ``gradients(learner, records,
#: scalars, inverse, clip, step)``, which returns ``Gradients``. Networks are updated after each
#: sweep.
#:
#: learner : Trainer, of which only ``config``, ``networks``, ``weights_of`` and ``inputs`` are used
#: records : as ``Trainer.train`` takes them
#: scalars : "weight", "reward", "discount" float32 [B], and "action"
#: inverse : float32, reciprocal of the batch's largest weight
#: clip : float32, the largest gradient of a TD error; infinity for no limit
#: step : the record of the gradient step, of ``config.step_record``
GRADIENTS = {
    "dqn": (dqn_gradients,),
    "ddpg": (ddpg_gradients,),
    "td3": (critic_gradients, actor_gradients),
}


def gradients_of(config):
    """The functions in ``GRADIENTS`` for the algorithm of a LearnerConfig. Raises UsageError, a
    ValueError, if the algorithm has no twin."""
    if config.algorithm not in GRADIENTS:
        known = ", ".join(GRADIENTS)
        raise UsageError(f"algorithm must be one with a twin ({known}), not {config.algorithm!r}")
    return GRADIENTS[config.algorithm]

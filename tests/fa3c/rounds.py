"""Numbers and tasks for ``host.a3c.card_network``."""

import numpy as np
from fa3c.networks import NETWORKS

from host.a3c.card_network import Infer, Train
from host.explore import round_clocks

__all__ = ["CONFIG", "infer", "parameters_of", "screens_of", "train"]

CONFIG = NETWORKS["usual"]  # 7 x 6 x 3 bytes, 4 outputs, units infer and train, 3 steps, 3 agents


def parameters_of(config, seed=0):
    """``random_parameters``. ``seed``: or a generator."""
    return round_clocks.random_parameters(config, np.random.default_rng(seed))


def screens_of(config, count, seed=0):
    """Random observations [count, height, width, channels]. ``seed``: or a generator."""
    return round_clocks.screens_of(config, count, np.random.default_rng(seed))


def infer(agents, step, **fields):
    fields = dict(unit=0, snapshot=0, observations=screens_of(CONFIG, len(agents))) | fields
    return Infer(agents=agents, step=step, **fields)


def train(agent, steps, **fields):
    errors = np.random.default_rng(1).standard_normal((steps, CONFIG.outputs))
    return Train(**dict(unit=1, snapshot=0, agent=agent, errors=errors, rate=0.01) | fields)

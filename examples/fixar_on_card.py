"""DDPG on Pendulum-v1 by FIXAR: the card trains and acts, in 32 bits at first, then in 16."""

import argparse
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
from rlfabric.host.fixar.fixar_replay import FixarReplay
from rlfabric.host.fixar.precision_plan import shift_of
from rlfabric.host.kernels import describe, generate
from rlfabric.host.learner.learning_replay import hyperparameter_records
from rlfabric.hw.fixar.precision import Precision

from rlfabric import open_card

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="model, sim, or xrt with --kernel")
options.add_argument("--kernel", type=Path, help="folder of kernel.json and fixar.xclbin")
options.add_argument("--steps", type=int, default=12_000)
options = options.parse_args()
HIDDEN, BATCH, RATE, GAMMA, WARM = (64, 64), 64, 1e-3, 0.99, 400
make = describe if options.card == "model" else generate
sizes = dict(observation=3, action=1, hidden=HIDDEN, batch=BATCH, cores=1, side=16, port_words=4)
folder = options.kernel or make("fixar", "u50", "build", capacity=1 << 14, **sizes)
rng = np.random.default_rng(0)


def layers(*widths):
    return [(rng.uniform(-1, 1, (o, i)) / i**0.5, np.zeros(o)) for i, o in pairwise(widths)]


def half_precision(ranges):
    """Codes of 16 bits for numbers twice as large as any that the card has seen."""
    (frame, *hidden), errors = ((2 * pairs).tolist() for pairs in ranges)
    hidden = [shift_of(*pair, 32, signed=False) for pair in hidden]
    errors = tuple(shift_of(*pair, 27) for pair in errors)
    both, shifts = dict(activations=True, errors=True), (shift_of(*frame, 32), *hidden)
    return Precision(**both, activation_shifts=shifts, error_shifts=errors)


env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("Pendulum-v1"), 10)
with open_card(options.card) as card:
    replay = FixarReplay(card.load(folder / "kernel.json"), capacity=10_000)
    replay.initialize({"critic": layers(4, *HIDDEN, 1), "actor": layers(3, *HIDDEN, 1)})
    obs, _ = env.reset(seed=0)
    for t in range(1 - WARM, options.steps + 1 - WARM):  # from 1 on a gradient step each
        action = replay.act(obs[None], noise=0.1 if t > 0 else 1, seed=t + WARM)[0]
        after, reward, _, ended, _ = env.step(2 * action)
        new = dict(obs=obs[None], next_obs=after[None], action=action[None])
        replay.add(**new, reward=np.array([reward / 10]), discount=np.array([GAMMA]))
        obs = env.reset()[0] if ended else after
        if t > 0:
            adam = dict(rate=RATE * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t), blend=0.005)
            adam |= dict(first_decay=0.9, second_decay=0.999, floor=1e-8, scale=1 / BATCH)
            replay.learn(hyperparameter_records(1, **adam), batch_size=BATCH)
        if t == (options.steps - WARM) // 2:
            replay.set_precision(half_precision(replay.ranges))
last = env.return_queue
print(f"mean return of the last {len(last)} episodes {np.mean(last or 0):.1f}")

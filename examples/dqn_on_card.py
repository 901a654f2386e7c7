"""DQN on CartPole-v1: draws, gradient steps and priorities on the card, actors on the host."""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
from rlfabric.host.kernels import describe, generate
from rlfabric.host.learner.learning_replay import LearningReplay, hyperparameter_records

from rlfabric import open_card

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="model, sim, or xrt with --kernel")
options.add_argument("--kernel", type=Path, help="folder of kernel.json and dqn.xclbin")
options.add_argument("--steps", type=int, default=40_000)
options = options.parse_args()

HIDDEN, BATCH, ACTORS, RATE, GAMMA = (64, 64), 32, 8, 1e-3, 0.99
make = describe if options.card == "model" else generate
network = dict(observation=4, action=2, hidden=HIDDEN, batch=BATCH)
folder = options.kernel or make("dqn", "u200", "build", capacity=1 << 15, **network)
rng, sizes = np.random.default_rng(0), list(zip((4, *HIDDEN), (*HIDDEN, 2), strict=True))
layers = [(rng.normal(0, (2 / i) ** 0.5, (o, i)), np.zeros(o)) for i, o in sizes]


def act(obs, explore):
    for k, (weights, biases) in enumerate(layers):
        obs = (np.maximum(obs, 0) if k else obs) @ weights.T + biases
    return np.where(rng.random(ACTORS) < explore, rng.integers(2, size=ACTORS), obs.argmax(1))


same_step = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
envs = gymnasium.make_vec("CartPole-v1", ACTORS, "sync", vector_kwargs=same_step)
with open_card(options.card) as card:
    replay = LearningReplay(card.load(folder / "kernel.json"), capacity=20_000)
    replay.initialize({"q": layers})
    (obs, _), returns, total, updates = envs.reset(seed=0), [], np.zeros(ACTORS), 0
    for step in range(options.steps // ACTORS):
        action = act(obs, explore=max(0.05, 1 - step * ACTORS / 8000))
        after, reward, terminated, truncated, info = envs.step(action)
        ended, total = terminated | truncated, total + reward
        returns, total = returns + total[ended].tolist(), np.where(ended, 0, total)
        last = np.stack([info["final_obs"][k] if ended[k] else after[k] for k in range(ACTORS)])
        discount = np.where(terminated, 0, GAMMA)
        new = dict(obs=obs, next_obs=last, action=action, reward=reward, discount=discount)
        obs = after
        if step < 100:
            replay.add(**new)
            continue
        # One launch stores the new experiences, trains twice, and brings the weights for acting.
        t = updates + np.array([[1], [2]])  # Adam's bias corrections
        floor, rate = 1e-8 * (1 - 0.999**t) ** 0.5, RATE * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
        decays = dict(first_decay=0.9, second_decay=0.999, blend=0.01)
        pairs = dict(rate=np.repeat(rate, 2, axis=1), floor=np.repeat(floor, 2, axis=1))
        adam = hyperparameter_records(2, scale=1 / BATCH, beta=0.4, clip=1.0, **decays, **pairs)
        learned = replay.learn(adam, batch_size=BATCH, experiences=new, store=["online"])
        layers, updates = [sets["online"] for sets in learned.parameters["q"]], updates + 2
last = returns[-20:]
print(f"{updates} updates, mean return of the last {len(last)} episodes {np.mean(last or 0):.1f}")

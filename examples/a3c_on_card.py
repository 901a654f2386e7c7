"""Actor-critic on CartPole-v1: the card infers and trains, the loop makes actions and errors."""

import argparse
from pathlib import Path

import gymnasium
import numpy as np
from rlfabric.host.a3c.card_network import ActorCritic, Infer, Sync, Train, parameter_shapes
from rlfabric.host.kernels import describe, generate

from rlfabric import open_card

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="model, sim, or xrt with --kernel")
options.add_argument("--kernel", type=Path, help="folder of kernel.json and a3c.xclbin")
options.add_argument("--steps", type=int, default=60_000)
options = options.parse_args()

ACTORS, STEPS, GAMMA, ENTROPY, RATE = 8, 5, 0.99, 0.01, 1e-3
make = describe if options.card == "model" else generate
network = dict(height=1, width=1, channels=4, binary32=True, convolutions=(), hidden=(64,))
network |= dict(outputs=3, agents=ACTORS, batch=ACTORS, steps=STEPS)
folder = options.kernel or make("a3c", "u200", "build", **network)
rng = np.random.default_rng(0)
same_step = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
envs = gymnasium.make_vec("CartPole-v1", ACTORS, "sync", vector_kwargs=same_step)


def infer(obs, step):
    seen, agents = obs.reshape(ACTORS, 1, 1, 4), tuple(range(ACTORS))
    return Infer(unit=0, snapshot=0, agents=agents, observations=seen, step=step)


with open_card(options.card) as card:
    card = ActorCritic(card.load(folder / "kernel.json"))
    shapes = parameter_shapes(card.config)
    card.load({name: rng.uniform(-1, 1, s) * s[-1] ** -0.5 for name, s in shapes.items()})
    (obs, _), returns, total, trains = envs.reset(seed=0), [], np.zeros(ACTORS), []
    for _ in range(options.steps // (ACTORS * STEPS)):
        kept = []
        for step in range(STEPS):
            outputs = card.run([Sync(snapshot=0)] * (step == 0) + [infer(obs, step)])[-1]
            action = (outputs[:, :2] + rng.gumbel(size=(ACTORS, 2))).argmax(1)
            obs, reward, terminated, truncated, _ = envs.step(action)
            ended, total = terminated | truncated, total + reward
            returns, total = returns + total[ended].tolist(), total * ~ended
            kept.append((outputs, action, reward, ended))
        value = card.run([infer(obs, None)])[0][:, 2]
        errors = np.zeros((ACTORS, STEPS, 3), np.float32)
        for step, (outputs, action, reward, ended) in reversed(list(enumerate(kept))):
            value = reward + GAMMA * np.where(ended, 0, value)
            p = np.exp(outputs[:, :2]) / np.exp(outputs[:, :2]).sum(1, keepdims=True)
            gain, entropy = value - outputs[:, 2], -(p * np.log(p)).sum(1, keepdims=True)
            errors[:, step, :2] = gain[:, None] * (p - np.eye(2)[action])
            errors[:, step, :2] += ENTROPY * p * (np.log(p) + entropy)
            errors[:, step, 2] = -0.5 * gain
        how = dict(unit=1, snapshot=0, rate=RATE, epsilon=1e-3)
        card.run([Train(agent=k, errors=errors[k], **how) for k in range(ACTORS)])
last = returns[-20:]
print(f"mean return of the last {len(last)} episodes {np.mean(last or 0):.1f}")

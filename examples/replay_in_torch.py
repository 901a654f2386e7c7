"""A DQN of your own in PyTorch on CartPole-v1, with its prioritized replay memory on a card."""

import argparse
import copy

import gymnasium
import numpy as np
import torch
from torch import nn

from rlfabric import PrioritizedReplayBuffer

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="a card of `rlfabric list cards`")
options.add_argument("--steps", type=int, default=20_000)
options = options.parse_args()

FIELDS = {name: (np.float32, (4,)) for name in ("obs", "next_obs")}
FIELDS |= {"action": (np.int64, ()), "reward": (np.float32, ()), "discount": (np.float32, ())}
torch.manual_seed(0)
torch.set_num_threads(1)
online = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
target = copy.deepcopy(online)
adam, rng = torch.optim.Adam(online.parameters(), 1e-3), np.random.default_rng(0)
env = gymnasium.make("CartPole-v1")
with PrioritizedReplayBuffer(FIELDS, capacity=20_000, card=options.card) as replay:
    (obs, _), returns, total, update = env.reset(seed=0), [], 0.0, None
    for step in range(options.steps):
        greedy = rng.random() > max(0.05, 1 - step / 8000)
        action = int(online(torch.as_tensor(obs)).argmax()) if greedy else int(rng.integers(2))
        after, reward, terminated, truncated, _ = env.step(action)
        discount, total = 0.0 if terminated else 0.99, total + reward
        new = dict(obs=obs, next_obs=after, action=action, reward=reward, discount=discount)
        obs = after
        if terminated or truncated:
            (obs, _), returns, total = env.reset(), [*returns, total], 0.0
        # One launch: new priorities of the last batch, this transition, and the next batch.
        draw = (64, 0.4) if step >= 500 and step % 2 else None
        batch = replay.step(new, update, draw)
        update = None
        if batch:
            b = {name: torch.as_tensor(batch[name]) for name in (*FIELDS, "weights")}
            with torch.no_grad():
                best = online(b["next_obs"]).argmax(1, keepdim=True)
                wanted = b["reward"] + b["discount"] * target(b["next_obs"]).gather(1, best)[:, 0]
            td = wanted - online(b["obs"]).gather(1, b["action"][:, None])[:, 0]
            adam.zero_grad()
            (b["weights"] * td.square()).mean().backward()
            adam.step()
            update = batch["indexes"], td.detach().numpy()
        if step % 250 == 0:
            target.load_state_dict(online.state_dict())
    print(f"mean return of the last {len(last := returns[-20:])} episodes {np.mean(last or 0):.1f}")

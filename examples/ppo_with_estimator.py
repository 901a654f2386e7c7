"""A PPO of your own in PyTorch on CartPole-v1, whose advantages a card estimates."""

import argparse

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from rlfabric import AdvantageEstimator

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--card", default="model", help="a card of `rlfabric list cards`")
options.add_argument("--steps", type=int, default=50_000)
options = options.parse_args()

ROWS, STEPS = 8, 128
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
value = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
adam = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-3)
mode = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
envs = gymnasium.make_vec("CartPole-v1", ROWS, "sync", vector_kwargs=mode)
with AdvantageEstimator(environments=ROWS, steps=STEPS, card=options.card) as estimator:
    (obs, _), returns, total = envs.reset(seed=0), [], np.zeros(ROWS)
    for _ in range(-(-options.steps // (ROWS * STEPS))):
        steps = []
        for _ in range(STEPS):
            with torch.no_grad():
                action = Categorical(logits=policy(torch.as_tensor(obs))).sample().numpy()
            after, reward, terminated, truncated, info = envs.step(action)
            ended, total = terminated | truncated, total + reward
            last = [info["final_obs"][k] if ended[k] else after[k] for k in range(ROWS)]
            steps.append((obs, np.stack(last), action, reward, terminated, truncated))
            returns, total, obs = returns + total[ended].tolist(), np.where(ended, 0, total), after
        seen, later, actions, *ends = map(torch.as_tensor, map(np.stack, zip(*steps, strict=True)))
        with torch.no_grad():
            values, bootstraps = (value(x)[..., 0].numpy() for x in (seen, later))
            before = Categorical(logits=policy(seen)).log_prob(actions)
        # The card computes from rewards, values, ends, and the values of next observations.
        reward, terminated, truncated = (x.numpy() for x in ends)
        found = estimator.estimate(reward, values, terminated, truncated, bootstraps)
        columns = [seen, actions, before, *map(torch.as_tensor, found[:2])]
        for part in torch.cat([torch.randperm(ROWS * STEPS) for _ in range(4)]).split(256):
            x, a, old, gain, goal = (column.flatten(0, 1)[part] for column in columns)
            ratio = (Categorical(logits=policy(x)).log_prob(a) - old).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            adam.zero_grad()
            (loss + (value(x)[:, 0] - goal).square().mean() / 2).backward()
            adam.step()
    print(f"mean return of the last {len(last := returns[-20:])} episodes {np.mean(last or 0):.1f}")

"""A DQN that takes a dict, with the mean of squares, SGD with momentum, and a soft target."""

import torch
import torch.nn.functional as F
from torch import nn


class Network(nn.Module):
    def __init__(self, observation, action, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(observation, width), nn.Linear(width, width)])
        self.head = nn.Linear(width, action)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


class Trainer:
    def __init__(self, observation, action, polyak=0.05):
        self.polyak = polyak
        self.q, self.slow = (Network(observation, action, 16) for _ in range(2))
        self.slow.load_state_dict(self.q.state_dict())
        self.slow.requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.q.parameters(), lr=0.01, momentum=0.9)

    def get_action(self, obs):
        return self.q(obs).argmax(-1)

    def update_policy(self, batch):
        following = self.slow(batch["next_obs"]).max(dim=1)[0]
        wanted = batch["reward"] + batch["discount"] * following
        q = self.q(batch["obs"])[torch.arange(len(wanted)), batch["action"]]
        loss = F.mse_loss(q, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(self.slow.parameters(), self.q.parameters(), strict=True):
                slow.mul_(1 - self.polyak).add_(self.polyak * fast)

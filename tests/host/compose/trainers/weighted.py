"""A double DQN whose network is an nn.Module, with importance weights, RMSprop and TD errors."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self, observation, action, width):
        super().__init__()
        self.first = nn.Linear(observation, width)
        self.last = nn.Linear(width, action)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Trainer:
    def __init__(self, observation, action, width=32, target_interval=3):
        self.target_interval, self.steps = target_interval, 0
        self.online = Network(observation, action, width)
        self.target = Network(observation, action, width)
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.RMSprop(self.online.parameters(), lr=5e-4, alpha=0.95)

    def get_action(self, obs):
        return int(self.online(obs).argmax())

    def update_policy(self, state, action, reward, next_state, discount, weights):
        with torch.no_grad():
            chosen = self.online(next_state).argmax(1, keepdim=True)
            following = self.target(next_state).gather(1, chosen).flatten()
        td = reward + discount * following - self.online(state).gather(1, action[:, None])[:, 0]
        clipped = td.abs().clamp(max=1)
        loss = (weights * clipped * (td.abs() - clipped / 2)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.target_interval == 0:
            self.target.load_state_dict(self.online.state_dict())
        return td.detach().abs()

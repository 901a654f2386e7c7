"""A DQN as most tutorials have it: nn.Sequential, done, Huber's loss, a copied target network."""

import copy

import torch
from torch import nn


class Trainer:
    def __init__(self, observation, action, width=24, rate=1e-3, gamma=0.99, target_update=4):
        self.gamma, self.target_update, self.steps = gamma, target_update, 0
        self.q = nn.Sequential(
            nn.Linear(observation, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, action),
        )
        self.target = copy.deepcopy(self.q)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=rate)

    def get_action(self, obs):
        return self.q(obs).argmax(-1)

    def update_policy(self, states, actions, rewards, next_states, dones):
        with torch.no_grad():
            following = self.target(next_states).max(1).values
            wanted = rewards + self.gamma * following * (1 - dones)
        q = self.q(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.target_update == 0:
            self.target.load_state_dict(self.q.state_dict())
        return (wanted - q).detach()

"""DDPG as most have it: the critic first, then the actor through the critic as it is by then."""

import copy

import torch
from torch import nn


def network(inputs, outputs, *last):
    hidden = nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(24, outputs), *last)


class Trainer:
    def __init__(self, observation, action, gamma=0.98, tau=0.02):
        self.gamma, self.tau = gamma, tau
        self.actor = network(observation, action, nn.Tanh())
        self.critic = network(observation + action, 1)
        self.actor_target, self.critic_target = map(copy.deepcopy, (self.actor, self.critic))
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def get_action(self, obs):
        return self.actor(obs)

    def value(self, critic, obs, action):
        return critic(torch.cat([obs, action], 1)).squeeze(-1)

    def update_policy(self, obs, action, reward, next_obs, done):
        with torch.no_grad():
            following = self.value(self.critic_target, next_obs, self.actor_target(next_obs))
            wanted = reward + self.gamma * (1 - done) * following
        td = wanted - self.value(self.critic, obs, action)
        self.critic_optimizer.zero_grad()
        td.square().mean().backward()
        self.critic_optimizer.step()
        self.actor_optimizer.zero_grad()
        (-self.value(self.critic, obs, self.actor(obs)).mean()).backward()
        self.actor_optimizer.step()
        self.follow()
        return td.detach()

    def follow(self):
        pairs = (self.actor, self.actor_target), (self.critic, self.critic_target)
        with torch.no_grad():
            for online, target in pairs:
                for mine, theirs in zip(online.parameters(), target.parameters(), strict=True):
                    theirs.lerp_(mine, self.tau)

"""TD3 as most have it: two critics with one optimizer, noise on target actions, a delayed actor."""

import copy

import torch
from torch import nn


def network(inputs, outputs, *last):
    hidden = nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(24, outputs), *last)


class Trainer:
    def __init__(self, observation, action, gamma=0.98, tau=0.02, policy_freq=2):
        self.gamma, self.tau, self.policy_freq = gamma, tau, policy_freq
        self.policy_noise, self.noise_clip, self.updates = 0.3, 0.4, 0
        self.actor = network(observation, action, nn.Tanh())
        self.one, self.two = (network(observation + action, 1) for _ in "12")
        online = self.actor, self.one, self.two
        self.actor_target, self.one_target, self.two_target = map(copy.deepcopy, online)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        both = [*self.one.parameters(), *self.two.parameters()]
        self.critic_optimizer = torch.optim.Adam(both, lr=2e-3)

    def get_action(self, obs):
        return self.actor(obs)

    def noise(self, action):
        noise = torch.randn_like(action) * self.policy_noise
        return noise.clamp(-self.noise_clip, self.noise_clip)

    def update_policy(self, obs, action, reward, next_obs, done):
        self.updates += 1
        with torch.no_grad():
            following = (self.actor_target(next_obs) + self.noise(action)).clamp(-1, 1)
            ahead = torch.cat([next_obs, following], 1)
            value = torch.min(self.one_target(ahead), self.two_target(ahead)).squeeze(-1)
            wanted = reward + self.gamma * (1 - done) * value
        seen = torch.cat([obs, action], 1)
        errors = [wanted - critic(seen).squeeze(-1) for critic in (self.one, self.two)]
        self.critic_optimizer.zero_grad()
        sum(td.square().mean() for td in errors).backward()
        self.critic_optimizer.step()
        if self.updates % self.policy_freq == 0:
            self.ascend(obs)
            self.follow()
        one, two = (td.detach() for td in errors)
        return torch.where(two.abs() > one.abs(), two, one)

    def ascend(self, obs):
        self.actor_optimizer.zero_grad()
        (-self.one(torch.cat([obs, self.actor(obs)], 1)).mean()).backward()
        self.actor_optimizer.step()

    def follow(self):
        pairs = [(self.actor, self.actor_target), (self.one, self.one_target)]
        with torch.no_grad():
            for online, target in [*pairs, (self.two, self.two_target)]:
                for mine, theirs in zip(online.parameters(), target.parameters(), strict=True):
                    theirs.lerp_(mine, self.tau)

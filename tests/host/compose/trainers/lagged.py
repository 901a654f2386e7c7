"""DDPG whose actor ascends the critic as it was before the critic's own step."""

import torch
from usual import Trainer as Usual


class Trainer(Usual):
    def update_policy(self, obs, action, reward, next_obs, done):
        with torch.no_grad():
            following = self.value(self.critic_target, next_obs, self.actor_target(next_obs))
            wanted = reward + self.gamma * (1 - done) * following
        td = wanted - self.value(self.critic, obs, action)
        ascent = -self.value(self.critic, obs, self.actor(obs)).mean()
        self.actor_optimizer.zero_grad()
        ascent.backward()
        self.critic_optimizer.zero_grad()
        (td.square().mean() / 2).backward()
        self.critic_optimizer.step()
        self.actor_optimizer.step()
        self.follow()
        return td.detach()

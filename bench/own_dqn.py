"""A DQN in torch as a user writes one, for the loops of ``bench.host``."""

import copy

import numpy as np
import torch
from torch import nn

__all__ = ["TorchDQN"]

_EVERY = 250  # gradient steps from one copy of the target network to the next


class TorchDQN:
    """A double DQN for CartPole-v1 in torch on one thread: two hidden layers of 64, Adam, and a
    target network that is copied every 250 gradient steps."""

    def __init__(self, seed=0):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._online = nn.Sequential(
            nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
        )
        self._target = copy.deepcopy(self._online)
        self._adam = torch.optim.Adam(self._online.parameters(), 1e-3)
        self._rng, self._acted, self._learned = np.random.default_rng(seed), 0, 0

    def act(self, obs):
        """Actions [1] at observations [1, 4]. They are random with a probability that falls
        linearly from 1 to 0.05 over the first 3800 calls, and stays there."""
        self._acted += 1
        if self._rng.random() < max(0.05, 1 - self._acted / 4000):
            return self._rng.integers(2, size=1)
        with torch.no_grad():
            return self._online(torch.as_tensor(obs)).argmax(1).numpy()

    def learn_batch(self, batch):
        """Makes one gradient step on ``batch``, ``{name: array}``; returns ``(TD errors [batch],
        loss)``."""
        b = {name: torch.as_tensor(values) for name, values in batch.items() if name != "indexes"}
        with torch.no_grad():
            best = self._online(b["next_obs"]).argmax(1, keepdim=True)
            after = self._target(b["next_obs"]).gather(1, best)[:, 0]
            wanted = b["reward"] + b["discount"] * after
        taken = b["action"].to(torch.int64)[:, None]
        td = wanted - self._online(b["obs"]).gather(1, taken)[:, 0]
        loss = (b["weights"] * td.square()).mean()
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        self._learned += 1
        if self._learned % _EVERY == 0:
            self._target.load_state_dict(self._online.state_dict())
        return td.detach().numpy(), float(loss.detach())

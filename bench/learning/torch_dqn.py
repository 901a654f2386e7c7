"""A DQN of torch.nn and NumPy alone, which ours stands beside: the run's hyperparameters, with a
network, n-step windows and a replay memory of its own, in the same environments.

Its run ends, is judged and goes on as our own runs do; a run that goes on has new episodes. What it
leaves: ``state.npz``, all of it, and the best parameters of the evaluations in it.
"""

import time
from collections import deque
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bench.learning.job import JUDGING_SEED
from bench.learning.sum_tree import Memory
from host import checkpoint
from host.algorithms.convolution import default_convolutions
from host.collect.environment import Actor, make_envs
from host.collect.evaluation import Copies, evaluate
from host.collect.spec import Spec
from host.train.progress import progress_bar
from host.train.session import Seeds

__all__ = ["Agent", "Windows", "torch_run"]

_STATE = "state.npz"


def torch_run(job, *, resume, console, stop):
    """``bench.learning.job.Job.result``'s values of the run; None once there is something in the
    list ``stop``: the same call with ``resume`` then goes on."""
    torch.set_num_threads(1)
    with ExitStack() as stack, progress_bar(console) as bar:
        run = _Run(job, stack)
        if resume and run.path.exists():
            run.load()
        task = bar.add_task(job.config.env, total=job.config.steps, state="")
        while run.steps < job.config.steps:
            if stop:
                run.save()
                return None
            run.iterate()
            best = "-" if run.best is None else f"{run.best:.0f}"
            bar.update(task, completed=run.steps, state=f"best greedy {best}")
        return run.result()


class Agent:
    """Network, target and Adam of a DQNConfig, double or not."""

    def __init__(self, config, spec, seed):
        torch.manual_seed(seed)
        self._config, self._spec = config, spec
        self.online, self.target = self._network(), self._network()
        self.target.load_state_dict(self.online.state_dict())
        self.parameters = list(self.online.parameters())
        betas, epsilon = (config.beta1, config.beta2), config.optimizer_epsilon
        self.adam = torch.optim.Adam(self.parameters, betas=betas, eps=epsilon, fused=True)
        self.rng, self.updates = np.random.default_rng(seed), 0

    def _network(self):
        config, spec, modules = self._config, self._spec, []
        convolutions = config.convolutions
        if convolutions is None:
            convolutions = default_convolutions(spec)
        channels, example = spec.shape[-1], torch.zeros(1, *spec.shape)
        for filters, kernel, stride in convolutions:
            modules += [nn.Conv2d(channels, filters, kernel, stride), nn.ReLU()]
            channels = filters
        modules.append(nn.Flatten())
        width = nn.Sequential(*modules)(self._planes(example)).shape[1]
        for hidden in config.hidden:
            modules += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        modules.append(nn.Linear(width, spec.action_count))
        for i, module in enumerate(modules):
            if hasattr(module, "weight"):
                kind = "relu" if i < len(modules) - 1 else "linear"
                nn.init.kaiming_uniform_(module.weight, nonlinearity=kind)
                nn.init.zeros_(module.bias)
        return nn.Sequential(*modules)

    def _planes(self, obs):
        x = obs.float() * 2.0**self._spec.exponent
        return x.permute(0, 3, 1, 2) if x.ndim == 4 else x

    def act(self, obs, *, greedy=False, steps=0):
        with torch.no_grad():
            actions = self.online(self._planes(torch.as_tensor(obs))).argmax(1).numpy()
        if greedy:
            return actions
        explore = self.rng.random(len(actions)) < self._config.epsilon_at(steps)
        return np.where(explore, self.rng.integers(self._spec.action_count, size=len(obs)), actions)

    def learn(self, batch, steps):
        """One step on a batch of arrays by name; its TD errors."""
        config, b = self._config, {name: torch.as_tensor(x) for name, x in batch.items()}
        after = self._planes(b["next_obs"])
        with torch.no_grad():
            values = self.target(after)
            best = (self.online(after) if config.double else values).argmax(1, keepdim=True)
            wanted = b["reward"] + b["discount"] * values.gather(1, best)[:, 0]
        q = self.online(self._planes(b["obs"])).gather(1, b["action"][:, None])[:, 0]
        each = nn.functional.huber_loss(q, wanted, reduction="none", delta=config.huber_delta)
        self.adam.param_groups[0]["lr"] = config.learning_rate_at(steps)
        self.adam.zero_grad()
        (b["weights"] * each).mean().backward()
        if config.max_gradient_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, config.max_gradient_norm)
        self.adam.step()
        self.updates += 1
        if self.updates % config.target_interval == 0:
            with torch.no_grad():
                for mine, theirs in zip(self.target.parameters(), self.parameters, strict=True):
                    mine.lerp_(theirs, config.target_tau)
        return (wanted - q).detach().numpy()

    def arrays(self):
        return [p.detach().numpy().copy() for p in self.parameters]

    def take(self, arrays):
        for parameter, array in zip(self.parameters, arrays, strict=True):
            parameter.data.copy_(torch.from_numpy(array))

    def state_dict(self):
        moments = [
            {name: x.numpy().copy() for name, x in self.adam.state[p].items()}
            for p in self.parameters
        ]
        target = [p.detach().numpy().copy() for p in self.target.parameters()]
        rng = self.rng.bit_generator.state
        return dict(
            online=self.arrays(), target=target, moments=moments, rng=rng, updates=self.updates
        )

    def load_state_dict(self, state):
        self.take(state["online"])
        for parameter, array in zip(self.target.parameters(), state["target"], strict=True):
            parameter.data.copy_(torch.from_numpy(array))
        for parameter, moments in zip(self.parameters, state["moments"], strict=True):
            self.adam.state[parameter] = {n: torch.from_numpy(x) for n, x in moments.items()}
        self.rng.bit_generator.state, self.updates = state["rng"], int(state["updates"])


class Windows:
    """The last n steps of each environment, as experiences of up to n rewards."""

    def __init__(self, config, count):
        self._config, self._steps = config, [deque() for _ in range(count)]

    def push(self, taken):
        """Experiences, dicts, that a vector step completes."""
        done = []
        for i, steps in enumerate(self._steps):
            reward = float(taken.reward[i])
            if self._config.reward_clip is not None:
                reward = max(-self._config.reward_clip, min(self._config.reward_clip, reward))
            steps.append((taken.obs[i], taken.action[i], reward * self._config.reward_scale))
            ended = taken.terminated[i] or taken.truncated[i]
            while steps and (ended or len(steps) == self._config.n_step):
                done.append(self._first(steps, taken.next_obs[i], taken.terminated[i]))
                steps.popleft()
        return done

    def _first(self, steps, after, terminated):
        gamma, (obs, action, _) = self._config.gamma, steps[0]
        total = sum(gamma**k * reward for k, (_, _, reward) in enumerate(steps))
        discount = 0.0 if terminated else gamma ** len(steps)
        return dict(obs=obs, action=action, reward=total, next_obs=after, discount=discount)


class _Run:
    """A training, launch by launch."""

    def __init__(self, job, stack):
        config = self.config = job.config.in_run()
        self._job, self._envs = job, make_envs(config.env, config.env_count, config.algorithm)
        stack.enter_context(closing(self._envs))
        self._evaluation = Copies(config.env, config.evaluation_episodes, config.algorithm)
        stack.enter_context(closing(self._evaluation))
        self.path = Path(job.folder) / _STATE
        spec = Spec.of(self._envs)
        seen, number = (spec.shape, spec.dtype), ((), "float32")
        fields = dict(obs=seen, next_obs=seen, action=((), "int64"), reward=number, discount=number)
        self.agent = Agent(config.agent, spec, config.seed)
        self.memory = Memory(
            fields, config.capacity, config.alpha, config.priority_epsilon, config.seed
        )
        self.steps, self.curve, self.best, self._kept = 0, [], None, None
        self._seconds, self._since = 0.0, time.monotonic()
        self._begin()

    def _begin(self):
        """New episodes, of seeds that follow from the run's and its steps."""
        config = self.config
        self._actor = Actor(self._envs, seed=Seeds(config.seed).environments(self.steps))
        self._windows = Windows(config.agent, config.env_count)

    def iterate(self):
        config, agent, before = self.config, self.agent, self.steps
        for _ in range(config.steps_per_launch):
            taken, _ = self._actor.step(agent.act(self._actor.obs, steps=self.steps))
            self.memory.add(self._windows.push(taken))
            self.steps += config.env_count
        if len(self.memory) >= config.learning_starts:
            beta = config.agent.beta_at(self.steps)
            indexes, batch = self.memory.sample(config.agent.batch_size, beta)
            self.memory.update(indexes, agent.learn(batch, self.steps))
        every = config.evaluation_interval_steps
        if self.steps // every > before // every:
            self.evaluate()
        if time.monotonic() - self._since > config.checkpoint_interval_s:
            self.save()

    def evaluate(self):
        """A point of the curve; keeps the best parameters."""
        config, attempt = self.config, len(self.curve)
        seed, limit = Seeds(config.seed).evaluation(attempt), config.evaluation_steps
        mean = float(evaluate(self.agent, self._evaluation, seed=seed, limit=limit).mean())
        self.curve.append((self.steps, mean))
        if self.best is None or mean >= self.best:
            self.best, self._kept = mean, self.agent.arrays()

    def result(self):
        config, job = self.config, self._job
        if self.best is None:
            self.evaluate()
        self.save()
        self.agent.take(self._kept)
        count = job.episodes or config.evaluation_episodes
        with closing(Copies(config.env, count, config.algorithm)) as copies:
            limit = config.evaluation_steps
            returns = evaluate(self.agent, copies, seed=JUDGING_SEED, limit=limit)
        return {
            "mean_return": float(returns.mean()),
            "steps": self.steps,
            "updates": self.agent.updates,
            "seconds": round(self._seconds, 3),
            "curve": self.curve,
        }

    def save(self):
        now = time.monotonic()
        self._seconds, self._since = self._seconds + now - self._since, now
        state = dict(agent=self.agent.state_dict(), memory=self.memory.state_dict())
        state |= dict(steps=self.steps, curve=self.curve, best=self.best, kept=self._kept)
        checkpoint.save(self.path, "torch-dqn", {}, state | {"seconds": self._seconds})

    def load(self):
        _, state = checkpoint.load(self.path, "torch-dqn")
        self.agent.load_state_dict(state["agent"])
        self.memory.load_state_dict(state["memory"])
        self.steps, self.best, self._kept = int(state["steps"]), state["best"], state["kept"]
        self.curve, self._seconds = [tuple(p) for p in state["curve"]], state["seconds"]
        self._begin()

"""The time of software for TD3's gradient steps: torch, eager and compiled, and RLtools; one core.

All are measured in one run. Every second step trains the actor and moves the targets, on the card
as in the software, so the time of a step is the mean of two.

RLtools has a process of its own: its MKL and torch must not meet in one.
"""

import json
import os
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace

import numpy as np

from bench import left_out, medians, row
from bench.learner.cases import name_of
from bench.learner.software import CLOCK, one_core
from bench.learner.td3 import CHEETAH

__all__ = ["rltools_main", "rltools_steps", "rows", "torch_steps"]

_STEPS = 2
_TORCH = "processor time in this run, one core, median of 15, taken in turn; the mean of two steps"
_RLTOOLS = (
    "processor time in this run, one core, median of 15; the mean of two steps, with those of an "
    "environment of random numbers in Python"
)


def torch_steps(learner, batch, wrap=lambda loss: loss):
    """A function without arguments that makes two of TD3's gradient steps on ``batch`` samples in
    torch, the second with the actor and the targets.

    The networks have the sizes of ``learner``, errors are squared, and Adam is fused. ``wrap`` is
    called with the losses of critics and actor, such as ``torch.compile``.
    """
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)

    def net(inputs, outputs, *last):
        sizes, layers = (inputs, *learner.hidden, outputs), []
        for i, o in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(i, o), nn.ReLU()]
        return nn.Sequential(*layers[:-1], *last)

    def nets():
        seen = learner.observation + learner.action
        critics = nn.ModuleList([net(seen, 1), net(seen, 1)])
        return critics, net(learner.observation, learner.action, nn.Tanh())

    (critics, actor), targets = nets(), nets()
    target_critics, target_actor = targets
    online = [part for each in (critics, actor) for part in each.parameters()]
    target = [part for each in targets for part in each.parameters()]
    adam = [torch.optim.Adam(each.parameters(), lr=3e-4, fused=True) for each in (critics, actor)]
    obs, next_obs = torch.randn(2, batch, learner.observation)
    action, reward = torch.rand(batch, learner.action) * 2 - 1, torch.randn(batch, 1)
    discount = torch.full((batch, 1), 0.99)

    @wrap
    def critic_loss(obs, action, reward, discount, next_obs):
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            following = torch.cat([next_obs, (target_actor(next_obs) + noise).clamp(-1, 1)], 1)
            one, two = (critic(following) for critic in target_critics)
            wanted = reward + discount * torch.minimum(one, two)
        seen = torch.cat([obs, action], 1)
        return sum(nn.functional.mse_loss(critic(seen), wanted) for critic in critics)

    @wrap
    def actor_loss(obs):
        return -critics[0](torch.cat([obs, actor(obs)], 1)).mean()

    def descend(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def steps():
        for _ in range(_STEPS):
            descend(adam[0], critic_loss(obs, action, reward, discount, next_obs))
        critics.requires_grad_(False)
        descend(adam[1], actor_loss(obs))
        critics.requires_grad_(True)
        with torch.no_grad():
            torch._foreach_lerp_(target, online, 0.005)

    return steps


class _Random:
    """An environment for RLtools that costs next to nothing: its observations and rewards are
    drawn once."""

    spec = SimpleNamespace(max_episode_steps=1000)

    def __init__(self, observation, action):
        from gymnasium.spaces import Box

        self.observation_space = Box(-10, 10, (observation,), np.float32)
        self.action_space = Box(-1, 1, (action,), np.float32)
        rng = np.random.default_rng(0)
        self._rows = rng.normal(size=(1000, observation)).astype(np.float32)
        self._rewards, self._at = rng.normal(size=1000).tolist(), 0

    def reset(self, **options):
        return self._rows[0], {}

    def step(self, action):
        self._at = (self._at + 1) % 1000
        return self._rows[self._at], self._rewards[self._at], False, False, {}


def rltools_steps(observation, action, hidden, batch):
    """A function without arguments that makes two steps of RLtools' TD3, both with a gradient step
    for the critics, one with the actor's too. RLtools compiles itself at first, for minutes."""
    import rltools

    [width] = {*hidden}
    sizes = dict(HIDDEN_DIM=width, NUM_LAYERS=len(hidden) + 1, BATCH_SIZE=batch)
    library = rltools.TD3(
        lambda: _Random(observation, action),
        enable_evaluation=False,
        interface_name="bench",
        STEP_LIMIT=100_000,
        N_WARMUP_STEPS=batch,
        **{f"{net}_{name}": size for net in ("ACTOR", "CRITIC") for name, size in sizes.items()},
    )
    state = library.State(0)
    for _ in range(2 * batch):
        state.step()

    def steps():
        for _ in range(_STEPS):
            state.step()

    return steps


def rltools_main():
    """Prints the seconds of a call of ``rltools_steps``, whose arguments are on the command line,
    as JSON."""
    steps = rltools_steps(**json.loads(sys.argv[1]))
    print(medians({"RLtools": steps}, clock=time.process_time)["RLtools"])


def rows(steps):
    """The list of rows of a mean gradient step of CHEETAH: modelled_step_us is the kernel's, from
    the clocks in ``steps``, the rows of ``bench.learner.td3``, at CLOCK; software_step_us and
    software_over_card as in ``bench.learner.software``. A program that is not installed is
    left out."""
    batch, name = CHEETAH.batch, name_of(CHEETAH, CHEETAH.batch)
    [clocks] = (x["value"] for x in steps if (x["case"], x["reference"]) == (name, "at most"))
    ours = round(clocks / CLOCK * 1e6, 2)
    result = [
        row("learner", name, "modelled_step_us", ours, "us",
            source=f"gradient_step_cycles at {CLOCK / 1e6:.0f} MHz (assumed)")
    ]  # fmt: skip
    sizes = "-".join(map(str, (CHEETAH.observation, *CHEETAH.hidden, CHEETAH.action)))
    with one_core():
        for program, seconds, source in (*_torch(batch), *_rltools(batch)):
            case, us = f"td3 {sizes}, B={batch}, {program}", seconds / _STEPS * 1e6
            result += [
                row("learner", case, "software_step_us", round(us, 1), "us", source=source),
                row("learner", case, "software_over_card", round(us / ours, 1), "x",
                    source="software_step_us over modelled_step_us"),
            ]  # fmt: skip
    return result


def _torch(batch):
    try:
        import torch
    except ImportError as error:
        left_out("torch", error, "torch")
        return []
    functions = {
        "torch, eager": torch_steps(CHEETAH, batch),
        "torch, compiled": torch_steps(CHEETAH, batch, torch.compile),
    }
    found = medians(functions, clock=time.process_time)
    return [(name, seconds, _TORCH) for name, seconds in found.items()]


def _rltools(batch):
    try:
        version("rltools"), version("mkl")  # without MKL it takes 10 times as long
    except PackageNotFoundError as error:
        left_out("RLtools", error, "rltools")
        return []
    sizes = dict(observation=CHEETAH.observation, action=CHEETAH.action, hidden=CHEETAH.hidden)
    program = f"from {__name__} import rltools_main; rltools_main()"
    words = [sys.executable, "-c", program, json.dumps(dict(sizes, batch=batch))]
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(words, env=os.environ | one, capture_output=True, text=True, check=True)
    return [("RLtools", float(done.stdout.split()[-1]), _RLTOOLS)]

"""The time of software for the same iterations: torch, and JAX as one jitted function, one thread.

They have the paper's order (FIXAR III), in binary32: Adam's step of the critic, then that of the
actor through the updated critic, then soft targets. All are measured in one run, in turn.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from bench import left_out, medians, row
from bench.fixar.cycles import case_of, config_of
from host.runs.blas_threads import single_threaded

__all__ = ["jax_step", "rows", "torch_step"]

BATCHES = (64, 512)
_DISCOUNT, _BLEND, _RATE = 0.99, 1e-3, 1e-4
_SOURCE = "measured in this run, one pinned thread, median of 5"
#: Kernel -> the least ratio of its IPS to those of JAX.
_RATIOS = {"512 PEs, half": 1.6, "1024 PEs, half": 3, "1792 PEs, half": 5}
_BARS = {
    ("JAX, jitted", 512): _RATIOS,
    ("torch, eager", 512): {name: 2 * value for name, value in _RATIOS.items()},
}


def _sizes(learner):
    """Widths of the actor's layers, and of the critic's."""
    frame = learner.observation + learner.action
    return (
        (learner.observation, *learner.hidden, learner.action),
        (frame, *learner.hidden, 1),
    )


def _batch(learner, batch):
    rng = np.random.default_rng(0)
    size = (batch, learner.observation)
    arrays = {
        "obs": rng.normal(size=size),
        "next_obs": rng.normal(size=size),
        "action": np.tanh(rng.normal(size=(batch, learner.action))),
        "reward": rng.normal(size=(batch, 1)),
    }
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def torch_step(learner, batch):
    """A function without arguments that makes one DDPG iteration in eager torch.

    It returns the weights after the iteration of actor, critic, actor target and critic target: for
    each, a list of (weight [inputs, outputs], bias), one for each layer. ``learner`` is a
    ``FixarConfig``, ``batch`` the batch size.
    """
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)

    def network(sizes, end):
        layers = []
        for i, o in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(i, o), nn.ReLU()]
        return nn.Sequential(*layers[:-1], *end)

    actor_sizes, critic_sizes = _sizes(learner)
    actor, actor_target = (network(actor_sizes, [nn.Tanh()]) for _ in range(2))
    critic, critic_target = (network(critic_sizes, []) for _ in range(2))
    pairs = (actor, actor_target), (critic, critic_target)
    networks = actor, critic, actor_target, critic_target
    steps = {net: torch.optim.Adam(net.parameters(), lr=_RATE) for net in (actor, critic)}
    data = {name: torch.from_numpy(array) for name, array in _batch(learner, batch).items()}

    def step():
        obs, following = data["obs"], data["next_obs"]
        with torch.no_grad():
            bootstrap = critic_target(torch.cat([following, actor_target(following)], 1))
            wanted = data["reward"] + _DISCOUNT * bootstrap
        loss = nn.functional.mse_loss(critic(torch.cat([obs, data["action"]], 1)), wanted)
        steps[critic].zero_grad()
        loss.backward()
        steps[critic].step()
        for parameter in critic.parameters():
            parameter.requires_grad_(False)
        loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
        steps[actor].zero_grad()
        loss.backward()
        steps[actor].step()
        with torch.no_grad():
            for parameter in critic.parameters():
                parameter.requires_grad_(True)
            for net, target in pairs:
                own = list(net.parameters())
                torch._foreach_lerp_(list(target.parameters()), own, _BLEND)
        return [[(x.weight.T, x.bias) for x in net if hasattr(x, "bias")] for net in networks]

    return step


def jax_step(learner, batch):
    """A function without arguments that makes one DDPG iteration in JAX, as one jitted function.

    It returns the weights after the iteration as that of ``torch_step`` does.
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    data = {name: jnp.asarray(array) for name, array in _batch(learner, batch).items()}

    def network(sizes):
        return [
            (jnp.asarray(rng.normal(size=(i, o)) / np.sqrt(i), jnp.float32), jnp.zeros(o))
            for i, o in zip(sizes, sizes[1:], strict=False)
        ]

    def forward(weights, x):
        for w, b in weights[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = weights[-1]
        return x @ w + b

    def act(actor, obs):
        return jnp.tanh(forward(actor, obs))

    def value(critic, obs, action):
        return forward(critic, jnp.concatenate([obs, action], 1))

    def critic_loss(critic, wanted):
        return ((value(critic, data["obs"], data["action"]) - wanted) ** 2).mean()

    def actor_loss(actor, critic):
        return -value(critic, data["obs"], act(actor, data["obs"])).mean()

    def adam(state, g, t):
        weights, first, second = state
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, g)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, g)
        rate = _RATE * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = jax.tree.map(
            lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second
        )
        return weights, first, second

    def blend(target, weights):
        return jax.tree.map(lambda a, b: a + _BLEND * (b - a), target, weights)

    @jax.jit
    def update(state):
        actor, critic, actor_target, critic_target, t = state
        t, following = t + 1, data["next_obs"]
        bootstrap = value(critic_target, following, act(actor_target, following))
        wanted = data["reward"] + _DISCOUNT * bootstrap
        critic = adam(critic, jax.grad(critic_loss)(critic[0], wanted), t)
        actor = adam(actor, jax.grad(actor_loss)(actor[0], critic[0]), t)
        targets = blend(actor_target, actor[0]), blend(critic_target, critic[0])
        return actor, critic, *targets, t

    def trained(sizes):
        weights = network(sizes)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        return weights, zeros, zeros

    actor, critic = (trained(sizes) for sizes in _sizes(learner))
    state = [(actor, critic, actor[0], critic[0], jnp.float32(0))]

    def step():
        state[0] = jax.block_until_ready(update(state[0]))
        (actor, *_), (critic, *_), *targets, _ = state[0]
        return [actor, critic, *targets]

    return step


def _seconds(batch):
    """``{name: seconds an iteration}``, on the one core that this process may use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    functions = {}
    for name, make in (("torch, eager", torch_step), ("JAX, jitted", jax_step)):
        try:
            functions[name] = make(config_of("HalfCheetah"), batch)
        except ImportError as error:
            left_out(name, error, "peers")
    with single_threaded(with_torch=True):
        return medians(functions, rounds=5, calls=5)


def rows(ips):
    """The list of rows of software on HalfCheetah's network: updates_per_second, software_ips
    (samples a second), and ips_over_software for each kernel of ``ips`` with the same batch.

    ``ips`` is ``{("512 PEs, half", batch): samples a second of the kernel}``.
    """
    result = []
    for batch in BATCHES:
        # In a process of its own: thread pools that exist already would not be pinned.
        done = subprocess.run(
            [sys.executable, "-m", "bench.fixar.software", str(batch)],
            cwd=Path(__file__).parents[2],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, seconds in json.loads(done.stdout).items():
            result += _rows(name, seconds, batch, ips)
    return result


def _rows(name, seconds, batch, ips):
    net = case_of(config_of("HalfCheetah"), "", batch).partition(",")[0]
    case = f"{net}, B={batch}, {name}"
    yield row("fixar", case, "updates_per_second", round(1 / seconds, 1), "1/s", source=_SOURCE)
    yield row("fixar", case, "software_ips", round(batch / seconds), "1/s", source=_SOURCE)
    for (kernel, own), value in ips.items():
        least = _BARS.get((name, batch), {}).get(kernel)
        if own == batch:
            yield row("fixar", f"{case}; kernel of {kernel}", "ips_over_software",
                      round(value * seconds / batch, 2), "",
                      reference=least and "at least", reference_value=least,
                      source="ips at 164 MHz over software_ips")  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_seconds(int(sys.argv[1]))))

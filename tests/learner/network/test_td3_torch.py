"""The twin of TD3 against PyTorch: gradients of both sweeps in float64, and 60 updates of
stable-baselines3's own ``train``."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from learner.learning import experiences, steps
from learner.test_td3_kernel import ACTION, BATCH, OBSERVATION, made

from host.algorithms.config import Clock
from host.algorithms.td3 import TD3Config
from host.learner.card_learner import steps_of
from hw.learner.records import STEP
from sim.model.arith.noise import gaussian

torch = pytest.importorskip("torch")

KINDS = ["float32", "fixed"]
#: Of the norm, and the least cosine.
NEAR = {"float32": (1e-6, 1 - 1e-12), "fixed": (3e-2, 0.9995)}
#: Relative distance of a step: weights have 23 fraction bits in fixed point.
NORM = {"float32": 2e-5, "fixed": 1e-4}
#: Of the way that parameters have moved: online, target.
WAY = {"float32": (5e-6, 1e-4), "fixed": (8e-2, 8e-2)}
CRITICS = ("critic", "critic_2")


def drawn(config, rng):
    return {n: x.astype(np.float32) for n, x in experiences(config, rng, BATCH).items()}


def network(learner, numbers, name, parameter_set, x, leaves=None):
    """Outputs of a network of the parameters ``numbers``, in float64; ``leaves`` gets its
    tensors."""
    unit = 1
    if learner.config.arithmetic.saturates:
        unit = learner.config.arithmetic.weight.resolution
    layers = numbers[name]
    for k, layer in enumerate(layers):
        pair = [
            torch.tensor(np.asarray(part, float) * unit, requires_grad=True)
            for part in layer[parameter_set]
        ]
        if leaves is not None:
            leaves += pair
        x = x @ pair[0].T + pair[1]
        if k < len(layers) - 1:
            x = torch.relu(x)
    return torch.tanh(x) if name == "actor" else x


def gradients_of(learner, name, step):
    """The gradients of a network, a vector; the errors of this step are shifted."""
    place = [*learner.networks].index(name)
    return flat(learner.gradients[name]) * 2.0 ** step["shift"][place]


def compared(learner, name, step, loss, leaves):
    """``(distance of the norm, cosine)`` of the learner's gradients and those of ``loss``."""
    wanted = torch.autograd.grad(loss, leaves)
    wanted = np.concatenate([each.numpy().ravel() for each in wanted])
    found = gradients_of(learner, name, step)
    distance = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    return distance, found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    learner, rng = made(kind, optimizer="sgd")
    records, weight = drawn(learner.config, rng), rng.uniform(0.2, 3, BATCH).astype(np.float32)
    for array in learner.parameters["actor"][-1]["target"]:
        array *= 4  # target actions are near -1 and 1, and noise leads beyond
    before = copy.deepcopy(learner.parameters)
    step = steps(1, BATCH, learner.config, clip=np.inf, rate=(3, 0.05))[0]
    learner.train(records, None, weight, step)
    t = {name: torch.tensor(x.astype(float)) for name, x in records.items()}
    g = gaussian(int(step["seed"]), BATCH * ACTION).reshape(BATCH, ACTION) / 65536
    noise = torch.tensor(g * float(step["noise"])).clamp(-0.4, 0.4)
    with torch.no_grad():
        following = network(learner, before, "actor", "target", t["next_obs"])
        ahead = torch.cat([t["next_obs"], (following + noise).clamp(-1, 1)], 1)
        values = [network(learner, before, n, "target", ahead)[:, 0] for n in CRITICS]
        wanted = t["reward"] + t["discount"] * torch.minimum(*values)
    share, found = torch.tensor(weight.astype(float) / weight.max()), {}
    seen = torch.cat([t["obs"], t["action"]], 1)
    for name in CRITICS:
        leaves = []
        q = network(learner, before, name, "online", seen, leaves)[:, 0]
        found[name] = compared(learner, name, step, (share * (q - wanted) ** 2 / 2).sum(), leaves)
    for name, numbers in (("actor", learner.parameters), ("lagged", before)):
        leaves = []
        policy = network(learner, before, "actor", "online", t["obs"], leaves)
        q = network(learner, numbers, "critic", "online", torch.cat([t["obs"], policy], 1))
        found[name] = compared(learner, "actor", step, -q.sum(), leaves)
    # The critic before its step would have given another one.
    assert found.pop("lagged")[0] > 3 * NEAR[kind][0]
    for name, (distance, cosine) in found.items():
        assert distance <= NEAR[kind][0] and cosine >= NEAR[kind][1], (name, distance, cosine)


@pytest.mark.parametrize("kind", KINDS)
def test_norms_of_all_networks_are_limited(kind):
    """Each network by itself, by torch's ``clip_grad_norm_``; the actor too, in the second
    sweep. One of the critics stays below the limit."""
    learner, rng = made(kind, optimizer="sgd", clip_norm=True)
    records, weight = drawn(learner.config, rng), np.ones(BATCH, np.float32)
    plain = made(kind, optimizer="sgd")[0]
    step = steps(1, BATCH, learner.config, first_decay=0, first_gain=1, rate=(0.5, 0.25))[0]
    plain.train(records, None, weight, step)
    norms = {
        name: np.linalg.norm(gradients_of(plain, name, step)) / BATCH for name in plain.gradients
    }
    between = np.sqrt(norms["critic"] * norms["critic_2"])
    step["max_norm"] = between, norms["actor"] / 3
    before = {name: flat(numbers(learner, name, "online")) for name in norms}
    learner.train(records, None, weight, step)
    limited = []
    for name in norms:
        rate, most = (step[field][int(name == "actor")] for field in ("rate", "max_norm"))
        summed = gradients_of(learner, name, step)
        parameter = torch.nn.Parameter(torch.zeros(len(summed), dtype=torch.float64))
        parameter.grad = torch.from_numpy(summed / BATCH)
        limited.append(torch.nn.utils.clip_grad_norm_([parameter], float(most)) > most)
        moved = before[name] - flat(numbers(learner, name, "online"))
        wanted = rate * parameter.grad.numpy()
        assert np.linalg.norm(moved - wanted) <= NORM[kind] * np.linalg.norm(wanted), name
    assert sorted(limited) == [False, True, True] and limited[-1]


def test_shifts_change_nothing_in_binary32():
    """Not a bit of parameters, targets and moments."""
    stored = []
    for shift in (0, (8, -8, 5, 0, 0, 0, 0)):
        learner, rng = made("float32", clip_norm=True)
        records = drawn(learner.config, rng)
        step = steps(1, BATCH, learner.config, shift=shift, max_norm=(0.1, 0.1))[0]
        learner.train(records, None, np.ones(BATCH, np.float32), step)
        stored.append(learner.store())
    np.testing.assert_array_equal(*stored)


#: Of rewards that are so many times as large, and shifts of the critics: distances of their
#: gradients without and with the shift.
LARGE = [(10, 2, 0.3, 0.02), (30, 4, 0.5, 0.02)]


@pytest.mark.parametrize("times, shift, without, least", LARGE)
def test_shifted_errors_are_not_clipped(times, shift, without, least):
    """Gradients of both critics in fixed point against those in binary32, whose first layer tells
    more than the last."""
    found = {}
    for kind, places in (("float32", 0), ("fixed", 0), ("fixed", shift)):
        learner, rng = made(kind, optimizer="sgd")
        records = drawn(learner.config, rng)
        records["reward"] *= np.float32(times)
        every = dict(clip=np.inf, rate=0, noise=0, sweeps=1)
        step = steps(1, BATCH, learner.config, shift=[places] * 7, **every)[0]
        result = learner.train(records, None, np.ones(BATCH, np.float32), step)
        gradients = [gradients_of(learner, name, step) for name in CRITICS]
        found[kind, places] = gradients, result.saturations[2]
    exact, _ = found.pop(("float32", 0))
    distances = {
        places: max(
            np.linalg.norm(each - one) / np.linalg.norm(one)
            for each, one in zip(gradients, exact, strict=True)
        )
        for (_, places), (gradients, _) in found.items()
    }
    assert distances[0] > without and distances[shift] < least, distances
    clipped = [count for _, count in found.values()]
    assert clipped[0] > BATCH // 2 and clipped[1] <= 2, clipped


@pytest.mark.parametrize("sweeps", [1, 0xFFFF_FFFD])
def test_a_step_without_the_actor(sweeps):
    """The actor, its target and its moments stay; value is 0."""
    learner, rng = made("fixed")
    records, before = drawn(learner.config, rng), copy.deepcopy(learner.parameters)
    step = steps(1, BATCH, learner.config, sweeps=sweeps)[0]
    result = learner.train(records, None, np.ones(BATCH, np.float32), step)
    moved = {
        name: any(
            (new != old).any()
            for layer, earlier in zip(learner.parameters[name], before[name], strict=True)
            for kind in layer
            for new, old in zip(layer[kind], earlier[kind], strict=True)
        )
        for name in before
    }
    assert moved == {"critic": True, "critic_2": True, "actor": False} and result.value == 0


@pytest.mark.parametrize("sweeps", [0, 2])
def test_a_step_without_the_critics(sweeps):
    learner, rng = made("fixed")
    step = steps(1, BATCH, learner.config, sweeps=sweeps)[0]
    with pytest.raises(ValueError, match=f"^sweeps must have bit 0, not {sweeps:#x}$"):
        learner.train(drawn(learner.config, rng), None, np.ones(BATCH, np.float32), step)


def model_of(learner, agent, stream):
    """stable-baselines3's TD3 with the learner's weights, which takes the batches of ``stream``."""
    import gymnasium
    from stable_baselines3 import TD3
    from stable_baselines3.common.logger import Logger

    class Unused(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-10, 10, (OBSERVATION,), np.float32)
        action_space = gymnasium.spaces.Box(-1, 1, (ACTION,), np.float32)

    model = TD3(
        "MlpPolicy", Unused(), policy_kwargs=dict(net_arch=[64, 64]), device="cpu",
        learning_rate=agent.learning_rate, tau=agent.target_tau, batch_size=BATCH,
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    for parameter_set, name, theirs in modules(model):
        with torch.no_grad():
            for layer, (w, b) in zip(
                linear(theirs), numbers(learner, name, parameter_set), strict=True
            ):
                layer.weight.copy_(torch.tensor(w))
                layer.bias.copy_(torch.tensor(b))

    def sample(size, env):
        batch = {name: torch.from_numpy(x) for name, x in next(stream).items()}
        rows = {name: batch[name][:, None] for name in ("reward", "discount")}
        return SimpleNamespace(
            observations=batch["obs"],
            actions=batch["action"],
            next_observations=batch["next_obs"],
            dones=torch.zeros(BATCH, 1),
            rewards=rows["reward"],
            discounts=rows["discount"],
        )

    model.replay_buffer.sample = sample
    return model


def modules(model):
    for parameter_set, suffix in (("online", ""), ("target", "_target")):
        critic = getattr(model, f"critic{suffix}")
        yield parameter_set, "critic", critic.qf0
        yield parameter_set, "critic_2", critic.qf1
        yield parameter_set, "actor", getattr(model, f"actor{suffix}").mu


def linear(module):
    return [layer for layer in module if hasattr(layer, "weight")]


def numbers(learner, name, parameter_set):
    saturates, arithmetic = learner.config.arithmetic.saturates, learner.config.arithmetic
    unit = arithmetic.weight.resolution if saturates else 1
    return [
        tuple(np.asarray(part * unit, np.float32) for part in layer[parameter_set])
        for layer in learner.parameters[name]
    ]


def flat(pairs):
    return np.concatenate([np.asarray(part, float).ravel() for pair in pairs for part in pair])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_updates_of_stable_baselines3(monkeypatch, kind):
    pytest.importorskip("stable_baselines3")
    updates, seed = 60, 11
    agent = TD3Config(
        hidden=(64, 64), batch_size=BATCH, learning_rate=1e-3, actor_learning_rate=1e-3,
        target_tau=0.01, loss="mse", beta_steps=1,
    )  # fmt: skip
    learner, rng = made(kind)
    batches = [drawn(learner.config, rng) for _ in range(updates)]
    model = model_of(learner, agent, iter(batches))
    before = {
        (kind_, name): flat(numbers(learner, name, kind_)) for kind_, name, _ in modules(model)
    }
    seeds = iter(range(seed + 1, seed + 1 + updates))

    def normal(tensor, mean, deviation):
        g = gaussian(next(seeds), tensor.numel()).reshape(tuple(tensor.shape)) / 65536
        return tensor.copy_(torch.from_numpy(g.astype(np.float32))) * deviation

    monkeypatch.setattr(torch.Tensor, "normal_", normal)
    model.train(updates, BATCH)
    monkeypatch.undo()
    clock = Clock()
    for batch in batches:
        [step] = steps_of(agent, clock, 1, STEP, seed)
        learner.train(batch, None, np.ones(BATCH, np.float32), step)
        clock.updates += 1
    for parameter_set, name, theirs in modules(model):
        wanted = flat(
            (layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear(theirs)
        )
        way = np.linalg.norm(wanted - before[parameter_set, name])
        off = np.linalg.norm(flat(numbers(learner, name, parameter_set)) - wanted) / way
        assert way > 1e-2 and off <= WAY[kind][parameter_set == "target"], (
            parameter_set,
            name,
            off,
        )

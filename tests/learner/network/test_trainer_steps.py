"""The trainer by itself: gradient steps of every kind of plan are those of the twin, in the clocks
of the formula, however its streams stand still."""

import json

import numpy as np
import pytest
from later import later
from learner import random_plan
from learner.learning import experiences, fill, parameters, steps
from learner.network.test_sweeps import overflow
from learner.quartet import ENTRIES
from packed import packed

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.config import LearnerConfig
from hw.learner.network.trainer import Trainer
from hw.learner.records import STEP, action_granules, observation_granules, record_granules
from hw.learner.step_clocks import step_clocks
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM
from sim.model.learner.network.trainer import Trainer as Twin

_WIDTH = 128
#: Share of clocks in which streams stand still, and clocks by which an update may be late.
_BATCHES = ((0, 0), (0.5, 0), (0, 200), (0.3, 60))


def follows_twin(simulate, tmp_path, config, *, seed=0, batches=_BATCHES, wild=None, **values):
    """Trains the ``Trainer`` of a LearnerConfig on random batches in the simulator. ``wild`` is the
    number of a batch whose TD errors are not finite."""
    rng, twin = np.random.default_rng(seed), Twin(config)
    for kind in ("online", "target"):
        fill(twin, parameters(config, rng), kind)
    # Weights of free outputs may be anything in an image, and are 0 behind it.
    image, rows, observed = twin.store(), [], []
    twin.load(image)
    image = _beats(image)
    for number, (gap, late) in enumerate(batches):
        # All of a batch, a half, and again.
        batch = max(config.lanes, (config.batch >> number % 2) // config.lanes * config.lanes)
        seen = rng.normal(size=(max(1, batch - 1), config.observation)).astype(np.float32)
        observed.append(_acted(config, twin, seen))
        step = steps(len(batches), batch, config, **values)[number]
        row = _trained(config, twin, rng, batch, step, number == wild)
        sweeps = None
        if "sweeps" in step.dtype.names:
            every = range(config.plan.sweeps)
            sweeps = [sweep for sweep in every if int(step["sweeps"]) >> sweep & 1]
        row |= dict(gap=gap, late=late, clocks=step_clocks(config, batch, sweeps).step)
        rows.append(row)
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(dict(image=image, batches=rows, observed=observed), default=int))
    longest = max(row["clocks"] for row in rows)
    simulate(
        Trainer(config, _WIDTH),
        "learner.network.trainer_bench",
        vectors=str(file),
        beats=len(image),
        limit=20 * longest + 20000,
    )


def _beats(array):
    data = np.ascontiguousarray(array).tobytes()
    data += bytes(-len(data) % (_WIDTH // 8))
    size = _WIDTH // 8
    return [f"{int.from_bytes(data[k : k + size], 'little'):x}" for k in range(0, len(data), size)]


def _trained(config, twin, rng, batch, step, wild):
    records = experiences(config, rng, batch)
    records = {
        name: np.asarray(x, "<u4" if config.discrete and name == "action" else "<f4")
        for name, x in records.items()
    }
    if wild:
        overflow(records, batch // 2 - 1)
    header = np.zeros(batch, HEADER.dtype)
    header["index"] = rng.integers(0, 1 << 32, batch)
    header["weight"] = weight = rng.uniform(0.2, 3, batch).astype(np.float32)
    words = np.zeros((batch, record_granules(config) * GRANULE_BYTES // 4), np.uint32)
    fields = [records[n].view(np.uint32).reshape(batch, -1) for n in records]
    flat = np.concatenate(fields, axis=1)
    words[:, : flat.shape[1]] = flat
    lines = np.concatenate([header.view(np.uint32).reshape(batch, -1), words], axis=1)
    result = twin.train(records, None, weight, step)
    bits = {n: int(np.float32(getattr(result, n)).view(np.uint32)) for n in ("loss", "td_sum")}
    bits |= {n: int(np.float32(getattr(result, n)).view(np.uint32)) for n in ("value", "weight")}
    twin.clipped = getattr(twin, "clipped", np.zeros(3, np.int64)) + result.saturations
    bits["saturations"] = sum(int(n) << 32 * k for k, n in enumerate(twin.clipped))
    diverged = result.diverged is not None
    assert diverged == wild
    items = zip(header["index"], result.td.view(np.uint32), strict=True)
    return dict(
        batch=batch,
        records=_beats(lines),
        step=f"{int.from_bytes(step.tobytes(), 'little'):x}",
        diverged=int(diverged),
        final={} if diverged else bits,
        td=[f"{packed(ITEM.shape, dict(index=int(i), value=int(t)))[0]:x}" for i, t in items],
        stored=_beats(twin.store()),
    )


def _acted(config, twin, seen):
    words = np.zeros((len(seen), observation_granules(config) * GRANULE_BYTES // 4), np.float32)
    words[:, : config.observation] = seen
    actions = np.zeros((len(seen), action_granules(config) * GRANULE_BYTES // 4), np.float32)
    actions[:, : config.action] = twin.act(seen)
    return dict(batch=len(seen), records=_beats(words), actions=_beats(actions))


FIXED = Arithmetic(kind="fixed")
#: Weights of 18 bits.
SHORT = Arithmetic(kind="fixed", weight=SQ(4, 14))
#: Weights, activations and gradients are clipped.
NARROW = Arithmetic(kind="fixed", weight=SQ(1, 15), activation=SQ(1, 9), gradient=SQ(1, 12))


@pytest.fixture
def quartet(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


TINY = dict(observation=3, action=2, hidden=(4,), batch=8, multipliers=2, update_units=2)


def learner(algorithm, **options):
    sizes = dict(observation=3, action=2, hidden=(5,), batch=16, multipliers=2, update_units=2)
    return LearnerConfig(algorithm=algorithm, **(sizes | options))


#: Kernels of one sweep and of two: the smallest, several layers, several words of outputs, more
#: lanes, each optimizer and arithmetic.
CASES = {
    "td3": dict(algorithm="td3", arithmetic=FIXED, lanes=2),
    "td3, deep": dict(
        algorithm="td3",
        arithmetic=FIXED,
        hidden=(4, 3),
        action=3,
        optimizer="rmsprop",
        words=((2, 2, 3, 1), (2, 2, 3, 1), (2, 3, 1, 2)),
    ),
    "td3, narrow": dict(algorithm="td3", arithmetic=NARROW, observation=4),
    "td3, float32": dict(
        algorithm="td3",
        optimizer="sgd",
        observation=2,
        action=1,
        hidden=(2,),
        batch=4,
        multipliers=1,
        update_units=1,
    ),
    "td3, noise is the pace": dict(
        algorithm="td3",
        arithmetic=FIXED,
        lanes=4,
        hidden=(3,),
        action=2,
        multipliers=16,
        update_units=16,
    ),
    "dqn": dict(algorithm="dqn", arithmetic=FIXED),
    "ddpg": dict(algorithm="ddpg", arithmetic=FIXED, lanes=2),
    "four": dict(arithmetic=FIXED, lanes=2),
    "four, deep": dict(
        arithmetic=FIXED,
        hidden=(4, 3),
        words=((2, 3, 2, 1), (1, 2, 1, 1), (2, 3, 2, 1), (1, 1, 3, 2)),
        optimizer="rmsprop",
    ),
    "four, float32": dict(
        optimizer="sgd",
        observation=2,
        action=1,
        hidden=(2,),
        batch=4,
        multipliers=1,
        update_units=1,
    ),
    "four, fast": dict(
        arithmetic=FIXED, lanes=4, hidden=(3,), multipliers=16, update_units=16, action=1
    ),
    # Numbers on paths that stand still would be clipped as well.
    "four, narrow": dict(arithmetic=NARROW, observation=4, hidden=(5,)),
    "four, a short batch": dict(arithmetic=FIXED, batch=1, optimizer="sgd", observation=1),
    # An optimizer for the network, and the loss by a program: small parts.
    "dqn, small": dict(
        algorithm="dqn",
        arithmetic=SHORT,
        hidden=(5, 4),
        hidden_activation="tanh",
        multipliers=1,
        update_units=0,
        optimizer="rmsprop",
        double=False,
        loss_unit="program",
    ),
    "dqn, small, float32": dict(algorithm="dqn", lanes=2, update_units=0, loss_unit="program"),
    "ddpg, small": dict(algorithm="ddpg", arithmetic=NARROW, update_units=0, loss_unit="program"),
    "four, one optimizer a network": dict(arithmetic=FIXED, update_units=0, optimizer="sgd"),
}


def config_of(name):
    return LearnerConfig(**dict(algorithm="quartet") | TINY | CASES[name])


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_steps(quartet, simulate, tmp_path, name):
    batches = _BATCHES if config_of(name).arithmetic.saturates else _BATCHES[:2]
    follows_twin(simulate, tmp_path, config_of(name), batches=batches)


#: Of these one has each number of networks and of sweeps, three takers, a chain of three networks
#: that different sweeps train, and a taker that also has a pass of its own.
SEEDS = (0, 3, 5, 7, 9, 12, 14, 17, 22, 24, 28, 32, 35, 37)
#: More with free outputs, limited norms, both, or neither, in each arithmetic. Outputs that are
#: free are taken by other networks, or belong to these, are some of a word, and all but one.
SEEDS += (26, 33, 43, 44, 53, 54, 60, 65, 69, 70, 75, 80, 82, 88, 89)
#: Shifted errors: by one number and by two, of networks that share one and that do not, whose place
#: is not the first, with limited norms and without.
SEEDS += (100, 102, 105, 107, 113, 120, 126, 138)
#: Two networks with a free output each, in one sweep; a network with a free output, a limited norm
#: and shifted errors.
LIGHT = (31, 143)


@pytest.mark.parametrize("seed", [*LIGHT, *map(later, SEEDS)])
def test_random_plans(monkeypatch, simulate, tmp_path, seed):
    for names, key, value in random_plan.entries(seed):
        monkeypatch.setitem(names, key, value)
    config, values = random_plan.random_config(seed), {}
    if config.step_record is STEP:
        values = dict(max_norm=[(0.3, 0.1), (2.0, np.inf)], sweeps=[7, 5])
    follows_twin(simulate, tmp_path, config, seed=seed, batches=((0, 0), (0.4, 40)), **values)


#: Kernels that limit the norm of each network's gradient: with each optimizer and arithmetic, parts
#: of one number and of several, layers of different lengths, and several sweeps. The limit is below
#: the norm of some steps and above it in others.
NORMS = {
    "dqn": dict(algorithm="dqn", arithmetic=FIXED),
    "dqn, float32": dict(algorithm="dqn", hidden=(3,), optimizer="rmsprop"),
    "ddpg": dict(algorithm="ddpg", arithmetic=FIXED, lanes=2, hidden=(5, 3), optimizer="sgd"),
    "ddpg, float32": dict(algorithm="ddpg", observation=2, action=1, hidden=(3,), update_units=1),
    "four": dict(arithmetic=FIXED, lanes=2, optimizer="rmsprop"),
    "four, narrow": dict(arithmetic=NARROW, update_units=4),
    "td3": dict(algorithm="td3", arithmetic=FIXED, lanes=2),
    "td3, float32": dict(
        algorithm="td3", optimizer="sgd", observation=2, action=1, hidden=(2,), batch=4
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", NORMS)
def test_steps_with_a_limited_norm(quartet, simulate, tmp_path, name):
    config = LearnerConfig(**dict(algorithm="quartet", clip_norm=True) | TINY | NORMS[name])
    batches = _BATCHES if config.arithmetic.saturates else _BATCHES[:2]
    for most in ((0.3, 0.1), (2.0, np.inf)):
        follows_twin(simulate, tmp_path, config, batches=batches, max_norm=most)


@pytest.mark.long
def test_a_step_that_diverges(quartet, simulate, tmp_path):
    """No later sweep follows, nothing is updated, and the next batch is as if it had not been."""
    follows_twin(simulate, tmp_path, config_of("four, float32"), batches=((0, 0), (0.2, 9)), wild=0)

"""What runs, buffers and files of a state give, entry by entry.

The environments compute with additions, multiplications and comparisons alone, which are the same
on every processor. Runs whose gradients or actions come from torch or BLAS are compared by
tolerance.
"""

import csv
import io
import json
import shutil
from pathlib import Path

import gymnasium
import numpy as np

import rlfabric
from host import checkpoint
from tests.freeze.digests import Near, flat

__all__ = ["RUNS", "WRITTEN", "buffers", "run", "write_run", "written"]

#: A run's folder, with checkpoint and policy, that a commit of 2026-11-28 wrote.
WRITTEN = Path(__file__).parents[1] / "reference" / "run-2026-11-28"

_WALK, _PUSH = "rlfabric-freeze/Walk-v0", "rlfabric-freeze/Push-v0"


class Walk(gymnasium.Env):
    """A point on a line, in steps of 1/8: four numbers, two actions, at most 24 steps."""

    observation_space = gymnasium.spaces.Box(-64, 64, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(-8, 9)) / 8
        self.speed, self.time = 0.0, 0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.place, self.speed, self.place * self.speed, self.time / 32], "f4")

    def _push(self, action):
        return 0.125 if action else -0.125

    def step(self, action):
        self.speed = 0.75 * self.speed + self._push(action)
        self.place, self.time = self.place + self.speed, self.time + 1
        ends = abs(self.place) > 2
        reward = 1.0 - 0.25 * abs(self.place) - (4.0 if ends else 0.0)
        return self._seen(), reward, ends, self.time == 24, {}


class Push(Walk):
    """The same with a force in [-2, 2]."""

    action_space = gymnasium.spaces.Box(-2, 2, (1,), np.float32)

    def _push(self, action):
        return 0.125 * float(action[0])


for _name, _class in ((_WALK, Walk), (_PUSH, Push)):
    gymnasium.register(_name, entry_point=_class)

_SMALL = dict(evaluation_episodes=1, evaluation_interval_steps=160, log_interval_steps=80)
_MEMORY = dict(capacity=256, learning_starts=64, batch_size=8, hidden=(8, 6), env_count=4)
_REPLAY = _SMALL | _MEMORY
_ROUNDS = _SMALL | dict(env_count=4, hidden=(16,))
_ROLLOUT = _SMALL | dict(env_count=2, steps_per_launch=16, batch_size=16)
_ON_CARD = dict(act="card")
_FIXAR = dict(design="fixar", activation="relu", lagged_critic=False, noise="gaussian")
_KERNEL = {
    "learner.lanes": 1, "learner.multipliers": 4, "learner.update_units": 1,
    "learner.arithmetic.kind": "fixed",
}  # fmt: skip

#: name -> (algorithm, environment, arguments of rlfabric.train, fields of the run, whether its
#: numbers are equal on every processor)
RUNS = {
    "dqn": ("dqn", _WALK, {}, _REPLAY, True),
    "ddpg": ("ddpg", _PUSH, {}, _REPLAY | _ON_CARD, True),
    "a3c": ("a3c", _WALK, {}, _ROUNDS, True),
    "td3": ("td3", _PUSH, {}, _REPLAY, False),
    "sac": ("sac", _PUSH, {}, _REPLAY, False),
    "ppo": ("ppo", _WALK, {}, _ROLLOUT, False),
    "dqn, learner cpu": ("dqn", _WALK, dict(learner="cpu"), _REPLAY | dict(n_step=3), False),
    "ddpg, learner cpu": ("ddpg", _PUSH, dict(learner="cpu", memory="tree"), _REPLAY, False),
    "ddpg on FIXAR": ("ddpg", _PUSH, {}, _REPLAY | _ON_CARD | _FIXAR, True),
    "dqn on sim": ("dqn", _WALK, dict(card="sim", kernel=_KERNEL), _REPLAY, True),
    "ddpg on sim": ("ddpg", _PUSH, dict(card="sim", kernel=_KERNEL), _REPLAY | _ON_CARD, True),
    "td3 on sim": ("td3", _PUSH, dict(card="sim"), _REPLAY | dict(updates_per_launch=2), False),
    "ppo on sim": ("ppo", _WALK, dict(card="sim"), _ROLLOUT | dict(gae_lambda=0.5), False),
}
_STEPS = 320


def run(name, folder):
    """``{entry: value}`` of a run: checkpoint, best policy, progress and summary."""
    algorithm, env, options, fields, exact = RUNS[name]
    out = folder / name.replace(" ", "-")
    rlfabric.train(
        algorithm, env, steps=_STEPS, seed=3, out=out, progress=False, config=fields, **options
    )
    return _of_run(out, exact)


def _of_run(out, exact):
    result = {}
    for file, kind in (("checkpoint", "training"), ("best", "policy")):
        config, state = checkpoint.load(out / f"{file}.npz", kind)
        for name, value in flat(dict(config=config, state=state)):
            if not _timed(name):
                result[f"{file}: {name}"] = _told(name, value, exact)
    rows = list(csv.reader(io.StringIO((out / "progress.csv").read_text())))
    heads = rows[0]
    for column, name in enumerate(heads):
        if not _timed(name):
            cells = [row[column] for row in rows[1:]]
            numbers = np.array([float(cell) if cell else np.nan for cell in cells])
            result[f"progress.csv: {name}"] = numbers if exact else Near(numbers)
    summary = json.loads((out / "summary.json").read_text())
    for name, value in flat(summary["kernel"] or {}):
        result[f"summary.json: kernel.{name}"] = value
    result["summary.json: names"] = sorted(summary)
    return result


def _timed(name):
    """Whether a number is a time of this run."""
    return "phases." in name or name.rpartition(".")[2].startswith("seconds")


def _told(name, value, exact):
    """A leaf as it is compared. States of generators are the same on every processor. Experiences
    are bytes, with floats among them: where these are near, nothing but dtype and shape is told."""
    numbers = np.asarray(value)
    if exact or name.startswith("config") or "rng" in name or name.endswith("random"):
        return value
    if isinstance(value, np.ndarray) and (numbers.dtype.names or numbers.dtype == np.uint8):
        return f"{numbers.dtype} {numbers.shape}"
    return Near(numbers) if numbers.dtype.kind in "fiu" and value is not True else value


_FIELDS = {
    "obs": (np.float32, (3,)), "action": (np.int16, ()), "reward": (np.float64, ()),
    "done": (np.bool_, ()),
}  # fmt: skip


def _experiences(rng, count):
    return {
        "obs": rng.integers(-512, 512, (count, 3)) / 64,
        "action": rng.integers(0, 9, count),
        "reward": rng.integers(-64, 64, count) / 4,
        "done": rng.integers(0, 2, count) == 1,
    }


def _calls(memory, count):
    """500 calls: additions, draws, new priorities; yields what is drawn."""
    rng = np.random.default_rng(11)
    for number in range(count):
        kind = rng.integers(4) if len(memory) else 0
        if kind == 0:
            memory.add(**_experiences(rng, int(rng.integers(1, 6))))
        elif kind == 1 and number % 3 == 0:
            size = len(memory)
            chosen = rng.integers(0, size, min(4, size))
            memory.update_priorities(chosen, td_errors=rng.integers(-99, 99, len(chosen)) / 8)
        else:
            batch = memory.sample(int(rng.integers(1, min(len(memory), 8) + 1)), beta=0.5)
            yield batch


def buffers(folder):
    """``{entry: value}`` of 500 calls of each replay memory and of an advantage estimator."""
    result = {}
    for name, make in (
        ("PrioritizedReplayBuffer", rlfabric.PrioritizedReplayBuffer),
        ("TreeMemory", rlfabric.TreeMemory),
        ("RingMemory", rlfabric.RingMemory),
    ):
        memory = make(_FIELDS, capacity=200)
        drawn = list(_calls(memory, 500))
        for field in drawn[0]:
            result[f"{name}: drawn {field}"] = np.concatenate([each[field] for each in drawn])
        for entry, value in flat(memory.state_dict()):
            result[f"{name}: state {entry}"] = value
        if hasattr(memory, "close"):
            memory.close()
    rng, steps, count = np.random.default_rng(5), 40, 6
    ends = rng.integers(0, 8, (2, steps, count)) == 0
    numbers = rng.integers(-256, 256, (3, steps, count)) / 32
    with rlfabric.AdvantageEstimator(environments=count, steps=steps) as estimator:
        found = estimator.estimate(
            numbers[0], numbers[1], ends[0], ends[1], numbers[2], gamma=0.96875, gae_lambda=0.9375
        )
    for field in ("advantages", "returns"):
        if hasattr(found, field):
            result[f"AdvantageEstimator: {field}"] = np.asarray(getattr(found, field))
    return result


def write_run(folder):
    """The run whose folder is ``WRITTEN``."""
    fields = _REPLAY | dict(act="card", evaluation_interval_steps=80)
    rlfabric.train("dqn", _WALK, steps=160, seed=5, out=folder, progress=False, config=fields)
    shutil.rmtree(folder / "tensorboard")
    for name in ("returns.png", ".lock"):
        (folder / name).unlink()


def written(folder):
    """``{entry: value}`` of the files in ``WRITTEN``, as this commit reads them: the policy's
    actions, and the run's state after it has gone on."""
    policy = rlfabric.load_policy(WRITTEN)
    seen = np.random.default_rng(2).integers(-64, 64, (32, 4)).astype(np.float32) / 32
    actions, _ = policy.predict(seen, deterministic=True)
    result = {"policy: actions": np.asarray(actions, np.int64), "policy: env": policy.env}
    out = folder / "gone-on"
    shutil.copytree(WRITTEN, out)
    fields = _REPLAY | dict(act="card", evaluation_interval_steps=80)
    rlfabric.train(
        "dqn", _WALK, steps=320, seed=5, out=out, resume=True, progress=False, config=fields
    )
    return result | {f"gone on, {name}": value for name, value in _of_run(out, True).items()}

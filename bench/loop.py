"""Environment steps of a run a processor second, of dqn in several ratios and of other algorithms,
compared with stable-baselines3 with the same network, batch and updates in the same run; and the
peak memory of such a run."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from statistics import median

from bench import left_out, row
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.request import request
from host.runs.start_run import on_card

__all__ = ["in_turn", "rows"]

_ENV, _HIDDEN = "CartPole-v1", 64
_PEER = "stable-baselines3"
#: case -> environments, learner, the steps of a slice, batch (None: nothing learns)
_CASES = {
    "8 environments, nothing learns": (8, "card", 8000, None),
    "8 environments, an update of 32 for 32 steps": (8, "card", 4000, 32),
    "1 environment, an update of 64 a step": (1, "card", 400, 64),
    "1 environment, an update of 64 a step, learner cpu": (1, "cpu", 400, 64),
}
#: case -> its bar: as many times the peer's steps
_BARS = dict(zip(_CASES, (1.2, None, 1.3, 1.2), strict=True))
#: Runs of other algorithms with the same networks, batches and updates: case -> algorithm,
#: environment, environments, learner, the steps of a slice, our settings, the peer's class and
#: its options; no class without a peer that does equal work.
_ACTOR_CRITIC = dict(learning_starts=100, batch_size=64, gamma=0.99)
_OTHERS = {
    "ddpg on Pendulum-v1, 1 environment, an update of 64 a step": (
        "ddpg", "Pendulum-v1", 1, "card", 300,
        dict(_ACTOR_CRITIC, capacity=1 << 15, env_count=1, steps_per_launch=1),
        "DDPG", dict(_ACTOR_CRITIC, buffer_size=1 << 15, train_freq=1, gradient_steps=1),
    ),
    "sac on Pendulum-v1, 1 environment, an update of 64 a step": (
        "sac", "Pendulum-v1", 1, "cpu", 150,
        dict(_ACTOR_CRITIC, capacity=1 << 15, env_count=1, steps_per_launch=1,
             updates_per_launch=1),
        "SAC", dict(_ACTOR_CRITIC, buffer_size=1 << 15, train_freq=1, gradient_steps=1),
    ),
    "ppo on CartPole-v1, 8 environments, 10 epochs of 4 updates of 256 for 1024 steps": (
        "ppo", _ENV, 8, "cpu", 2048,
        dict(env_count=8, steps_per_launch=128, batch_size=256, epochs=10),
        "PPO", dict(n_steps=128, batch_size=256, n_epochs=10),
    ),
    # stable-baselines3's A2C makes one gradient step of all environments' rollouts.
    "a3c on CartPole-v1, a gradient step for 5 steps of each agent": (
        "a3c", _ENV, None, "card", 2000, dict(), None, None,
    ),
}  # fmt: skip
_ROUNDS, _WARM, _NEVER = 9, 1200, 1 << 20
_SOURCE = f"process time in this run, all threads, one core, median of {_ROUNDS}, taken in turn"
_MEMORY_STEPS = 4000
_MEMORY = {
    "rlfabric": (
        "-m", "rlfabric", "train", "dqn", "--env", _ENV, "--card", "model", "--steps",
        str(_MEMORY_STEPS), "--overwrite", "--out",
    ),
    _PEER: (
        "-c",
        "from bench import loop\n"
        f"loop._peer(8, 32)(int({_MEMORY_STEPS}))",
    ),
}  # fmt: skip


def rows(area=False):
    """The list of rows steps_per_s, environment steps a processor second of one core, and times,
    those over the peer's, with the bar; peak_mb, of the process of a whole run. ``area`` adds
    nothing. Without stable-baselines3 the rows have no reference."""
    result = _memory()  # first: a process's largest memory begins with its parent's
    with single_threaded(with_torch=True):
        for case, (count, learner, steps, batch) in _CASES.items():
            with ExitStack() as stack:
                ours = stack.enter_context(_Ours(count, learner, batch))
                found = in_turn({"rlfabric": ours, _PEER: _made_peer(count, batch)}, steps)
            result += _compared(f"dqn on {_ENV}, {case}", found, _BARS[case])
        for case, (algo, env, count, learner, steps, settings, kind, options) in _OTHERS.items():
            with _Run(algo, env, learner, dict(settings, hidden=f"{_HIDDEN},{_HIDDEN}")) as ours:
                peer = kind and _made_peer(kind, env, count, make=_peer_of, **options)
                result += _compared(case, in_turn({"rlfabric": ours, _PEER: peer}, steps))
    return result


def _compared(case, found, bar=None):
    """The rows of a case: steps a second, ours over the peer's."""
    theirs = found.get(_PEER)
    result = [
        row("loop", case, "steps_per_s", round(found["rlfabric"]), "steps/s",
            reference=theirs and _PEER, reference_value=theirs and round(theirs), source=_SOURCE)
    ]  # fmt: skip
    if theirs:
        result.append(
            row("loop", case, "times", round(found["rlfabric"] / theirs, 2), "x",
                reference=bar and "bar, at least", reference_value=bar,
                source=f"steps_per_s over that of {_PEER}")
        )  # fmt: skip
    return result


def _made_peer(*arguments, make=None, **options):
    try:
        return (make or _peer)(*arguments, **options)
    except ImportError as error:
        left_out(_PEER, error, "peers")
        return None


def in_turn(functions, steps):
    """``{name: steps a second}`` of ``functions``; each takes ``steps`` steps, None is left out."""
    functions = {name: function for name, function in functions.items() if function}
    speeds = {name: [] for name in functions}
    for function in functions.values():
        function(_WARM)
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            began = time.process_time()
            taken = function(steps)
            speeds[name].append(taken / (time.process_time() - began))
    return {name: median(each) for name, each in speeds.items()}


class _Run:
    """A context manager, whose value takes at least so many steps of a run, and returns how many
    it took."""

    def __init__(self, algo, env, learner, settings):
        options = dict(learner=learner, env=env, steps=_NEVER, seed=0)
        if algo == "ppo":
            del options["learner"]  # it has one
        self._request = request(
            algo,
            options=options,
            settings={name: str(value) for name, value in settings.items()},
            preset_name=None,
        )

    def __enter__(self):
        config, kernel = self._request
        with ExitStack() as stack:
            factory, *_ = stack.enter_context(on_card(config, "model", kernel=kernel))
            self._session = stack.enter_context(closing(build(config, factory)))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def __call__(self, steps):
        clock = self._session.clock
        began = clock.steps
        while clock.steps < began + steps:
            self._session.iterate()
        return clock.steps - began


class _Ours(_Run):
    """A run of dqn."""

    def __init__(self, count, learner, batch):
        starts = _NEVER if batch is None else 1000 if count > 1 else 100
        settings = dict(
            env_count=count,
            steps_per_launch=4 if count > 1 else 1,
            learning_starts=starts,
            capacity=_NEVER,
            hidden=f"{_HIDDEN},{_HIDDEN}",
            batch_size=batch or 32,
            activation="tanh",
        )
        super().__init__("dqn", _ENV, learner, settings)


def _peer(count, batch):
    """As ``_Ours``, by stable-baselines3; without a batch, its actions are random ones, as before
    its first update."""
    import torch

    several = count > 1
    return _peer_of(
        "DQN",
        _ENV,
        count,
        learning_starts=_NEVER if batch is None else 1000 if several else 100,
        train_freq=4 if several else 1,
        batch_size=batch or 32,
        buffer_size=1 << 15,
        policy_kwargs=dict(activation_fn=torch.nn.Tanh),
    )


def _peer_of(kind, env, count, policy_kwargs=None, **options):
    """As ``_Run``, by the class of stable-baselines3 that is called ``kind``."""
    import stable_baselines3
    from stable_baselines3.common.env_util import make_vec_env

    policy = dict(net_arch=[_HIDDEN, _HIDDEN], **(policy_kwargs or {}))
    envs = make_vec_env(env, count, seed=0)
    options |= dict(policy_kwargs=policy, device="cpu", seed=0)
    model = getattr(stable_baselines3, kind)("MlpPolicy", envs, **options)

    def run(steps):
        before = model.num_timesteps
        model.learn(steps, reset_num_timesteps=not before)
        return model.num_timesteps - before

    return run


def _memory():
    """One row: MB at most of a short run, and of the peer's."""
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in _MEMORY.items():
            out = [f"{folder}/run"] if name == "rlfabric" else []
            with subprocess.Popen([sys.executable, *words, *out], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:  # fmt: skip
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode == 0:
                peaks[name] = round(usage.ru_maxrss / 1024)
    return [
        row("loop", f"dqn on {_ENV}, {_MEMORY_STEPS} steps, card model", "peak_mb",
            peaks["rlfabric"], "MB", reference=_PEER if _PEER in peaks else None,
            reference_value=peaks.get(_PEER), source="largest resident memory of the process")
    ]  # fmt: skip

"""Environment steps of a dqn run a processor second, compared with stable-baselines3's DQN with
the same network, batch and updates in the same run; and the peak memory of such a run."""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from statistics import median

from bench import row
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
            theirs = found.get(_PEER)
            name = f"dqn on {_ENV}, {case}"
            result.append(
                row("loop", name, "steps_per_s", round(found["rlfabric"]), "steps/s",
                    reference=theirs and _PEER, reference_value=theirs and round(theirs),
                    source=_SOURCE)
            )  # fmt: skip
            if theirs:
                result.append(
                    row("loop", name, "times", round(found["rlfabric"] / theirs, 2), "x",
                        reference=_BARS[case] and "bar, at least", reference_value=_BARS[case],
                        source=f"steps_per_s over that of {_PEER}")
                )  # fmt: skip
    return result


def _made_peer(count, batch):
    try:
        return _peer(count, batch)
    except ImportError as error:
        print(f"{_PEER} is left out: {error} (pip install 'rlfabric[peers]')", file=sys.stderr)
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


class _Ours:
    """A context manager, whose value takes at least so many steps of a run, and returns how many
    it took."""

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
        options = dict(learner=learner, env=_ENV, steps=_NEVER, seed=0)
        self._request = request(
            "dqn",
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


def _peer(count, batch):
    """As ``_Ours``, by stable-baselines3; without a batch, its actions are random ones, as before
    its first update."""
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    several = count > 1
    model = DQN(
        "MlpPolicy",
        make_vec_env(_ENV, count, seed=0),
        learning_starts=_NEVER if batch is None else 1000 if several else 100,
        train_freq=4 if several else 1,
        batch_size=batch or 32,
        buffer_size=1 << 15,
        policy_kwargs=dict(net_arch=[_HIDDEN, _HIDDEN], activation_fn=torch.nn.Tanh),
        device="cpu",
        seed=0,
    )

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

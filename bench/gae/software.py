"""The time of software for the same advantages: stable-baselines3, loops in NumPy, numba and C, and
rlfabric on card ``model``, whose numbers are the kernel's.

All are measured in one run, in turn, on one thread; the kernel's time is ``gae_cycles`` at an
assumed clock. In C the outer loop is over time and the inner one over trajectories, where a
compiler vectorises it: this is the fastest that we know, and far faster than the library's loop
with which HEPPO compares.
"""

import ctypes
import shutil
import subprocess
import sys
import time

import numba
import numpy as np

from bench import medians, row
from host.advantages.estimator import AdvantageEstimator
from host.cards import open_card
from host.kernels import keep
from system.tools import BUILD_DIRECTORY

__all__ = ["CLOCK", "implementations", "rows"]

CLOCK = 300e6  # HEPPO's; assumed, not measured: no card was at hand
_SHAPES = ((128, 8), (128, 16), (1024, 64))  # steps, trajectories
#: (steps, trajectories) -> the bar: the time of card ``model`` over numba's, at most
_BARS = {(128, 8): 8, (1024, 64): 2.5}
_NUMBA, _OURS = "numba, double loop", "rlfabric, card model"
_GAMMA, _DECAY = np.float32(0.99), np.float32(0.99 * 0.95)

_C = """
void gae(int steps, int rows, const float *restrict reward, const float *restrict value,
         const float *restrict next, const float *restrict goes_on, float *restrict advantage,
         float *restrict rtg, float *restrict last, float gamma, float decay) {
    for (int n = 0; n < rows; n++)
        last[n] = 0;
    for (int t = steps - 1; t >= 0; t--) {
        const float *restrict above = t == steps - 1 ? next : value + (t + 1) * rows;
        for (int n = 0; n < rows; n++) {
            int k = t * rows + n;
            float delta = reward[k] + gamma * above[n] * goes_on[k] - value[k];
            last[n] = delta + decay * goes_on[k] * last[n];
            advantage[k] = last[n];
            rtg[k] = last[n] + value[k];
        }
    }
}
"""


def _rollout(steps, rows):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(2, steps, rows)).astype(np.float32)
    goes_on = (rng.random((steps, rows)) > 0.01).astype(np.float32)
    return *numbers, rng.normal(size=rows).astype(np.float32), goes_on


def numpy_loop(reward, value, following, goes_on):
    """CleanRL's loop in NumPy: a vector operation over trajectories for each step.

    Returns a function without arguments that gives (advantages, rewards-to-go).
    """

    def run():
        advantage = np.zeros_like(reward)
        last = np.zeros_like(following)
        for t in range(len(reward) - 1, -1, -1):
            above = following if t == len(reward) - 1 else value[t + 1]
            delta = reward[t] + _GAMMA * above * goes_on[t] - value[t]
            advantage[t] = last = delta + _DECAY * goes_on[t] * last
        return advantage, advantage + value

    return run


@numba.njit(cache=True)
def _double_loop(reward, value, following, goes_on, gamma, decay):
    steps, rows = reward.shape
    advantage, rtg = np.empty_like(reward), np.empty_like(reward)
    for t in range(steps - 1, -1, -1):
        for n in range(rows):
            above = following[n] if t == steps - 1 else value[t + 1, n]
            later = np.float32(0) if t == steps - 1 else advantage[t + 1, n]
            delta = reward[t, n] + gamma * above * goes_on[t, n] - value[t, n]
            advantage[t, n] = delta + decay * goes_on[t, n] * later
            rtg[t, n] = advantage[t, n] + value[t, n]
    return advantage, rtg


def numba_loop(reward, value, following, goes_on):
    return lambda: _double_loop(reward, value, following, goes_on, _GAMMA, _DECAY)


def c_loop(reward, value, following, goes_on):
    """ImportError without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise ImportError("a C compiler is needed (apt-get install gcc)")
    folder = BUILD_DIRECTORY / "gae"
    folder.mkdir(parents=True, exist_ok=True)
    source, part, library = (folder / f"gae.{suffix}" for suffix in ("c", "o", "so"))
    source.write_text(_C, encoding="utf-8")
    fast = ["-O3", "-march=native", "-ffast-math", "-fPIC", "-c"]
    subprocess.run([compiler, *fast, str(source), "-o", str(part)], check=True)
    # Linked separately: with -ffast-math the library would set subnormal numbers of the whole
    # process to 0.
    subprocess.run([compiler, "-shared", str(part), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).gae
    steps, rows = reward.shape
    advantage, rtg = np.empty_like(reward), np.empty_like(reward)
    arrays = (reward, value, following, goes_on, advantage, rtg, np.empty_like(following))
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    numbers = [ctypes.c_float(float(x)) for x in (_GAMMA, _DECAY)]

    def run():
        function(steps, rows, *pointers, *numbers)
        return advantage, rtg

    return run


def library_loop(reward, value, following, goes_on):
    """stable-baselines3's ``RolloutBuffer.compute_returns_and_advantage``."""
    import torch
    from gymnasium.spaces import Box
    from stable_baselines3.common.buffers import RolloutBuffer

    torch.set_num_threads(1)
    steps, rows = reward.shape
    space = Box(-1, 1, (1,), np.float32)
    buffer = RolloutBuffer(
        steps, space, space, device="cpu", gae_lambda=float(_DECAY / _GAMMA), gamma=float(_GAMMA),
        n_envs=rows,
    )  # fmt: skip
    buffer.rewards[:], buffer.values[:] = reward, value
    # The buffer wants to know whether a step is the first of an episode, so the one after an end.
    buffer.episode_starts[1:] = 1 - goes_on[:-1]
    last, dones = torch.from_numpy(following), 1 - goes_on[-1]

    def run():
        buffer.compute_returns_and_advantage(last, dones)
        return buffer.advantages, buffer.returns

    return run


def model_card(reward, value, following, goes_on):
    """rlfabric's estimator without a card: argument checks, and the bits of a kernel."""
    steps, rows = reward.shape
    sizes = {"gae.rows": rows, "gae.depth": 2 * steps, "gae.code_width": 32}
    folder, _ = keep("gae", "u200", BUILD_DIRECTORY / "bench" / "gae", verilog=False, **sizes)
    estimator = AdvantageEstimator(open_card("model").load(folder / "kernel.json"))
    ended, cut = goes_on == 0, np.zeros(reward.shape, bool)
    after = np.broadcast_to(following, reward.shape).copy()
    discounts = dict(gamma=float(_GAMMA), gae_lambda=float(_DECAY / _GAMMA))
    return lambda: estimator.estimate(reward, value, ended, cut, after, **discounts)[:2]


def implementations(steps, rows):
    """``{name: function}`` of all programs that can run here, on one random rollout.

    The rollout has ``steps`` steps of ``rows`` trajectories. Each function takes no arguments, and
    returns (advantages, rewards-to-go). A program that is not installed is left out, with a line on
    stderr.
    """
    rollout, result = _rollout(steps, rows), {}
    for name, make in (
        ("stable-baselines3", library_loop),
        ("NumPy, a step at a time", numpy_loop),
        (_NUMBA, numba_loop),
        ("C, time outside", c_loop),
        (_OURS, model_card),
    ):
        try:
            result[name] = make(*rollout)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return result


def rows(cycles):
    """The list of rows of elements a second, where an element is the advantage and the
    reward-to-go of one step; of software_over_array, software's time over the kernel's; and of
    card_model_over_numba, times in one run.

    The kernel's time comes from ``cycles``, its clocks for 64 rows x 1024 steps, at CLOCK.
    """
    steps, count = _SHAPES[-1]
    result = [
        row("gae", f"{count} x {steps}, 64 rows", "modelled_elements_per_second",
            round(steps * count / cycles * CLOCK, -6), "1/s",
            source=f"gae_cycles at {CLOCK / 1e6:.0f} MHz (assumed), no transfers")
    ]  # fmt: skip
    for steps, count in _SHAPES:
        took = medians(implementations(steps, count), calls=10, clock=time.process_time)
        for name, seconds in took.items():
            case = f"{count} x {steps}, {name}"
            result.append(
                row("gae", case, "software_elements_per_second",
                    round(steps * count / seconds, -4), "1/s",
                    source="process time of one thread in this run, median of 15")
            )  # fmt: skip
            if (steps, count) == _SHAPES[-1] and name != _OURS:
                result.append(
                    row("gae", case, "software_over_array", round(seconds * CLOCK / cycles), "x",
                        source="modelled_ over software_elements_per_second")
                )  # fmt: skip
        if (steps, count) in _BARS:
            result.append(
                row("gae", f"{count} x {steps}", "card_model_over_numba",
                    round(took[_OURS] / took[_NUMBA], 1), "x", reference="bar, at most",
                    reference_value=_BARS[steps, count],
                    source="process time of one thread in this run, median of 15")
            )  # fmt: skip
    return result

"""The host's time for a launch on card ``model``, for a replay buffer in a user's own loop, beside
cpprb in the same run, and for a start of the command line."""

import re
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np

from bench import buffers, left_out, medians, row
from host.cards import open_card
from host.kernels import keep
from host.programs.launcher import aligned
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.replay.commands import Given, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import HEADER
from system.tools import BUILD_DIRECTORY

__all__ = ["rows"]

CAPACITY = 50_000
BATCH = 32
_FIELDS = {
    "obs": (np.float32, (4,)),
    "action": (np.int32, ()),
    "reward": (np.float32, ()),
    "next_obs": (np.float32, (4,)),
    "discount": (np.float32, ()),
}
_SCALARS = tuple(name for name, (_, shape) in _FIELDS.items() if not shape)
_ROUNDS, _CALLS, _STEPS, _STARTS = 9, 200, 1000, 5
_COMMAND = sys.executable, "-m", "rlfabric"
#: A small learner on card sim, and an environment that says when it is first stepped.
_TRAIN = (
    *("train", "dqn", "--env", "first_step:FirstStep-v0", "--card", "sim", "--steps", "40"),
    *("--overwrite", "--set", "hidden=32,32", "--set", "kernel.multipliers=16"),
    *("--set", "kernel.learner.arithmetic.kind=fixed", "--set", "kernel.update_units=4"),
)
_FIRST_STEP = """
import resource

import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

told = []


class FirstStep(CartPoleEnv):
    def step(self, action):
        if not told:
            told.append(True)
            spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF,
                                                         resource.RUSAGE_CHILDREN)]
            print(f"first step after {sum(x.ru_utime + x.ru_stime for x in spent):.3f} s")
        return super().step(action)


gymnasium.register("FirstStep-v0", FirstStep, max_episode_steps=500, reward_threshold=475.0)
"""
#: command -> its bar
_START_BARS = {"--help": 0.35, "list": 0.35, "train, card sim, its kernel compiled before": 3}
_SOURCE = f"process time of one thread in this run, median of {_ROUNDS}, taken in turn"


def rows(area=False):
    """The list of rows launch_us, microseconds of a launch or a call on card model; step_us,
    microseconds of a step in a user's own loop; call_us of ``bench.buffers``; start_s, processor
    seconds of a command up to its end, or to the first step of a run whose kernel has been compiled
    before. ``area`` adds nothing."""
    with open_card("model") as card:
        work = BUILD_DIRECTORY / "bench" / "host"
        folder, _ = keep("replay", "u200", work, verilog=False, capacity=1 << 16)
        ours = _Ours(card.load(folder / "kernel.json"))
        peer = _peer()
        result = [
            row("host", name, "launch_us", round(value * 1e6, 1), "us", source=_SOURCE)
            for name, value in _medians(_launches(ours)).items()
        ]
        agents = _agents()
        loops = {
            (name, case): _Loop(calls, make and make()).run
            for case, make in agents.items()
            for name, calls in (("rlfabric", ours), ("cpprb", peer))
            if calls
        }
        took = _medians(loops, calls=1)
        for case in agents:
            theirs = round(took["cpprb", case] / _STEPS * 1e6, 1) if peer else None
            result.append(
                row("host", f"own loop, {case}: add each step, sample and update of {BATCH} every "
                    "other", "step_us", round(took["rlfabric", case] / _STEPS * 1e6, 1), "us/step",
                    reference="cpprb 11" if peer else None, reference_value=theirs, source=_SOURCE)
            )  # fmt: skip
        return result + buffers.rows() + _starts()


def _starts():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "first_step.py").write_text(_FIRST_STEP, encoding="utf-8")
        train = [*_TRAIN, "--out", f"{folder}/run"]
        subprocess.run([*_COMMAND, *train], cwd=folder, check=True, capture_output=True)
        found = {name: [] for name in _START_BARS}
        for _ in range(_STARTS):
            for name, seconds in found.items():
                words = train if name.startswith("train") else name.split()
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run(
                    [*_COMMAND, *words], cwd=folder, check=True, capture_output=True, text=True
                )
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                told = re.search(r"first step after ([\d.]+) s", done.stdout)
                seconds.append(float(told[1]) if told else spent)
    source = f"processor time of the process and its children, median of {_STARTS}"
    return [
        row("host", name, "start_s", round(float(np.median(seconds)), 2), "s",
            reference="bar, at most", reference_value=_START_BARS[name], source=source)
        for name, seconds in found.items()
    ]  # fmt: skip


def _agents():
    """Case -> function that makes its agent, or None if nothing learns."""
    agents = {}
    try:
        from bench.own_dqn import TorchDQN

        agents["DQN in torch on CartPole-v1"] = TorchDQN
    except ImportError as error:
        left_out("torch", error, "torch")
    return agents | {"the buffer's calls alone": None}


def _medians(functions, calls=_CALLS):
    """``medians`` of process time."""
    return medians(functions, rounds=_ROUNDS, calls=calls, clock=time.process_time)


def _commands(buffer, records):
    """``{name: (program, operands, bytes of results)}``: one command of each kind, SETUP last."""
    items, places = np.zeros((BATCH, 2), np.uint32), np.zeros(BATCH, np.uint64)
    items[:, 0], items[:, 1] = np.arange(BATCH), 100
    listed = aligned(records.nbytes)
    inserted, found = [(0, records), (listed, items)], BATCH * buffer.batch_dtype.itemsize
    power = {"alpha": 19661, "epsilon": 7}
    counted = {
        "INSERT": (Opcode.INSERT, {}, inserted[:1], 0),
        "INSERT of given priorities": (
            Opcode.INSERT, {"given": Given.PRIORITIES.value, "priorities": listed}, inserted, 0
        ),
        "INSERT of given TD errors": (
            Opcode.INSERT, {"given": Given.TD_ERRORS.value, "priorities": listed, **power},
            inserted, 0,
        ),
        "SET": (Opcode.SET, {}, [(0, items)], 0),
        "UPDATE": (Opcode.UPDATE, power, [(0, items)], 0),
        "SAMPLE": (Opcode.SAMPLE, {"stratum_width": (1 << FRACTION_WIDTH) // BATCH}, [], found),
        "FIND": (Opcode.FIND, {}, [(0, places)], found),
        "GET": (Opcode.GET, {}, [(0, items)], BATCH * HEADER.size),
    }  # fmt: skip
    state = np.random.SFC64(0).state["state"]["state"]
    whole = {"position": BATCH, "fill": BATCH, "maximum": 1 << 15}
    return {
        **{
            f"{name}, {BATCH}": ([(opcode, {"count": BATCH, **fields})], operands, size)
            for name, (opcode, fields, operands, size) in counted.items()
        },
        "SEED": ([(Opcode.SEED, {"state": state})], [], 0),
        "RESTORE": ([(Opcode.RESTORE, whole)], [], 0),
        "SETUP": ([buffer._setup], [], 0),
    }


def _launches(ours):
    """Programs of no command and of one, then the buffer's methods."""
    buffer, run = ours.buffer, ours.buffer.launcher.run
    one = {name: np.zeros((1, *shape), kind) for name, (kind, shape) in _FIELDS.items()}
    many = {name: np.repeat(array, BATCH, axis=0) for name, array in one.items()}
    buffer.add(**many)
    record, indexes = buffer.records_of(one), np.arange(BATCH)
    errors = np.linspace(0, 1, BATCH)
    commands = _commands(buffer, buffer.records_of(many))
    programs = {name: partial(run, *program) for name, program in commands.items()}
    # SETUP empties the buffer; the first INSERT of the next round fills it.
    return {
        "empty program": lambda: run([]),
        **{name: program for name, program in programs.items() if name != "SETUP"},
        "INSERT of one": lambda: run([(Opcode.INSERT, {"count": 1})], [(0, record)]),
        "add of one": lambda: buffer.add(**one),
        f"sample of {BATCH}": lambda: buffer.sample(BATCH),
        f"update_priorities of {BATCH}": lambda: buffer.update_priorities(indexes, errors),
        f"step: update {BATCH}, add one, sample {BATCH}": lambda: buffer.step(
            one, (indexes, errors), (BATCH, 0.4)
        ),
        "SETUP": programs["SETUP"],
    }


class _Ours:
    """The calls of a loop, with the fewest launches: an update waits for the next ``step``."""

    def __init__(self, kernel):
        self.buffer, self._update = (
            PrioritizedReplayBuffer(kernel, _FIELDS, capacity=CAPACITY),
            None,
        )

    def add(self, transition, sample):
        if not sample:
            return self.buffer.add(**transition)
        return self.buffer.step(transition, self._update, (BATCH, 0.4))

    def update(self, indexes, errors):
        self._update = indexes, errors


class _Peer:
    def __init__(self, buffer):
        self.buffer = buffer

    def add(self, transition, sample):
        self.buffer.add(**transition)
        if sample:
            batch = self.buffer.sample(BATCH, beta=0.4)
            return batch | {name: batch[name].reshape(-1) for name in _SCALARS}  # [n, 1] there
        return None

    def update(self, indexes, errors):
        self.buffer.update_priorities(indexes, np.abs(errors))


def _peer():
    buffer = buffers.cpprb_buffer(_FIELDS, CAPACITY)
    return buffer and _Peer(buffer)


class _Loop:
    """An agent on CartPole-v1, the same for both buffers; or, without one, the buffer's calls."""

    def __init__(self, calls, agent=None):
        self.calls, self.agent = calls, agent
        self.env = gymnasium.make("CartPole-v1")
        self.obs, _ = self.env.reset(seed=0)
        self.made = {name: np.zeros((1, *shape), kind) for name, (kind, shape) in _FIELDS.items()}
        for _ in range(BATCH):
            self.calls.add(self.made, False)

    def run(self):
        for step in range(_STEPS):
            batch = self.calls.add(self._transition(), step % 2)
            if batch:
                errors = self.agent.learn_batch(batch)[0] if self.agent else batch["reward"]
                self.calls.update(batch["indexes"], errors)

    def _transition(self):
        if not self.agent:
            return self.made
        action = int(self.agent.act(self.obs[None])[0])
        following, reward, terminated, truncated, _ = self.env.step(action)
        transition = dict(
            obs=self.obs[None],
            action=[action],
            reward=[reward],
            next_obs=following[None],
            discount=[0.0 if terminated else 0.99],
        )
        self.obs = self.env.reset()[0] if terminated or truncated else following
        return transition

"""Trainings of a second, and buffers that strike in them: for the tests of ``host.runs.loop``."""

import hashlib
import os
import signal

from fake_replay import FakeReplay
from rich.console import Console

from host.runs.loop import train
from host.runs.replay_runs import OffPolicyConfig

__all__ = ["DQN", "SMALL", "Recorder", "run", "sigint", "small"]

SMALL = dict(
    steps=2000,
    env_count=4,
    capacity=1000,
    learning_starts=100,
    evaluation_interval_steps=800,
    evaluation_episodes=4,
    log_interval_steps=200,
    checkpoint_interval_steps=600,
)
DQN = dict(hidden=[16], batch_size=16, n_step=1)


def small(**changes):
    agent = DQN | changes.pop("agent", {})
    return OffPolicyConfig.from_dict({**SMALL, **changes, "agent": agent})


class Recorder:
    """A buffer factory that keeps a digest of each batch, and may strike at launch ``at``, or at
    each of several ``strikes``; a ``saving`` of its state takes so many clocks."""

    def __init__(self, at=None, strike=None, strikes=None, saving=0):
        self.digests, self.launches, self.saving = [], 0, saving
        self.strikes = strikes or {at: strike}

    def __call__(self, fields, **options):
        recorder = self

        class Recording(FakeReplay):
            device_cycles = 0

            def step(self, experiences, update, sample):
                recorder.launches += 1
                self.device_cycles += 100
                if recorder.launches in recorder.strikes:
                    recorder.strikes[recorder.launches]()
                batches = super().step(experiences, update, sample)
                for batch in batches or ():
                    digest = hashlib.sha256()
                    for name in sorted(batch):
                        digest.update(batch[name].tobytes())
                    recorder.digests.append(digest.hexdigest())
                return batches

            def state_dict(self):
                self.device_cycles += recorder.saving
                return super().state_dict()

        self.buffer = Recording(fields, **options)
        return self.buffer


def run(config, out, factory=FakeReplay, said=None, **options):
    """``train`` without a word, or with words in the text file ``said``."""
    console = Console(file=said or open(os.devnull, "w"), width=200)
    return train(config, factory, out=out, console=console, **options)


def sigint():
    os.kill(os.getpid(), signal.SIGINT)

"""Claims of a second, and processes that stand for their runs."""

import json
import os
import signal
import sys

from rich.console import Console

from bench.learning.claim import Claim, Kind

__all__ = ["SHORT", "Signalling", "claim", "kind", "quiet", "scripted"]

SHORT = dict(
    steps=800,
    hidden=(8,),
    capacity=256,
    learning_starts=64,
    batch_size=16,
    evaluation_episodes=2,
    evaluation_interval_steps=400,
)


def kind(name="cpu", **changes):
    return Kind(**{"name": name, "title": name, "what": f"as {name}", "learner": "cpu", **changes})


def claim(name="tiny", **changes):
    """A Claim of one seed on CartPole-v1, solved from 100, by learner cpu."""
    values = dict(algo="dqn", env="CartPole-v1", kinds=(kind(),), seeds=1, needed=1)
    values |= dict(source="a test", threshold=100.0, fields=SHORT)
    return Claim(**{"name": name, **values, **changes})


_WRITE = """
import pathlib, sys
path, text = sys.argv[1:]
pathlib.Path(path).mkdir(parents=True, exist_ok=True)
pathlib.Path(path, "result.json").write_text(text)
"""


def scripted(means, begun, made=()):
    """A ``command`` of ``bench.learning.command.hold``: each run has the mean return that ``means``
    has for its name, or fails with code 3 where there is none; ``begun`` collects names, and
    ``made`` has other values of the result."""

    def command(job):
        begun.append(job.name)
        if job.name not in means:
            return [sys.executable, "-c", "print('no such luck'); raise SystemExit(3)"]
        past = {"commits": ["1234567"], "date": "2027-01-01 00:00"}
        result = {
            "asked": job.asked,
            **past,
            **dict(made),
            "mean_return": means[job.name],
            "steps": 120_000,
        }
        result |= {"updates": 77, "seconds": 1800.0, "curve": [[400, 9.0], [800, 11.5]]}
        return [sys.executable, "-c", _WRITE, job.folder, json.dumps(result)]

    return command


def quiet():
    return Console(file=open(os.devnull, "w"))


class Signalling(Console):
    """Sends this process SIGTERM with the first line that is printed."""

    sent = False

    def print(self, *things, **options):
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGTERM)

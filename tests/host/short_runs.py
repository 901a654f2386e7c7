"""Runs for the tests of ``host.runs.start_run``: short, with what is built in a folder of the
test."""

import hashlib
import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import boards
from host.kernels import configure
from host.runs import rollout_runs
from host.runs import start_run as module
from host.runs.request import request
from hw.designs import DESIGNS
from hw.shell.description import KernelDescription

__all__ = [
    "CARD",
    "PPO",
    "PPO_SETTINGS",
    "SMALL",
    "build_kernel",
    "built",
    "kernels",
    "options",
    "seen",
    "start",
]


def start(*, algo, learner, env, steps, seed, until_solved, settings, preset_name=None, **others):
    """A run as ``rlfabric train`` starts it."""
    options = dict(learner=learner, env=env, steps=steps, seed=seed)
    config, kernel = request(algo, options=options, settings=settings, preset_name=preset_name)
    assert not until_solved
    return module.start(config, kernel=kernel, **others)


SMALL = {
    "capacity": "256",
    "learning_starts": "64",
    "evaluation_episodes": "1",
    "evaluation_interval_steps": "8000",
    "batch_size": "16",
}


CARD = {**SMALL, "hidden": "8,6", "updates_per_launch": "2", "steps_per_launch": "1", "n_step": "1"}


PPO = dict(algo="ppo", env="Pendulum-v1", board="zcu106")
PPO_SETTINGS = {"env_count": "3", "steps_per_launch": "20", "batch_size": "30"}


def kernels(folder):
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def build_kernel(design, board, out, **values):
    """What a card needs of ``host.kernels.generate``'s files, without the Verilog's seconds."""
    config = configure(DESIGNS[design], boards.get(board), values)
    folder = out / board / design
    folder.mkdir(parents=True)
    text = DESIGNS[design].describe(config).to_json()
    (folder / "kernel.json").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({"sha256": {"kernel.json": digest}}))


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Options of a short run, with everything that is built below ``tmp_path``."""
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    return dict(
        algo="dqn",
        learner="cpu",
        env="CartPole-v1",
        card="model",
        board="u50",
        steps=200,
        seed=1,
        out=tmp_path / "run",
        resume=False,
        until_solved=False,
        trace=False,
        settings=SMALL,
    )


@pytest.fixture
def built(tmp_path):
    """Kernels for a real card, where `rlfabric bitstream` leaves them."""
    for design in ("replay", "dqn"):
        build_kernel(design, "u50", tmp_path / "build", capacity=256)
    return tmp_path / "build/u50"


@pytest.fixture
def seen(monkeypatch):
    """Everything but the command line's part replaced; what it would have been given."""
    seen = SimpleNamespace(exit_code=0)

    def load(path):
        seen.description = path
        return SimpleNamespace(description=KernelDescription.from_json(path.read_text()))

    @contextmanager
    def open_card(name, **options):
        seen.card, seen.options = name, options
        yield SimpleNamespace(load=load)

    def train(config, factory, *, out, card, kernel, resume, console, callback):
        assert card == seen.card, "the summary's is the one that was opened"
        seen.out, seen.kernel = out, kernel
        seen.config, seen.resume, seen.factory = config, resume, factory
        summary = {"mean_return": None, "solved": False, "seconds": 1.0}
        return SimpleNamespace(summary=summary, plot=out / "plot.png", exit_code=seen.exit_code)

    def estimator(*arguments, **options):
        seen.estimator = arguments, options

    for function in (open_card, train):
        monkeypatch.setattr(module, function.__name__, function)
    monkeypatch.setattr(rollout_runs, "AdvantageEstimator", estimator)
    return seen

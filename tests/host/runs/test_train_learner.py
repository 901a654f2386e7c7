"""host.runs.loop with the learner on card ``model``: ends and goes on as with the CPU's."""

import os
import signal
from functools import partial

import pytest
from learner.modelled import FIXED, kernel_config, learner_values, opened
from rich.console import Console

from host.checkpoint import CheckpointError
from host.learner.learning_replay import LearningReplay
from host.runs.loop import train
from host.runs.preset import preset
from host.runs.run_log import read_progress
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ

CASES = [("dqn", "CartPole-v1"), ("ddpg", "Pendulum-v1")]
CLIPPED = ("clipped_weights", "clipped_activations", "clipped_gradients")


def configured(algo, env, **agent):
    base = preset(algo, "card").to_dict()
    run = dict(
        env=env,
        env_count=4,
        steps=1200,
        steps_per_launch=2,
        updates_per_launch=2,
        weights_interval=2,
        capacity=200,
        learning_starts=100,
        log_interval_steps=200,
        evaluation_interval_steps=8000,
        evaluation_episodes=1,
    )
    small = dict(hidden=(8, 6), batch_size=16, n_step=1) | agent
    return preset(algo, "card").from_dict({**base, **run, "agent": base["agent"] | small})


class Recorder:
    """A buffer factory that keeps the reports of every launch, and strikes at launch ``at``."""

    def __init__(self, kernel, at=None, strike=None, kind=LearningReplay):
        self.kernel, self.at, self.strike, self.kind = kernel, at, strike, kind
        self.reports = []

    def __call__(self, fields, **options):
        buffer = self.kind(self.kernel, fields, **options)
        learn = buffer.learn

        def recorded(steps, **values):
            if len(self.reports) == self.at:
                self.strike()
            learned = learn(steps, **values)
            reports = learned.reports
            self.reports.append({name: reports[name].tolist() for name in reports.dtype.names})
            return learned

        buffer.learn = recorded
        return buffer


def loaded(config, **learner):
    settings = learner_values(config) | {"batch": 16} | learner
    return opened(kernel_config(settings.pop("algorithm"), capacity=200, **settings))


def run(config, factory, out, **options):
    return train(config, factory, out=out, console=Console(file=open(os.devnull, "w")), **options)


@pytest.mark.parametrize("algo, env", CASES)
def test_interrupt_and_resume(tmp_path, algo, env):
    """Weights, moments, targets and priorities are in the checkpoint: the next launch is the same,
    and all the rest a function of the checkpoint."""
    config, reports = configured(algo, env), {}

    def go(name, out, at=None, **options):
        strike = partial(os.kill, os.getpid(), signal.SIGINT)
        with loaded(config) as kernel:
            recorder = Recorder(kernel, at, strike)
            result = run(config, recorder, tmp_path / out, **options)
        reports[name] = recorder.reports
        return result

    assert go("whole", "whole").exit_code == 0
    result = go("broken", "run", at=60)
    assert result.exit_code == 130 and result.summary["interrupted"]
    assert result.summary["updates"] == 2 * 61
    saved = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    result = go("resumed", "run", resume=True)
    assert result.exit_code == 0 and result.summary["steps"] == config.steps
    assert reports["broken"] == reports["whole"][:61]
    assert reports["resumed"][0] == reports["whole"][61]
    assert len(reports["resumed"]) == len(reports["whole"]) - 61
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "checkpoint.npz").write_bytes(saved)
    go("again", "again", resume=True)
    assert reports["again"] == reports["resumed"]


def test_resume_refuses_another_arithmetic(tmp_path):
    """The checkpoint's parameters are of one kernel."""
    config = configured(*CASES[0])
    with loaded(config) as kernel:
        recorder = Recorder(kernel, 20, partial(os.kill, os.getpid(), signal.SIGINT))
        assert run(config, recorder, tmp_path).exit_code == 130
    with (
        loaded(config, arithmetic=FIXED) as kernel,
        pytest.raises((ValueError, CheckpointError), match="learner"),
    ):
        run(config, partial(LearningReplay, kernel), tmp_path, resume=True)


def test_progress_counts_what_is_clipped(tmp_path):
    """Formats that are too small, and binary32."""
    config = configured(*CASES[0])
    narrow = Arithmetic(kind="fixed", weight=SQ(4, 20), activation=SQ(1, 10), gradient=SQ(3, 14))

    def counts(arithmetic, name):
        with loaded(config, arithmetic=arithmetic) as kernel:
            run(config, partial(LearningReplay, kernel), tmp_path / name)
        return [[row[column] for column in CLIPPED] for row in read_progress(tmp_path / name)]

    assert counts(Arithmetic(), "float32")[-1] == [0, 0, 0]
    with pytest.warns(RuntimeWarning, match="were clipped to their fixed-point formats"):
        activations = [row[1] for row in counts(narrow, "narrow")]
    assert 0 < activations[0] < activations[-1] and activations == sorted(activations)

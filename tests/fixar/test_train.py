"""``rlfabric train ddpg --design fixar`` on card ``model``: the switch, interrupts, refusals."""

import os
import signal
from functools import partial

import numpy as np
import pytest
from fixar.kernels import kernel_config
from learner.modelled import learner_values, opened

from host import checkpoint
from host.fixar.fixar_replay import FixarReplay
from host.fixar.precision_plan import shifts
from host.runs.preset import preset
from host.runs.request import request
from hw.fixar.precision import Precision
from tests.host.runs.test_train_learner import Recorder, run

#: Launches of two steps in four environments; the first that learns is that of step 104.
SWITCH = 600


def configured(**agent):
    base = preset("ddpg", "card", None, "Pendulum-v1", "fixar").to_dict()
    run = dict(
        env_count=4,
        steps=1200,
        steps_per_launch=2,
        updates_per_launch=2,
        weights_interval=1,
        capacity=200,
        learning_starts=100,
        log_interval_steps=200,
        evaluation_interval_steps=8000,
        evaluation_episodes=1,
    )
    small = dict(hidden=(8, 6), batch_size=16, n_step=1, precision="qat")
    small |= dict(quantization_delay=SWITCH, quantization_window=0.1) | agent
    config = preset("ddpg", "card", None, "Pendulum-v1", "fixar")
    return config.from_dict({**base, **run, "agent": base["agent"] | small})


def loaded(config):
    wanted = learner_values(config)
    sizes = {name: wanted[name] for name in ("observation", "action", "hidden", "optimizer")}
    return opened(kernel_config(capacity=200, batch=16, cores=2, side=4, **sizes), "fixar")


class Fixar(Recorder):
    """Also the precision of every launch that learned, and before which of them ranges were
    forgotten."""

    def __init__(self, kernel, at=None):
        strike = partial(os.kill, os.getpid(), signal.SIGINT)
        super().__init__(kernel, at, strike, FixarReplay)
        self.precisions, self.cleared = [], []

    def __call__(self, fields, **options):
        buffer = super().__call__(fields, **options)
        learn, set_precision = buffer.learn, buffer.set_precision

        def switched(precision, *, clear=False):
            self.cleared += [len(self.reports)] * clear
            set_precision(precision, clear=clear)

        def watched(steps, **values):
            learned = learn(steps, **values)
            self.precisions.append(buffer.precision)
            # Counted since the kernel's reset.
            self.reports[-1].pop("saturations")
            return learned

        buffer.learn, buffer.set_precision = watched, switched
        return buffer


def go(config, out, at=None, **options):
    with loaded(config) as kernel:
        recorder = Fixar(kernel, at)
        result = run(config, recorder, out, **options)
    return recorder, result


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    recorder, result = go(configured(), tmp_path_factory.mktemp("whole") / "run")
    assert result.exit_code == 0
    return recorder


def test_it_switches_once(whole):
    """Full until the delay, then half in all layers, by shifts that hold what was seen in its last
    tenth."""
    found = whole.precisions
    assert found[0] == Precision() and found[-1].activations and found[-1].errors
    (first,) = np.flatnonzero([a != b for a, b in zip(found, found[1:], strict=False)]) + 1
    # As far as launches let one say: eight steps each, one under way.
    assert abs(104 + 8 * first - SWITCH) <= 16
    (cleared,) = whole.cleared
    assert abs(104 + 8 * cleared - 0.9 * SWITCH) <= 16
    # Of the observations the largest is in 1..8: 2^20 to 2^23 units, in fewer than 2^15 codes.
    assert 6 <= found[-1].activation_shifts[0] <= 9
    assert all(np.isfinite(report["loss"]).all() for report in whole.reports)


@pytest.mark.filterwarnings("ignore:.* were clipped to their fixed-point formats")
@pytest.mark.parametrize("at", [pytest.param(40, marks=pytest.mark.long), 61, 90])
def test_interrupt_and_resume(tmp_path, whole, at):
    """Before the switch, at it, and after it: the next launch is that of a run without a break,
    in the same precision, and all the rest a function of the checkpoint."""
    config = configured()
    broken, result = go(config, tmp_path / "run", at)
    assert result.exit_code == 130 and result.summary["interrupted"]
    saved = (tmp_path / "run" / "checkpoint.npz").read_bytes()
    resumed, result = go(config, tmp_path / "run", resume=True)
    assert result.exit_code == 0 and result.summary["steps"] == config.steps
    assert broken.reports == whole.reports[: at + 1]
    assert broken.precisions == whole.precisions[: at + 1]
    assert resumed.reports[0] == whole.reports[at + 1]
    assert resumed.precisions[0] == whole.precisions[at + 1]
    assert len(resumed.reports) == len(whole.reports) - at - 1
    plan = saved_plan(tmp_path / "run")
    assert plan["shifts"] == shifts(plan["ranges"]), "what the plan was made of is kept"
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "checkpoint.npz").write_bytes(saved)
    again, _ = go(config, tmp_path / "again", resume=True)
    assert again.reports == resumed.reports and again.precisions == resumed.precisions


def saved_plan(out):
    return checkpoint.load(out / "checkpoint.npz", "training")[1]["session"]["learner"]["precision"]


def saved_ranges(out):
    """Rows (low, high) of a checkpoint, of all layers of both networks."""
    ranges = saved_plan(out)["ranges"].values()
    return np.concatenate([each[kind] for each in ranges for kind in ("activation", "error")])


def test_ranges_are_those_of_the_window(tmp_path):
    """The last tenth of the delay begins before launch 56. A checkpoint before it keeps nothing of
    what the kernel saw; one in it keeps all, and a run that goes on adds to it."""
    before, within = tmp_path / "before", tmp_path / "within"
    go(configured(), before, at=20)
    ranges = saved_ranges(before)
    assert (ranges[:, 0] >= -(1 << 20)).all() and (ranges[:, 1] <= 1 << 20).all()
    assert np.count_nonzero(ranges) == 2 * 2  # actions, in the frame of both networks
    go(configured(), within, at=58)
    kept = saved_ranges(within)
    assert np.count_nonzero(kept) > 16
    go(configured(), within, at=0, resume=True)
    more = saved_ranges(within)
    assert (more[:, 0] <= kept[:, 0]).all() and (more[:, 1] >= kept[:, 1]).all()
    assert (more != kept).any()


@pytest.mark.filterwarnings("ignore:.* were clipped to their fixed-point formats")
def test_errors_stay_full_where_that_is_asked(tmp_path):
    recorder, _ = go(configured(precision="qat_errors_full", quantization_delay=200), tmp_path)
    last = recorder.precisions[-1]
    assert last.activations and not last.errors


@pytest.mark.parametrize(
    "algo, options, settings, message",
    [
        ("ddpg", dict(design="other"), {}, "design must be one of own, fixar, not 'other'"),
        ("dqn", dict(design="fixar"), {}, "design must be one of own, not 'fixar'"),
        ("ddpg", dict(design="fixar", learner="cpu"), {}, "design must be own with learner cpu"),
        (
            "ddpg",
            dict(design="fixar"),
            dict(precision="float32"),
            "precision must be fixed32 or qat or .* with learner card and kernel fixar, not",
        ),
        (
            "ddpg",
            dict(design="fixar"),
            dict(lagged_critic="true"),
            "lagged_critic must be False with learner card and kernel fixar, not True",
        ),
    ],
)
def test_what_the_kernel_does_not_have_is_refused(algo, options, settings, message):
    with pytest.raises(ValueError, match=message):
        request(algo, options=options, settings=settings)

"""bench.compose.prediction with stand-ins: what is compared with what, and short with real runs."""

from contextlib import contextmanager

import pytest

from bench.compose import prediction
from host.compose.profile import Profile
from hw.errors import UsageError

PREDICTED = dict(zip(prediction.PLANS, (100.0, 110.0, 90.0, 60.0, 50.0, 40.0), strict=True))
RUN = dict(zip(prediction.PLANS, (125.0, 100.0, 99.0, 75.0, 60.0, 30.0), strict=True))


def no_gpu(name):
    raise UsageError(f"device must be cpu, not {name}")


def test_rows(monkeypatch):
    found = {name: (PREDICTED[name], RUN[name]) for name in PREDICTED}
    monkeypatch.setattr(prediction, "measured", lambda: found)
    rows = prediction.rows()
    values = {(each["case"], each["metric"]): each["value"] for each in rows}
    errors = [values[name, "prediction_error"] for name in PREDICTED]
    assert errors == pytest.approx([-20, 10, -9.1, -20, -16.7, 33.3])
    whole = {metric: value for (case, metric), value in values.items() if case == "all plans"}
    # 5 of 6 within a quarter; the second is chosen, and runs at 0.8 of the first.
    assert whole == {"within_a_quarter": 5, "chosen_over_best": 0.8, "rank_correlation": 0.943}


def test_profiles_and_runs_take_turns(monkeypatch, capsys):
    calls = []

    class Profiler:
        def round(self, launches):
            calls.append(("profile", launches))

        def profiles(self):
            parts = dict.fromkeys(
                ("environments", "policy", "packing", "memory", "device", "learning", "other"), 1.0
            )
            return {
                name: Profile(updates=1.0, parts=parts, run=500.0 * (k + 1), p10=1, p50=1, p90=1)
                for k, name in enumerate(prediction.PLANS)
            }

    @contextmanager
    def profiling(plans):
        assert list(plans) == list(prediction.PLANS)
        yield Profiler()

    def run(config, launches, out):
        calls.append((config.memory, config.learner, launches))
        return float(len(calls))

    monkeypatch.setattr(prediction, "profiling", profiling)
    monkeypatch.setattr(prediction, "_run", run)
    monkeypatch.setattr(prediction, "check_device", no_gpu)
    found = prediction.measured(rounds=3, profiled=5, launches=9)
    pairs = [("tree", "cpu"), ("ring", "cpu"), ("card", "cpu"), ("card", "card"), ("tree", "card"),
             ("ring", "card")]  # fmt: skip
    turn = [("profile", 5), *((*pair, 9) for pair in pairs)]
    assert calls == 3 * turn
    # A second has 1e6 / 500 launches of 500 us; the median of three runs is the second.
    first = found["1: tree on the CPU, CPU learns"]
    assert first == (2000.0, float(len(turn) + 2))
    assert "plans with a GPU are left out: device must be cpu" in capsys.readouterr().err


def test_plans_with_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(prediction, "check_device", lambda name: None)
    assert list(prediction._plans()) == [*prediction.PLANS, *prediction.ON_CUDA]


@pytest.mark.long
def test_short_runs():
    """With few launches the figures mean little, but each is one."""
    found = prediction.measured(rounds=1, profiled=3, launches=3)
    assert all(predicted > 0 and run > 0 for predicted, run in found.values())

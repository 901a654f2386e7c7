"""bench.play, with results that are given: its rows; and (long) clocks by formula against those of
the simulated card."""

from contextlib import closing
from types import SimpleNamespace

import pytest

from bench import play
from bench.solve.sides import config_of, request
from host.runs.assembly import build
from host.runs.start_run import on_card
from host.settings import override
from hw.errors import Failure


def asked():
    return request(play.TASK, "own") | {"board": "ulx3s"}


def test_rows(monkeypatch):
    """Medians; a seed that is not solved is infinite."""
    solved = {"rlfabric": [1600, 800, 3200, 2400, None], "sb3": [None, 9000, None, 8000, None]}

    def perform(request, seed, limit_s):
        steps = solved[request["program"]][seed]
        result = dict(solved=steps is not None, steps=steps or 30_000)
        return 0, result | dict(updates=result["steps"] // 32, seconds=result["steps"] / 1000)

    monkeypatch.setattr(play, "perform", perform)
    rows = {row["metric"]: row for row in play.rows()}
    assert rows["steps"]["value"] == 2400 and rows["model_seconds"]["value"] == 2.4
    assert (rows["seeds_solved"]["value"], rows["seeds_solved"]["reference_value"]) == (4, 2)
    assert rows["steps"]["reference_value"] is None
    assert rows["seconds"]["reference_value"] is None
    agent = config_of(asked()["config"]).agent
    clocks = play.played_clocks(*play.kernel_and_image(asked()), agent, 2400, 75)
    assert rows["clocks"]["value"] == clocks
    assert rows["seconds"]["value"] == pytest.approx(clocks / 42e6, abs=1e-3)


def test_epsilon_falls_with_steps_of_all_environments(monkeypatch):
    """All explore in the first 16 of 32 steps, which are 2 of 4 vector steps of 8 environments."""
    clocks = {(2, True): 100, (2, False): 1}
    monkeypatch.setattr(play, "vector_step_clocks", lambda _, image, n, acts: clocks[n, acts])
    monkeypatch.setattr(play, "lesson_clocks", lambda _, batch, count: 250 * batch * count)
    kernel = SimpleNamespace(play=SimpleNamespace(environments=8))
    agent = SimpleNamespace(n_step=2, batch_size=4, epsilon_at=lambda steps: float(steps < 16))
    assert play.played_clocks(kernel, None, agent, 32, 3) == 3202


def test_a_seed_without_a_result_is_a_line(monkeypatch):
    monkeypatch.setattr(play, "perform", lambda request, seed, limit_s: (4, None))
    with pytest.raises(Failure, match=r"^seed 0 of rlfabric gave no result \(4\)$"):
        play.rows()


@pytest.mark.long
def test_clocks_of_a_run():
    """2000 steps of the bench's kernel, its launches included."""
    config = override(config_of(asked()["config"]), {"evaluation_interval_steps": 1000})
    kernel, image = play.kernel_and_image(asked())
    with on_card(config, "sim", board="ulx3s") as (factory, *_):
        with closing(build(config, factory)) as session:
            before = session.learner.device_cycles
            while session.clock.steps < 2000:
                session.iterate()
            found = session.learner.device_cycles - before
            steps, updates = session.clock.steps, session.clock.updates
    formula = play.played_clocks(kernel, image, config.agent, steps, updates)
    assert updates > 20 and formula == pytest.approx(found, rel=0.03)

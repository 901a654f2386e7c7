"""bench.compose.eps with stand-ins for runs and libraries: what is measured, in which order, and
what the rows say of each other; and shortened, with runs."""

from contextlib import contextmanager

import numpy as np
import pytest

from bench.compose import eps
from bench.learning.peers import ddpg, dqn
from host.compose.trial import PARTS
from hw.learner.parameters.parameter_image import set_bytes

PLAN_1, PLAN_3, PLAN_4 = [name for name in eps.PLANS if name[0] in "134"]
#: Microseconds of a gradient step of what is measured, plan by (memory, learner).
TAKES = {("tree", "cpu"): 1000, ("card", "cpu"): 2000, ("card", "card"): 4000}
#: Microseconds of each part of a launch of plan 4.
PART_US = dict.fromkeys(PARTS, 100.0) | {"device": 3000.0}


class Run:
    """Of a plan or a library: rounds take a time, twice it, three times it, and so on."""

    calls = []

    def __init__(self, name, us):
        self.name, self.us, self.warmed, self.rounds = name, us, 0, 0
        self.closed = False

    def warm(self, launches):
        self.warmed = launches

    def elapsed(self, launches):
        assert self.warmed
        Run.calls.append((self.name, launches))
        self.rounds += 1
        return self.us * self.rounds * launches, launches

    def run(self, launches):
        assert self.warmed
        Run.calls.append(("profile", launches))
        return np.tile(list(PART_US.values()), (launches, 1)), launches

    def close(self):
        self.closed = True


def library(name, us):
    algorithms = ("dqn",) if name == "RLlib" else ("dqn", "ddpg")
    kind = type(name, (Run,), dict(NAME=name, PACKAGE=f"pip-{name}", ALGORITHMS=algorithms))
    kind.__init__ = lambda self, config: Run.__init__(self, name, us)
    return kind


class Absent:
    NAME, PACKAGE, ALGORITHMS = "RLlib", "ray[rllib]", ("dqn",)

    def __init__(self, config):
        raise ImportError("No module named 'ray'")


@pytest.fixture
def stood_in(monkeypatch):
    Run.calls = []

    @contextmanager
    def trial(config, inline=True):
        assert config.env in ("CartPole-v1", "MountainCarContinuous-v0")
        assert config.learning_starts <= 1000
        if inline:
            assert (config.memory, config.learner) == ("card", "card")
        yield Run((config.memory, config.learner), TAKES[config.memory, config.learner])

    monkeypatch.setattr(eps, "trial", trial)
    monkeypatch.setattr(eps, "LIBRARIES", (library("stable-baselines3", 8000), Absent))


def test_both_can_be_the_task():
    for batch in eps.BATCHES:
        config = eps.task_of(eps.DQN, batch).config
        arguments = dqn(config).arguments
        assert arguments["batch_size"] == batch == config.agent.batch_size
        agent = config.in_run().agent
        assert agent.epsilon_at(0) == agent.epsilon_at(config.steps) == 0.05


def test_ddpg_is_on_the_papers_layers_with_the_ratio_of_dqn():
    for batch in eps.BATCHES:
        task, other = (eps.task_of(column, batch) for column in (eps.DDPG, eps.DQN))
        config, plan = task.config, ddpg(task.config)
        assert (config.algo, config.env) == ("ddpg", "MountainCarContinuous-v0")
        assert plan.arguments["policy_kwargs"] == {"net_arch": [256, 128]}
        assert plan.arguments["batch_size"] == batch == config.agent.batch_size
        assert task.steps_of_update(1) == other.steps_of_update(1) == 32
        assert config.updates_per_launch == other.config.updates_per_launch == 1
        agent = config.in_run().agent
        assert [agent.noise_at(0), agent.noise_at(config.steps)] == 2 * plan.noise[1:]


def test_eps_of_rounds_in_turn(stood_in, capsys):
    found = eps.measured(eps.DQN, 32, rounds=3, run=30, profiled=7)
    # The median round takes twice as long as the first.
    expected = {PLAN_1: 16e3, PLAN_3: 8e3, PLAN_4: 4e3, "stable-baselines3": 2e3}
    assert found.eps == pytest.approx(expected)
    turn = [*((kind, 30) for kind in TAKES), ("stable-baselines3", 30), ("profile", 7)]
    assert Run.calls == 3 * turn
    expected = "RLlib is left out: No module named 'ray' (pip install 'ray[rllib]')\n"
    assert capsys.readouterr().err.endswith(expected)


def test_a_slow_library_has_fewer_launches(stood_in, monkeypatch):
    monkeypatch.setattr(eps, "LIBRARIES", (library("RLlib", 10),))
    eps.measured(eps.DQN, 32, rounds=1, run=30, profiled=1)
    assert ("RLlib", 20) in Run.calls
    eps.measured(eps.DQN, 32, rounds=1, run=10, profiled=1)
    assert Run.calls[-2:] == [("RLlib", 10), ("profile", 1)]


def test_libraries_are_closed(stood_in, monkeypatch):
    made, kind = [], library("stable-baselines3", 8000)
    kind.warm = lambda self, launches: made.append(self) or Run.warm(self, launches)
    monkeypatch.setattr(eps, "LIBRARIES", (kind,))
    eps.measured(eps.DQN, 32, rounds=1, run=1, profiled=1)
    assert [each.closed for each in made] == [True]


def test_a_card_works_beside_the_software(stood_in):
    found = eps.measured(eps.DQN, 512, rounds=1, run=1, profiled=2).candidate
    parts = found.iteration
    assert (found.rm, found.learner, found.updates) == ("card0", "card0", 1)
    assert parts.card == pytest.approx(found.clocks / 250) and parts.beside
    assert parts.software == 100 * (len(PARTS) - 1)
    # That of u200_host, a transfer each way, and their bytes at 12 GB/s.
    task = eps.task_of(eps.DQN, 512)
    weights = set_bytes(found.kernel.learner)
    assert weights >= 4 * (5 * 64 + 65 * 64 + 65 * 2)
    moved = 4 * (32 * task.words + 512) + weights
    assert parts.launch == pytest.approx(60 + 2 * 10 + moved / 12e3)


def test_rows(stood_in, monkeypatch):
    monkeypatch.setattr(eps, "BATCHES", (32,))
    rows = eps.rows([eps.DQN])
    found = {(row["case"], row["metric"]): row for row in rows}
    assert len(found) == len(rows) == 4 + 1 + 3
    first, four, sb3 = (f"{name}, B=32" for name in (PLAN_1, PLAN_4, "stable-baselines3"))
    assert found[first, "eps"]["value"] == round(32e6 / 3000)  # the third of five rounds
    assert found[first, "eps"]["reference_value"] == 7800
    assert "card model" not in found[first, "eps"]["source"]
    assert "card model" in found[four, "eps"]["source"]
    assert found[sb3, "eps"]["reference_value"] == 4600
    assert found[sb3, "eps"]["reference"].startswith("stable-baselines3 ")
    assert found[sb3, "eps_over_plan_1"]["value"] == 0.125
    card, software = (found[four, name]["value"] for name in ("card_us", "software_us"))
    assert card > 80  # the clocks, and the launch
    whole = found[four, "eps_at_250_mhz"]
    assert whole["value"] == pytest.approx(32e6 / max(card, software), rel=1e-3)
    assert "250 MHz" in whole["source"] and whole["reference_value"] == 7800


def test_rows_of_ddpg(stood_in, monkeypatch, capsys):
    monkeypatch.setattr(eps, "BATCHES", (512,))
    both = eps.rows()
    rows = [row for row in both if row["case"].startswith("DDPG, MountainCarContinuous, ")]
    # Not of a library that has no ddpg, though it is asked for dqn.
    assert "RLlib is left out: it has no ddpg\n" in capsys.readouterr().err
    found = {(row["case"].split(", ", 2)[2], row["metric"]): row for row in rows}
    assert len(found) == len(rows) == 4 + 1 + 3 == len(both) - len(rows)
    first, four, sb3 = (f"{name}, B=512" for name in (PLAN_1, PLAN_4, "stable-baselines3"))
    assert found[first, "eps"]["value"] == round(512e6 / 3000)
    beside = [found[name, "eps"]["reference_value"] for name in (first, four, sb3)]
    assert beside == [95_200, 95_200, 60_100]
    assert found[four, "eps_at_250_mhz"]["reference_value"] == 95_200
    assert found[sb3, "eps_over_plan_1"]["value"] == 0.125


def test_a_prediction_of_ddpg_has_its_kernel(stood_in):
    found = eps.measured(eps.DDPG, 32, rounds=1, run=1, profiled=2).candidate
    learner = found.kernel.learner
    assert (learner.algorithm, learner.hidden) == ("ddpg", (256, 128))
    assert (learner.observation, learner.action) == (2, 1)


@pytest.mark.long
@pytest.mark.parametrize("column", eps.COLUMNS)
def test_rows_of_runs(column, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(eps, "LIBRARIES", ())
    found = eps.measured(column, 32, rounds=1, run=5, profiled=5)
    assert found.eps.keys() == {PLAN_1, PLAN_3, PLAN_4}
    assert all(value > 0 for value in found.eps.values())
    iteration = found.candidate.iteration
    assert 0 < iteration.card < 500 and iteration.card < iteration.software

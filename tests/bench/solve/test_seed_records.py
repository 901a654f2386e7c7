"""bench.solve: requests of sides, seeds in processes of their own, records, and rows of these."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from math import inf

import numpy as np
import pytest

from bench import solve
from bench.solve import own_side, seed_process, sides
from bench.solve import seed_records as records
from bench.solve.seed_records import measure, read
from bench.solve.sides import TASKS, chosen, request
from host.algorithms.policy import Policy
from hw.errors import UsageError

BY_NAME = {task.name: task for task in TASKS}
RESULT = dict(ended="solved", start_seconds=2.0, evaluation_seconds=1.0, curve=[])


@cache
def every():
    """``[(task, side, its request as its process has it)]`` of CartPole."""
    return [
        (task, side, request(task, side) | {"algo": task.algo})
        for task, side in chosen(["CartPole-v1"])
    ]


class Processes:
    """Stands for the processes of seeds: ``results`` has the seconds of (side, seed), None where it
    was not solved, or an exit code as text."""

    def __init__(self, results=None):
        self.results, self.ran, self.told = results or {}, [], []

    def __call__(self, words, env, timeout):
        job = json.loads(words[-1])
        side = next(side for task, side, asked in every() if asked == job["asked"])
        self.ran.append((side, job["seed"]))
        self.told.append((words[:3], env, timeout))
        found = self.results.get(self.ran[-1], 5.0)
        if isinstance(found, str):
            return int(found), "words\n"
        solved = dict(solved=found is not None, steps=1000, updates=10, seconds=found or 99.0)
        ended = {} if solved["solved"] else dict(ended="steps")
        return 0, "a line before\n" + json.dumps(RESULT | solved | ended) + "\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.provenance.changed", lambda: [])

    def made(only=("dqn-CartPole-v1",), seeds=2, results=None, **options):
        processes, said = Processes(results), []
        failed = measure(only, seeds=seeds, folder=tmp_path, say=said.append, process=processes,
                         **options)  # fmt: skip
        return processes, said, failed

    return made


# -- what is asked


def _params(tasks):
    """Those in MinAtar, whose package takes seconds to import, are long."""
    long = {task.name: [pytest.mark.long] for task in tasks if "MinAtar" in task.name}
    return [pytest.param(task, id=task.name, marks=long.get(task.name, [])) for task in tasks]


@pytest.mark.parametrize("task", _params(TASKS))
def test_all_sides_of_a_task_have_one_rule(task):
    """Threshold, interval, episodes and their limit are the task's, whoever learns."""
    rules = [request(task, side)["rule"] for side in task.sides]
    assert all(rule == task.rule for rule in rules)
    assert rules[0].keys() == {"env", "threshold", "interval", "episodes", "limit"}


@pytest.mark.parametrize("task", _params([task for task in TASKS if "own-equal" in task.sides]))
def test_equal_draws_have_equal_numbers(task):
    ours = request(task, "own-equal")["config"]
    asked = request(task, "sb3-equal")
    agent, plan = ours["agent"], asked["plan"]
    theirs = plan["arguments"]
    assert (ours["memory"], agent["n_step"], theirs["n_steps"]) == ("ring", 1, 1)
    assert (plan["steps"], plan["env_count"]) == (ours["steps"], ours["env_count"])
    for own, their in dict(
        batch_size="batch_size", gamma="gamma", learning_rate="learning_rate", target_tau="tau"
    ).items():
        value = theirs[their][0] if isinstance(theirs[their], list) else theirs[their]
        assert value == agent[own], own
    assert theirs["policy_kwargs"]["net_arch"] == list(agent["hidden"])
    assert (theirs["buffer_size"], theirs["learning_starts"]) == (
        ours["capacity"],
        ours["learning_starts"],
    )
    ratio = theirs["gradient_steps"], theirs["train_freq"]
    assert ratio == (ours["updates_per_launch"], ours["steps_per_launch"])
    assert (asked["activation"], asked["reward_scale"]) == (
        agent["activation"],
        agent["reward_scale"],
    )


def test_equal_draws_begin_with_uniform_actions(monkeypatch):
    """As stable-baselines3 does; an actor's own are near 0 then. From learning on the policy acts,
    and always where it is judged."""
    task = BY_NAME["ddpg-Pendulum-v1"]
    assert "uniform_start" not in request(task, "own")
    own, drawn = own_side.Own(request(task, "own-equal"), 0), {False: [], True: []}
    act = Policy.act

    def acted(self, obs, *, steps=0, **more):
        actions = act(self, obs, steps=steps, **more)
        drawn[steps >= own._config.learning_starts].append(actions)
        return actions

    monkeypatch.setattr(Policy, "act", acted)
    with own._session(own._config) as session:
        while session.clock.steps < 300:
            session.iterate()
        with session.learner.actor() as policy:
            greedy = act(policy, np.ones((8, 3), np.float32), greedy=True)
    first, later = (np.concatenate(drawn[learning]) for learning in (False, True))
    assert first.size == own._config.learning_starts and first.dtype == np.float32
    assert abs(first.mean()) < 0.1 and abs(first.std() - 3**-0.5) < 0.05
    assert 0 < abs(later[:8]).max() < 0.5 and np.ptp(greedy) == 0


def test_as_shipped_is_the_command_lines_default():
    config = request(BY_NAME["dqn-CartPole-v1"], "own")["config"]
    assert (config["memory"], config["agent"]["n_step"], config["learner"]) == ("card", 10, "card")
    assert request(BY_NAME["td3-Pendulum-v1"], "own")["config"]["learner"] == "cpu"


def test_a_word_names_tasks_or_sides():
    assert {task.algo for task, _ in chosen(["CartPole-v1"])} == {"dqn", "ppo"}
    assert {side for _, side in chosen(["sb3-zoo"])} == {"sb3-zoo"}
    assert len(chosen([])) == sum(len(task.sides) for task in TASKS)
    [(task, side)] = chosen(["ppo-Pendulum-v1/own"])
    assert (task.name, side) == ("ppo-Pendulum-v1", "own")
    with pytest.raises(UsageError, match="^only must be of dqn-CartPole-v1, .*, not 'none'$"):
        chosen(["none"])


# -- processes and records


def test_a_seed_has_a_process_of_one_thread_and_a_record(run, tmp_path):
    processes, said, failed = run(["dqn-CartPole-v1/own"], seeds=1)
    [(words, env, timeout)] = processes.told
    assert (
        words == [sys.executable, "-m", "bench.solve.seed_process"] and timeout > 600 and not failed
    )
    assert {env[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                   "NUMBA_NUM_THREADS")} == {"1"}  # fmt: skip
    record = json.loads((tmp_path / "dqn-CartPole-v1/own-0.json").read_text())
    assert record["seed"] == 0 and record["solved"] and record["versions"] and record["commit"]
    assert record["asked"] == request(BY_NAME["dqn-CartPole-v1"], "own")
    assert said == ["dqn-CartPole-v1/own-0: solved at 1000 steps, 5.00 s"]


def test_a_record_has_the_version_of_its_program(run, tmp_path):
    """Of what is not installed, too: None."""
    run(["dqn-CartPole-v1/own", "dqn-CartPole-v1/sb3-equal"], seeds=1)
    found = {
        side: json.loads((tmp_path / f"dqn-CartPole-v1/{side}-0.json").read_text())["versions"]
        for side in ("own", "sb3-equal")
    }
    assert found["sb3-equal"].keys() - found["own"].keys() == {"stable-baselines3"}
    assert seed_process.PROGRAMS.keys() == records._PACKAGES.keys()


def test_what_has_a_record_is_not_run_again(run, tmp_path):
    """All sides of a seed come before the next seed; a seed without a result is tried again."""
    first, said, failed = run(results={("own", 1): "1"})
    assert [seed for _, seed in first.ran] == [0] * 4 + [1] * 4
    assert failed == ["dqn-CartPole-v1/own-1 (1)"] and "no result (1)" in said[4]
    assert run()[0].ran == [("own", 1)]
    assert [seed for _, seed in run(seeds=3)[0].ran] == [2] * 4
    assert run(seeds=0)[0].ran == []
    path = tmp_path / "dqn-CartPole-v1/own-0.json"
    path.write_text(path.read_text().replace('"threshold": 475.0', '"threshold": 195.0'))
    assert run()[0].ran == [("own", 0)], "another rule"


def test_a_field_that_is_new_has_its_default_in_a_record(run, tmp_path):
    run(["dqn-CartPole-v1/own"], seeds=1)
    path = tmp_path / "dqn-CartPole-v1/own-0.json"
    record = json.loads(path.read_text())
    del record["asked"]["config"]["memory"]
    path.write_text(json.dumps(record))
    task = BY_NAME["dqn-CartPole-v1"]
    assert [*read(task, "own", request(task, "own"), tmp_path)] == [0]
    record["asked"]["config"]["gone"] = 1
    path.write_text(json.dumps(record))
    assert not read(task, "own", request(task, "own"), tmp_path)


def test_a_longer_limit_tries_a_seed_again_that_time_has_ended(run, tmp_path):
    run(["dqn-CartPole-v1/own"], seeds=1, limit_s=10.0)
    path = tmp_path / "dqn-CartPole-v1/own-0.json"
    record = json.loads(path.read_text()) | dict(ended="time", solved=False)
    path.write_text(json.dumps(record))
    assert not run(["dqn-CartPole-v1/own"], seeds=1, limit_s=10.0)[0].ran
    assert run(["dqn-CartPole-v1/own"], seeds=1, limit_s=20.0)[0].ran == [("own", 0)]


def test_a_program_that_is_missing_is_asked_once(run):
    processes, _, failed = run(results={(f"sb3-{kind}", 0): "3" for kind in ("equal", "zoo")})
    assert [side for side, _ in processes.ran if side.startswith("sb3")] == ["sb3-equal"]
    assert failed == ["dqn-CartPole-v1/sb3-equal-0 (3)"]


def test_a_process_that_does_not_end_is_bounded(monkeypatch):
    def late(words, **options):
        raise subprocess.TimeoutExpired(words, options["timeout"])

    monkeypatch.setattr(subprocess, "run", late)
    assert records._process(["a"], {}, 60) == ("no result within 60 s", "")


def test_what_is_measured_is_asked_for_rightly(run, monkeypatch):
    with pytest.raises(UsageError, match="^seeds must be an integer in 0..1000, not -1$"):
        run(seeds=-1)
    with pytest.raises(UsageError, match="^limit-s must be positive, not 0$"):
        run(limit_s=0)


# -- rows


def of(rows):
    return {(row["case"], row["metric"]): row["value"] for row in rows}


def test_a_seed_that_was_not_solved_counts_in_the_median(run, tmp_path):
    """As infinitely slow: one of three is the largest, two have no median."""
    results = {("own", 0): 4.0, ("own", 1): None, ("own", 2): 8.0}
    results |= {("own-equal", 0): None, ("own-equal", 1): None, ("own-equal", 2): 1.0}
    run(seeds=3, results=results)
    found = of(solve.rows(folder=tmp_path, tasks=[BY_NAME["dqn-CartPole-v1"]]))
    own, equal = (f"dqn on CartPole-v1, {solve.SIDES[side]}" for side in ("own", "own-equal"))
    assert [found[own, name] for name in ("seeds_solved", "seconds", "seconds_least")] == [2, 8, 4]
    assert found[own, "seconds_most"] is None and found[own, "steps_allowed"] == 100_000
    assert found[equal, "seeds_solved"] == 1 and found[equal, "seconds"] is None
    assert found[equal, "seconds_least"] == 1
    assert found["dqn on CartPole-v1", "times"] is None
    assert found["tasks of stable-baselines3", "ahead"] == 0


@pytest.mark.parametrize("ours, theirs, ahead", [(4.0, 8.0, 1), (8.0, 4.0, 0), (None, 9.0, 0),
                                                 (9.0, None, 1), (4.0, 4.0, 0)])  # fmt: skip
def test_who_is_ahead(run, tmp_path, ours, theirs, ahead):
    run(seeds=1, results={("own-equal", 0): ours, ("sb3-equal", 0): theirs, ("own", 0): 1e-3})
    rows = solve.rows(folder=tmp_path, tasks=[BY_NAME["dqn-CartPole-v1"]])
    found = of(rows)
    assert found["tasks of stable-baselines3", "ahead"] == ahead
    times = None if inf in (ours or inf, theirs or inf) else round(theirs / ours, 2)
    assert found["dqn on CartPole-v1", "times"] == times
    assert all("1 of 10 seeds, at commits " in row["source"] for row in rows[:12])


@pytest.mark.parametrize("steps, times, named", [
    ({"own": [2000], "sb3-zoo": [8000], "rltools": [4000]}, 0.5, "RLtools"),
    ({"own": [9000, 6000, 3000], "sb3-zoo": [3000]}, 2.0, "rl-zoo"),
    ({"own": [3000], "sb3-zoo": [2000], "rltools": [None]}, 1.5, "rl-zoo"),
    ({"own": [None], "rltools": [4000]}, None, "RLtools"),
    ({"own": [3000], "rltools": [None]}, None, "RLtools"),
    ({"own": [3000], "sb3-equal": [2000]}, "no row", ""),
    ({"rltools": [3000]}, "no row", ""),
])  # fmt: skip
def test_steps_beside_peers_with_numbers_of_their_own(tmp_path, steps, times, named):
    """The best of them counts, and equal numbers are not their own."""
    task = BY_NAME["sac-Pendulum-v1"]
    (tmp_path / task.name).mkdir()
    for side, seeds in steps.items():
        for seed, taken in enumerate(seeds):
            solved = dict(solved=taken is not None, steps=taken or 9999, updates=1, seconds=1.0)
            head = dict(side=side, seed=seed, commit="abc", asked=request(task, side))
            text = json.dumps(RESULT | head | solved)
            (tmp_path / task.name / f"{side}-{seed}.json").write_text(text)
    rows = solve.rows(folder=tmp_path, tasks=[task])
    assert of(rows).get(("sac on Pendulum-v1", "steps_over_peers"), "no row") == times
    told = [row["reference"] for row in rows if row["metric"] == "steps_over_peers"]
    assert all(named in each for each in told) and len(told) == (times != "no row")


# -- real programs


@pytest.mark.long  # stable-baselines3
@pytest.mark.parametrize("task", [task for task in TASKS if "MinAtar" not in task.name],
                         ids=lambda task: task.name)  # fmt: skip
def test_the_short_run_of_the_library_learns(task, monkeypatch):
    """So that torch's first gradient step, which is slow, is in no seconds of training."""
    pytest.importorskip("stable_baselines3")
    module = importlib.import_module("bench.solve.sb3_side")
    models, new_model = [], module.new_model
    monkeypatch.setattr(
        module, "new_model", lambda *each: models.append(new_model(*each)) or models[-1]
    )
    for side in ("sb3-equal", "sb3-zoo"):
        module.Library(request(task, side), 0).warm()
        assert module.updates_of(models[-1]) > 0, side
        assert models[-1].num_timesteps <= 4096, side


TINY = dict(steps=1200, hidden=(8,), capacity=256, learning_starts=64, batch_size=16, env_count=4)


@pytest.mark.long
@pytest.mark.parametrize("threshold, solved", [(1.0, True), (501.0, False)])
def test_both_programs_train_and_are_judged_alike(tmp_path, monkeypatch, threshold, solved):
    """Real seeds of a second, each in its process: every policy returns 1, and none 501. Long: one
    has stable-baselines3."""
    pytest.importorskip("stable_baselines3")
    monkeypatch.setattr("bench.provenance.changed", lambda: [])
    task = replace(
        next(task for task in sides.TASKS if task.name == "dqn-CartPole-v1"),
        sides=("own", "own-equal", "sb3-equal"),
        threshold=threshold,
        interval=400,
        episodes=2,
        fields=TINY,
    )
    monkeypatch.setattr(sides, "TASKS", [task])
    monkeypatch.setattr(sides.chosen, "__defaults__", ([task],))
    assert not measure([], seeds=1, folder=tmp_path)
    for side in task.sides:
        record = json.loads((tmp_path / f"dqn-CartPole-v1/{side}-0.json").read_text())
        assert record["solved"] == solved and record["ended"] == ("solved" if solved else "steps")
        assert [point[0] // 400 for point in record["curve"]] == ([1, 2] if solved else [1, 2, 3])
        assert record["steps"] == (record["curve"][0][0] if solved else 1200), side
        assert 0 < record["seconds"] < 60 and record["start_seconds"] > 0.5
        # A gradient step for 16 environment steps, after the first 64.
        assert abs(record["updates"] - (record["steps"] - 64) / 16) <= 2, side

"""bench.learner: CF'22's formula, what is measured, and the bars beside the rows."""

import importlib.metadata
import json
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from bench.learner import area, cases, cf22, cycles, ecp5, td3, td3_software
from bench.learner.step_clocks import LEARNERS, case_of
from boards import cf22 as papers_rule
from boards.u200 import U200
from hw.arith.arithmetic import Arithmetic
from hw.config import with_values
from hw.designs import DESIGNS
from hw.estimate import fits
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.learner.step_clocks import step_clocks

CASES = cases.cases()


def learner(sizes=cases.ONE_LAYER, **changes):
    options = sizes | dict(lanes=2, arithmetic=Arithmetic(kind="fixed"))
    return LearnerConfig(**options | changes)


def values(rows):
    return {(row["case"], row["metric"], row["reference"]): row for row in rows}


# -- CF'22's formula (papers N2)


def test_the_formula_of_cf22_at_its_own_design_point():
    """4-64-2, DP = 2, 32 PEs in the largest layer, B = 64: 37 x 8 clocks and 2 x 384 / 48. Its
    words give the kernel as many multipliers."""
    one = learner()
    assert cf22.nominal_pes(one) == cf22.multipliers_of(one) == {"q": [32, 16]}
    assert cf22.cf22_cycles(one, 64, {"q": [32, 16]}) == 37 * 8 + 16 == 312
    assert cf22.cf22_cycles(one, 64, {"q": [4, 2]}) == 37 * 64 + 128 == 2496


def test_the_formula_of_two_networks_is_that_of_the_slower_one():
    """The critic, 10-64-1; ``boards.cf22`` has the paper's rule by units, with PEs not rounded."""
    two = learner(cases.TWO_NETWORKS)
    pes = cf22.nominal_pes(two)
    assert pes == {"critic": [32, 4], "actor": [32, 8]}
    clocks = cf22.cf22_cycles(two, 64, pes)
    assert clocks == 37 * 20 + 2 * 704 / 36
    rule = papers_rule.explore(
        "ddpg", board=area.U200, observation=8, hidden=(64,), action=2, regions=(0, 2)
    )
    assert rule["clocks"] == pytest.approx(clocks, abs=1) == 780


def test_use_of_multipliers_counts_every_pass():
    """4-64-2: online and target forward, gradients, and the errors of the hidden layer."""
    needed = 64 * (3 * 256 + 4 * 128)
    assert cf22.mac_utilization(learner(), 64, 432) == needed / (2 * (3 * 32 + 4 * 16) * 432)
    needed = 64 * (4 * 256 + 5 * 128)
    double = cf22.mac_utilization(learner(double=True), 64, 432)
    assert double == needed / (2 * (4 * 32 + 5 * 16) * 432)


# -- what is measured


def test_a_gradient_step_stands_beside_both_formulas_and_its_bar(monkeypatch):
    monkeypatch.setattr(
        cycles, "measure", lambda *arguments: {64: cycles.CycleMeasurement(432, 540, 434)}
    )
    wider = learner(words=(4, 16, 2), multipliers=64, lanes=1)
    case = cases.LearnerCase(wider, (64,), bars={64: 490}, shares={64: 1.35})
    found = values(cycles.rows_of(case))
    name = "4-64-2, words 4-16-2, DP=1, fixed, B=64"
    assert {case for case, *_ in found} == {name}
    assert found[name, "multipliers", None]["value"] == "64, 32"
    these, its = (reference.format(1, 64) for reference in cf22.REFERENCES)
    for reference, beside in ((these, 280), (its, 280), ("at most", 490)):
        step = found[name, "gradient_step_cycles", reference]
        assert (step["value"], step["reference_value"]) == (432, beside)
    whole = found[name, "iteration_cycles", "at most 1.35 x gradient_step_cycles"]
    assert (whole["value"], whole["reference_value"]) == (540, 583)


def test_no_bar_no_row(monkeypatch):
    monkeypatch.setattr(
        cycles, "measure", lambda *arguments: {64: cycles.CycleMeasurement(432, 540, 434)}
    )
    rows = cycles.rows_of(cases.LearnerCase(learner(cases.TWO_NETWORKS), (64,)))
    found = values(rows)
    name = "ddpg 8-64-2, words 2-16-1 and 2-16-2, DP=2, fixed, B=64"
    assert len(found) == len(rows) == 6
    assert found[name, "multipliers", None]["value"] == "64, 32 and 64, 64"
    assert found[name, "iteration_cycles", None]["value"] == 540


def test_td3_has_two_kinds_of_step_and_their_mean(monkeypatch):
    measured = {3: (35_575, 35_577), 1: (17_649, 17_651)}
    monkeypatch.setattr(td3, "measure", lambda *arguments: measured)
    rows, step = values(td3.rows()), "gradient_step_cycles"
    case = "td3 17-64-64-6, words 1-16-2-1 and 1-16-2-1 and 2-8-4-1, DP=2, fixed, B=256"
    for sweeps, trained in ((3, "the actor too"), (1, "critics alone")):
        row = rows[f"{case}, {trained}", step, "by formula"]
        assert row["value"] == row["reference_value"] == measured[sweeps][0]
    mean = rows[case, step, "at most"]
    assert (mean["value"], mean["reference_value"]) == (26_612, 28_000)
    assert rows[case, "iteration_cycles", None]["value"] == 26_614 and len(rows) == 4


# -- software beside td3


@pytest.fixture
def software(monkeypatch):
    """Programs that take 4, 2 and 1.4 ms for two steps; the list of words of their processes."""
    ran = []

    def run(words, **options):
        ran.append(words)
        return SimpleNamespace(stdout="compiled\n0.0014\n")

    found = {"torch, eager": 4e-3, "torch, compiled": 2e-3}
    monkeypatch.setattr(td3_software, "torch_steps", lambda *arguments: None)
    monkeypatch.setattr(td3_software, "medians", lambda functions, **clock: found)
    monkeypatch.setattr(td3_software, "version", lambda name: "1")
    monkeypatch.setattr(td3_software.subprocess, "run", run)
    return ran


def td3_rows(monkeypatch):
    monkeypatch.setattr(td3, "measure", lambda *arguments: {3: (35_000, 0), 1: (15_000, 0)})
    return values(td3_software.rows(td3.rows()))


def test_td3s_step_stands_beside_the_mean_of_two_steps_of_software(monkeypatch, software):
    pytest.importorskip("torch")
    found = td3_rows(monkeypatch)
    name = cases.name_of(td3.CHEETAH, 256)
    assert found[name, "modelled_step_us", None]["value"] == 100
    for program, us in (("torch, eager", 2000), ("torch, compiled", 1000), ("RLtools", 700)):
        case = f"td3 17-64-64-6, B=256, {program}"
        assert found[case, "software_step_us", None]["value"] == us
        assert found[case, "software_over_card", None]["value"] == us / 100
    assert len(found) == 7
    [[*_, asked]] = software
    assert json.loads(asked) == dict(observation=17, action=6, hidden=[64, 64], batch=256)


def test_software_that_is_not_installed_is_left_out(monkeypatch, software, capsys):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(td3_software, "version", missing)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert len(td3_rows(monkeypatch)) == 1
    said = capsys.readouterr().err
    assert "torch is left out: " in said and "RLtools is left out: " in said


def test_torch_trains_both_critics_twice_as_often_as_the_actor():
    pytest.importorskip("torch")
    seen, small = Counter(), learner(algorithm="td3", observation=3, action=2, words=None)
    losses = {"critic_loss": [], "actor_loss": []}

    def wrap(loss):
        def kept(*arguments):
            seen[loss.__name__] += 1
            result = loss(*arguments)
            losses[loss.__name__].append(result.item())
            return result

        return kept

    steps = td3_software.torch_steps(small, 16, wrap)
    for _ in range(200):
        steps()
    assert seen == {"critic_loss": 400, "actor_loss": 200}
    assert all(np.mean(each[-20:]) < np.mean(each[:20]) for each in losses.values())


def test_rltools_is_asked_for_the_same_sizes(monkeypatch):
    asked, state = {}, SimpleNamespace(count=0)

    def step():
        state.count += 1
        obs, reward, terminated, truncated, _ = state.env.step(np.zeros(2, np.float32))
        assert obs.shape == (3,) and obs.dtype == np.float32 and not (terminated or truncated)

    def fake(new_env, **arguments):
        asked.update(arguments)
        state.env, state.step = new_env(), step
        assert state.env.reset(seed=1)[0].shape == (3,)
        return SimpleNamespace(State=lambda seed: state)

    monkeypatch.setitem(sys.modules, "rltools", SimpleNamespace(TD3=fake))
    steps = td3_software.rltools_steps(3, 2, [8, 8], 16)
    assert state.count == 2 * asked["N_WARMUP_STEPS"] == 32, "it learns by now"
    steps()
    assert state.count == 34
    for net in ("ACTOR", "CRITIC"):
        sizes = [asked[f"{net}_{name}"] for name in ("HIDDEN_DIM", "NUM_LAYERS", "BATCH_SIZE")]
        assert sizes == [8, 3, 16]


def test_every_case_has_a_name_of_its_own():
    names = [case.name(batch) for case in CASES for batch in case.batches]
    assert len(names) == len(set(names))
    assert {*cases.BATCHES} >= {batch for case in CASES for batch in (*case.bars, *case.shares)}
    names = [case_of(learner) for learner in LEARNERS]
    assert len(names) == len(set(names)) == 12


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name(64))
def test_a_step_by_formula_is_below_its_bar(case):
    """Measured rows show the same: the formula is exact (tests/bench/test_tables.py)."""
    assert case.bars or case.learner.multipliers == 100
    for batch, bar in case.bars.items():
        assert step_clocks(case.learner, batch).step <= bar


def test_draws_hide_behind_layers_of_64_clocks():
    for case in CASES:
        long = case.learner.interval >= 64
        assert (1.05 in case.shares.values()) == long, case


# -- area


def test_kernels_stand_beside_what_they_are_compared_with():
    found = {case: (reference, beside) for case, (_, reference, beside) in area.kernels().items()}
    assert len(found) == 10
    own = "kernel 4-64-2, words 4-8-2, DP=2, fixed, N=2^20"
    assert found[own] == ("CF'22, Table 2", dict(dsp=1600, lut=346_000, ff=459_000, sram_mb=6.6))
    both = "kernel ddpg 8-64-2, words 2-16-1 and 8-4-2, DP=2, float32, N=2^20"
    assert found[both][1]["dsp"] == 2560 and found[both][1]["sram_mb"] == 9.2
    assert found[f"{both}, K=64"] == found[both]
    cartpole = "kernel 4-64-64-2, words 1-4-8-1, DP=2, float32, N=2^20"
    assert found[cartpole] == ("at most", dict(lut=300_000, dsp=1160))
    wide = "kernel 4-64-64-2, words 2-8-16-2, DP=2, fixed, N=2^20"
    reference, share = found[wide]
    assert reference.startswith("at most, ") and share["dsp"] == int(0.8 * 2265)


def test_the_papers_sum_tree_has_64_children():
    """CF'22 4.1. The config differs from that of our own default in nothing else."""
    kernels = {case: config for case, (config, *_) in area.kernels().items()}
    wide = [case for case in kernels if case.endswith(", K=64")]
    assert len(wide) == 2
    for case in wide:
        config, own = kernels[case], kernels[case.removesuffix(", K=64")]
        assert (config.replay.fanout, own.replay.fanout) == (64, 16)
        assert with_values(config, {"replay.fanout": 16}) == own
        design = DESIGNS[config.learner.algorithm]
        more, less = (design.estimate(each).resources for each in (config, own))
        assert area.sram_mb(more) > area.sram_mb(less)


def test_megabytes_of_memory_blocks():
    """A URAM288 has 4096 words of 72 bits, a RAMB36 1024 of 36."""
    assert area.sram_mb(dict(bram36=0.5, uram=2)) == (512 * 36 + 2 * 4096 * 72) / 8 / 1e6


def test_measured_and_mapped_kernels_fit_a_u200():
    """A kernel that does not is not generated, so that its rows cannot be measured."""
    for case in CASES:
        config = LearnerKernelConfig(learner=case.learner)
        assert fits(DESIGNS[case.learner.algorithm].estimate(config), U200.numbers), case.learner


def test_rows_of_a_kernel(monkeypatch):
    counts = dict(lut=1, ff=2, bram36=3, uram=4, dsp=5)
    monkeypatch.setattr(area, "mapped", lambda *arguments: {"kernel": counts})
    found = values([*area.rows(), *area.estimates()])
    assert len(found) == 10 * 2 * 5 + 7 * 2
    table = found["kernel 4-64-2, words 4-8-2, DP=2, float32, N=2^20, K=64", "sram_mb",
                  "CF'22, Table 2"]  # fmt: skip
    assert (table["value"], table["reference_value"], table["unit"]) == (0.2, 6.6, "MB")
    case = "kernel 4-64-64-2, words 1-8-4-1, DP=2, fixed, N=2^20"
    assert [found[case, name, None]["value"] for name in ("ff", "bram36", "uram")] == [2, 3, 4]
    assert found[case, "lut", "at most"]["reference_value"] == 112_000
    assert found[case, "lut", "at most"]["value"] == 1
    assert 400 < found[case, "dsp_estimate", "at most"]["value"] < 600


def test_passes_and_parameters_of_an_ecp5(monkeypatch):
    """Each pass is mapped to one cell of a kind here: of three layers, six passes."""
    one, modules = dict(lut=1, ff=2, bram36=0.5, dsp=3, uram=0), []
    monkeypatch.setattr(ecp5, "synthesize", lambda *arguments, **options: one)
    monkeypatch.setattr(ecp5, "modules", lambda *arguments, **options: modules)

    def grouped(found, top, group_of):
        names = [group_of(name) for name in (top, f"{top}.unit", f"{top}.blocks")]
        assert names == ["parameters", "their optimizer", None] and found is modules
        return {"parameters": one, "their optimizer": one | dict(dsp=18)}

    monkeypatch.setattr(ecp5, "grouped", grouped)
    rows = values(ecp5.rows())
    case = "forward and backward of 4-64-64-2, words 1-1-1-1, DP=1, fixed, ECP5"
    assert rows[case, "dsp", "at most"]["value"] == 18
    assert rows[case, "dsp", "at most"]["reference_value"] == 30
    assert [rows[case, name, None]["value"] for name in ("lut", "ff", "bram36")] == [6, 12, 3]
    case = "64-64, words 1-1, their optimizer, DP=1, fixed, ECP5"
    assert rows[case, "dsp", None]["value"] == 18
    assert len(rows) == 16

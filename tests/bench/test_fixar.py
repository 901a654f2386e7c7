"""bench.fixar: what its rows are made of, without a simulation."""

import sys

import numpy as np
import pytest

from bench.area import row_of
from bench.driver import Overhead
from bench.fixar import area, card, cycles, intra_layer, platform, software
from bench.fixar.card import CardMeasurement
from bench.results import Results
from hw.fixar.config import FixarConfig
from hw.fixar.pass_clocks import iteration_cycles

CHEETAH = cycles.config_of("HalfCheetah")


def test_rows_of_all_tasks_with_their_host(monkeypatch):
    """Three tasks, four batches, two precisions: the batch over the seconds of host, card, two
    launches of 60 us and eight transfers of 10 us and at 12 GB/s."""
    found = {"environment": 1e-3, "runtime": 0.5e-3, "model": 9.0}, Overhead(2, 8, 12_000)
    monkeypatch.setitem(sys.modules, "mujoco", sys)
    monkeypatch.setattr(platform, "measure", lambda batch, env: found)
    rows = platform.rows()
    ips = [line for line in rows if line["metric"] == "platform_ips"]
    assert len({line["case"] for line in ips}) == len(ips) == 24
    line = next(line for line in ips if line["case"] == "11-400-300-3, 512 PEs, half, B=64")
    card = platform.card_seconds(cycles.config_of("Hopper"), 64, "half")
    assert line["value"] == round(64 / (1.5e-3 + card + 120e-6 + 80e-6 + 1e-6))
    assert "launch 60 us, link 10 us and 12 GB/s (assumed: machine u50_host)" in line["source"]
    assert {"Hopper-v5, B=64", "Swimmer-v5, B=512"} < {line["case"] for line in rows}


def test_products_of_a_sample():
    """By hand (the design's): forward five times, of which the critic's three; back and gradients;
    the critic's first layer only gives the actions' errors."""
    actor, critic = 17 * 400 + 400 * 300 + 300 * 6, 23 * 400 + 400 * 300 + 300
    back = (critic - 23 * 400) + (critic - 17 * 400) + (actor - 17 * 400)
    assert cycles.macs(CHEETAH) == 2 * actor + 3 * critic + back + actor + critic == 1_268_600


def test_use_and_rows_of_an_iteration():
    clocks = 2 * iteration_cycles(CHEETAH, 64, card.precision_of(CHEETAH, "half"))
    measured = CardMeasurement({("half", 64): clocks}, {}, 0, 0, 0.0)
    rows = cycles._iteration_rows(CHEETAH, "half", 64, measured)
    assert {row["case"] for row in rows} == {"17-400-300-6, 512 PEs, half, B=64"}
    values = {row["metric"]: row for row in rows}
    assert values["ips"]["value"] == round(164e6 * 64 / clocks)
    # Of 1024 products a clock.
    assert values["pe_use"]["value"] == round(1_268_600 * 64 / (1024 * clocks), 3)
    assert values["iteration_cycles"]["reference_value"] == clocks // 2
    assert [row["reference_value"] for row in rows if row["metric"] == "ips"] == [53_827, 117_000]


@pytest.fixture(scope="module")
def worked():
    return [*cycles.worked_out(), *intra_layer.rows()]


def test_worked_out_rows_are_kept_as_they_are_today(worked):
    """host 11: rows of other precisions and tasks, which no command printed, are among them."""
    kept = Results.of("fixar")
    for row in worked:
        found = kept.value(row["case"], row["metric"], source=row["source"])
        assert found == row["value"], row["case"]
    assert {"17-400-300-6, 512 PEs, mixed, B=512", "8-400-300-2, 512 PEs, half, B=64"} <= {
        row["case"] for row in worked
    }


def test_more_cores_by_formula(worked):
    found = cycles.largest_ips(worked)
    assert len(found) == 7 * 2 * 3
    assert found["512 PEs, half", 512] > 1.9 * found["256 PEs, half", 512]
    assert found["1792 PEs, half", 448] > 400_000 and found["1792 PEs, half", 512] > 375_000


def test_more_words_a_clock_by_formula(worked):
    """Every row is within its bar, and one core more or less does not change an ACT."""
    rows = [line for line in worked if line["metric"] in ("ips_port", "act_cycles_port")]
    assert len(rows) == 3 * 3 * 3 and sum(bool(line["reference"]) for line in rows) == 3 + 6
    for line in rows:
        value, bar = line["value"], line["reference_value"]
        assert line["reference"] is None or (
            value >= bar if "ips" in line["metric"] else value <= bar
        )
    acts = {line["case"].split(" PEs")[1]: set() for line in rows if "act" in line["metric"]}
    for line in rows:
        if "act" in line["metric"]:
            acts[line["case"].split(" PEs")[1]].add(line["value"])
    assert sorted(map(len, acts.values())) == [1, 1, 1]


@pytest.mark.parametrize(
    "cores, batch, precision, least, most",
    [
        # As many samples a core as tiles have rows: nothing is rounded up.
        (2, 64, "half", 0, 0.01),
        (2, 512, "full", 0, 0.01),
        (5, 81, "full", 0.11, 0.12),
        # Of 19 columns of a hidden layer five cores have three, and end one after the other.
        (7, 128, "full", 0.08, 0.085),
        (7, 256, "half", 0.08, 0.085),
    ],
)
def test_the_intra_layer_mode(cores, batch, precision, least, most):
    learner = cycles.config_of("HalfCheetah", cores=cores, port_words=4)
    assert least <= intra_layer.gain(learner, batch, card.precision_of(learner, precision)) < most


@pytest.mark.parametrize(
    "name, group",
    [
        ("rlfabric_aap_core_0a7bfa2f.array", "PEs"),
        ("rlfabric_aap_core_0a7bfa2f.accumulators.psum$118", "on-chip memory"),
        ("rlfabric_aap_core_0a7bfa2f.x$112", "on-chip memory"),
        ("fixar.core.learner.samples$322.memory", "on-chip memory"),
        ("fixar.core.learner.parameters.update", "Adam"),
        ("fixar.core.learner", "control"),
        ("fixar.core.replay", "replay memory"),
        ("fixar.host_reader", "HBM interface"),
        ("fixar.core.learner.walk", None),
    ],
)
def test_rows_of_the_table(name, group):
    assert row_of(area._ROWS, "fixar", name) == group


@pytest.mark.parametrize("library, make", [("torch", "torch_step"), ("jax", "jax_step")])
def test_software_steps(library, make):
    """They train (they asserted nothing before): the first step of Adam moves weights of actor and
    critic by its rate, targets follow by their share, and the actor finds actions that the critic
    values more."""
    pytest.importorskip(library)
    learner = FixarConfig(observation=3, action=2, hidden=(8, 6))
    step, obs = getattr(software, make)(learner, 16), software._batch(learner, 16)["obs"]
    first, second, *later = (copied(step()) for _ in range(20))
    for before, after in zip(first[:2], second[:2], strict=True):
        moved = np.concatenate([abs(b - a).ravel() for a, b in zip(before, after, strict=True)])
        assert 0.5e-4 < np.median(moved[moved > 0]) < 1.5e-4 and (moved > 0).mean() > 0.5
    for own, before, after in zip(second[:2], first[2:], second[2:], strict=True):
        for new, old, blended in zip(own, before, after, strict=True):
            np.testing.assert_allclose(blended, old + 1e-3 * (new - old), rtol=1e-5, atol=1e-8)
    last = later[-1]
    assert value(last[1], obs, last[0]) > value(last[1], obs, first[0])


def copied(networks):
    """Arrays that the next step leaves as they are."""
    numbers = [[x for layer in network for x in layer] for network in networks]
    return [
        [np.array(x.detach().numpy() if hasattr(x, "detach") else x) for x in network]
        for network in numbers
    ]


def value(critic, obs, actor):
    """Mean value of the actor's actions."""

    def forward(weights, x):
        for i in range(0, len(weights), 2):
            x = np.maximum(x, 0) if i else x
            x = x @ weights[i] + weights[i + 1]
        return x

    action = np.tanh(forward(actor, obs))
    return forward(critic, np.concatenate([obs, action], 1)).mean()


def test_bytes_of_a_timestep_are_those_of_its_launch():
    """``_Kept`` passes on what it is given, and keeps it."""

    class Launcher:
        device_cycles = 7

        def run(self, program, operands=(), results_bytes=0):
            return program, operands, results_bytes

    kept, operands = card._Kept(Launcher()), [(64, np.zeros(3, np.uint8))]
    assert kept.run([1], operands, 5) == ([1], operands, 5) and kept.device_cycles == 7
    assert card._only(kept.asked[0]) == (1, operands, 5)


def test_clocks_of_an_act_are_those_that_a_second_one_adds():
    """Of a card of which a launch takes 100 clocks, and each ACT 7."""
    buffer = _Acts()
    assert card._acting(buffer, CHEETAH, np.random.default_rng(0), 3) == 7
    assert [len(program) for program in buffer.launched] == [1, 2]


class _Acts:
    """A buffer that is its own launcher."""

    def __init__(self):
        self.launcher, self.device_cycles, self.launched = self, 0, []

    def act(self, obs):
        self.launcher.run([("ACT", {"count": len(obs)})], [], 64)

    def run(self, program, operands, size):
        self.launched.append(program)
        self.device_cycles += 100 + 7 * len(program)

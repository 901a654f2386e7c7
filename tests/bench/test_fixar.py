"""bench.fixar: what its rows are made of, without a simulation."""

import numpy as np
import pytest

from bench.area import row_of
from bench.fixar import area, card, cycles, software
from bench.fixar.card import Measured
from hw.fixar.config import FixarConfig
from hw.fixar.pass_clocks import iteration_cycles

CHEETAH = cycles.config_of("HalfCheetah")


def test_products_of_a_sample():
    """By hand (the design's): forward five times, of which the critic's three; back and gradients;
    the critic's first layer only gives the actions' errors."""
    actor, critic = 17 * 400 + 400 * 300 + 300 * 6, 23 * 400 + 400 * 300 + 300
    back = (critic - 23 * 400) + (critic - 17 * 400) + (actor - 17 * 400)
    assert cycles.macs(CHEETAH) == 2 * actor + 3 * critic + back + actor + critic == 1_268_600


def test_use_and_rows_of_an_iteration():
    clocks = 2 * iteration_cycles(CHEETAH, 64, card.precision_of(CHEETAH, "half"))
    measured = Measured({("half", 64): clocks}, {}, 0, 0, 0.0)
    rows = cycles._iteration_rows(CHEETAH, "half", 64, measured)
    assert {row["case"] for row in rows} == {"17-400-300-6, 512 PEs, half, B=64"}
    values = {row["metric"]: row for row in rows}
    assert values["ips"]["value"] == round(164e6 * 64 / clocks)
    # Of 1024 products a clock.
    assert values["pe_use"]["value"] == round(1_268_600 * 64 / (1024 * clocks), 3)
    assert values["iteration_cycles"]["reference_value"] == clocks // 2
    assert [row["reference_value"] for row in rows if row["metric"] == "ips"] == [53_827, 117_000]


def test_more_cores_by_formula():
    found = cycles.largest_ips(cycles._cores_rows())
    assert len(found) == 7 * 2 * 3
    assert found["512 PEs, half", 512] > 1.9 * found["256 PEs, half", 512]
    assert found["1792 PEs, half", 448] > 400_000 and found["1792 PEs, half", 512] > 375_000


@pytest.mark.parametrize(
    "name, group",
    [
        ("rlfabric_aap_core_0a7bfa2f.array", "PEs"),
        ("rlfabric_aap_core_0a7bfa2f.foot.psum$118", "on-chip memory"),
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
    """They train: an actor and a critic of few weights, several times."""
    pytest.importorskip(library)
    step = getattr(software, make)(FixarConfig(observation=3, action=2, hidden=(8, 6)), 16)
    for _ in range(3):
        step()


def test_bytes_of_a_timestep_are_those_of_its_launch():
    """``_Kept`` passes on what it is given, and keeps it."""

    class Launcher:
        device_cycles = 7

        def run(self, program, operands=(), results_bytes=0):
            return program, operands, results_bytes

    kept, operands = card._Kept(Launcher()), [(64, np.zeros(3, np.uint8))]
    assert kept.run([1], operands, 5) == ([1], operands, 5) and kept.device_cycles == 7
    assert card._only(kept.asked[0]) == (1, operands, 5)

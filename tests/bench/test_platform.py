"""bench.fa3c.platform: what its rows say of each other, on an environment that is quick; and
bench.driver: launches and transfers are counted, and take what a machine file says."""

import numpy as np
import pytest

from bench.driver import Counted, Overhead
from bench.fa3c import platform
from bench.fa3c.rounds import PAIRS, expected
from host.cards import open_card
from host.compose.machine_library import SHIPPED, shipped
from host.kernels import keep
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.schedule import Schedule


@pytest.fixture
def found(monkeypatch, tmp_path):
    """``{metric: value}`` of two populations, then platform_ips of one."""
    pytest.importorskip("ale_py")
    changes = dict(_ENV="CartPole-v1", _WARM=1, _PERIODS=1, _TURNS=2, BUILD_DIRECTORY=tmp_path)
    for name, value in changes.items():
        monkeypatch.setattr(platform, name, value)
    *rows, alone = platform.rows()
    assert {row["bench"] for row in rows} == {"fa3c"} and all(row["source"] for row in rows)
    return {row["metric"]: row["value"] for row in rows}, alone["value"]


@pytest.mark.long
def test_rows_agree(found):
    """The slower of host and device, its launch included, is what two populations take, and their
    sum what one takes."""
    rows, alone = found
    round_steps = 16 * 5 / 8
    assert rows["transfers"] == 4 and rows["launch_ms"] >= 0.1
    device, host = 1 / rows["device_ips"] + 1e-3 * rows["launch_ms"] / round_steps, rows["host_ips"]
    device = 1 / device
    assert rows["platform_ips"] == pytest.approx(min(device, host), abs=1)
    assert alone == pytest.approx(1 / (1 / device + 1 / host), rel=0.01)
    hidden = max(0, 1 / host - 1 / device) * host
    assert rows["host_not_hidden"] == pytest.approx(hidden, abs=0.01)
    assert 0 < rows["environments_of_host"] < 1
    assert 0 < rows["software_ips"] < host and 0 < rows["model_ips"] < host


def test_the_device_is_that_of_the_measured_rounds():
    """Which ``bench.fa3c.rounds`` holds to the Verilog."""
    config = Fa3cConfig(**PAIRS)
    rounds = expected(config, 16)
    assert len(rounds) == 8
    assert platform._clocks(config, Schedule(config, 16)) == pytest.approx(sum(rounds) / 8)


def test_launches_and_transfers_count_as_the_cards_time():
    """10 inferences a round: 1 ms of host, 2 ms of the card's clocks, and by machine ``u200_host``
    60 us of a launch, 40 us of four transfers and 50 us of their bytes."""
    rows = platform.with_launches(10, 1e-3, 2e-3, Overhead(1, 4, 600_000))
    two, alone = (each["value"] for each in rows if each["metric"] == "platform_ips")
    assert (two, alone) == (round(10 / 2.15e-3), round(10 / 3.15e-3))
    values = {each["metric"]: each["value"] for each in rows}
    assert values["launch_ms"] == 0.15 and values["host_not_hidden"] == 0


def test_a_buffers_launches_are_counted(tmp_path):
    """An INSERT has program, operands and status; a SAMPLE has program, results and status."""
    folder, _ = keep("replay", "u50", tmp_path, verilog=False, capacity=64)
    with open_card("model") as card:
        kernel = card.load(folder / "kernel.json")
        fields = {"x": (np.float32, (4,))}
        buffer = PrioritizedReplayBuffer(kernel, fields, capacity=64, by_programs=True)
        launch = kernel.launch
        with Counted(kernel) as counted:
            buffer.add(x=np.zeros((8, 4)))
            added = counted.overhead
            buffer.sample(8)
        sampled = counted.overhead - added
        assert (added.launches, added.transfers) == (sampled.launches, sampled.transfers) == (1, 3)
        assert 8 * 16 < added.moved < 2048 and counted.seconds > 0
        assert kernel.launch == launch
        before = counted.overhead
        buffer.sample(8)
        assert counted.overhead == before, "what comes after the context is not counted"


@pytest.mark.parametrize("name", sorted({*SHIPPED} - {"pearl_cgf"}))
def test_seconds_are_of_the_machines_file(name):
    machine = shipped(name)
    link = machine.route(machine.cpu.name, machine.card.name)[0]
    each = Overhead(4, 6, 3e6) / 2
    wanted = 2 * machine.card.launch_us + 3 * link.latency_us + 1.5e6 / (1e3 * link.gb_per_s)
    assert each.seconds(name) == pytest.approx(1e-6 * wanted)
    assert f"launch {machine.card.launch_us:g} us" in each.source(name)
    assert f"machine {name})" in each.source(name)

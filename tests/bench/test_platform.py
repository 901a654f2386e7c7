"""bench.fa3c.platform: what its rows say of each other, on an environment that is quick."""

import pytest

from bench.fa3c import platform
from bench.fa3c.rounds import PAIRS, expected
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
    """The slower of host and device is what two populations take, and their sum what one takes."""
    rows, alone = found
    device, host = rows["device_ips"], rows["host_ips"]
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

"""Watts by RAPL and NVML, with files and a library of the test."""

import sys
from types import SimpleNamespace

import pytest

from host.compose.power import Nvml, Rapl, measured_watts, meters


def package(root, number, joules, name="package-0", whole=1000):
    zone = root / f"intel-rapl:{number}"
    zone.mkdir(exist_ok=True)
    (zone / "name").write_text(f"{name}\n")
    (zone / "energy_uj").write_text(f"{round(joules * 1e6)}\n")
    (zone / "max_energy_range_uj").write_text(f"{whole * 10**6}\n")


def test_all_packages_count_and_nothing_else(tmp_path):
    package(tmp_path, 0, 10)
    package(tmp_path, 1, 100, "package-1")
    package(tmp_path, 2, 5, "psys")  # the whole board: packages are in it
    meter = Rapl(tmp_path)
    package(tmp_path, 0, 13)
    package(tmp_path, 1, 104, "package-1")
    package(tmp_path, 2, 50, "psys")
    assert meter.joules() == pytest.approx(7)
    package(tmp_path, 0, 14)
    assert meter.joules() == pytest.approx(8)


def test_a_counter_that_begins_again(tmp_path):
    package(tmp_path, 0, 990)
    meter = Rapl(tmp_path)
    package(tmp_path, 0, 5)
    assert meter.joules() == pytest.approx(15)


def test_without_counters(tmp_path):
    with pytest.raises(FileNotFoundError, match="must have a package of RAPL, not none"):
        Rapl(tmp_path)


class Library:
    """pynvml with one GPU."""

    class NVMLError(Exception):
        pass

    def __init__(self, broken=False):
        self.millijoules, self.broken = 5000, broken

    def nvmlInit(self):
        pass

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if self.broken:
            raise self.NVMLError("Not Supported")
        return self.millijoules


def test_a_gpu(monkeypatch):
    library = Library()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    meter = Nvml()
    library.millijoules += 2500
    assert meter.joules() == pytest.approx(2.5)


def test_a_gpu_that_does_not_count(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", Library(broken=True))
    with pytest.raises(RuntimeError, match="NVML must read the energy of GPU 0: Not Supported"):
        Nvml()
    monkeypatch.setattr("host.compose.power.Rapl.__init__.__defaults__", ("nowhere",))
    assert meters() == {}


def test_watts_are_joules_a_second():
    times, joules = iter([100.0, 104.0]), iter([7.0, 27.0])
    meter = SimpleNamespace(joules=lambda: next(joules))
    with measured_watts({"cpu": meter}, clock=lambda: next(times)) as watts:
        assert watts == {}
    assert watts == {"cpu": 5.0}

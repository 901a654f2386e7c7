"""Machines that are shipped, and the one that is detected."""

import sys
from types import SimpleNamespace

import pytest

import boards
from host.compose import machine_library as module
from host.compose.machine_library import SHIPPED, machine_of, shipped, this_machine
from hw.errors import UsageError
from tests.host.machine_files import write_machine


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(module, "_gpu", lambda: None)


def test_each_is_a_machine():
    assert {"pearl_cgf", "u200_host"} <= set(SHIPPED) and "this" not in SHIPPED
    for name in SHIPPED:
        for device in shipped(name).devices:
            if device.board:
                assert device.clock_mhz == boards.get(device.board).clocks[0].mhz


def test_pearl():
    """PEARL's Table II and section VII-A."""
    found = shipped("pearl_cgf")
    assert [each.kind for each in found.devices] == ["cpu", "cuda", "card"]
    assert [each.clock_mhz for each in found.devices] == [2900, 1700, 400]
    assert found.cpu.cores == 64
    for name in ("gpu0", "card0"):
        assert [each.gb_per_s for each in found.route("cpu0", name)] == [16]
    assert [each.b for each in found.route("gpu0", "card0")] == ["gpu0", "card0"]


def test_this_machine(monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 7)
    found = this_machine()
    assert found.names == ("cpu0", "card0") and found.cpu.cores == 7
    card = found.device("card0")
    assert (card.board, card.clock_mhz, card.launch_us) == (None, None, None)
    for board in ("u200", "u50", "zcu106"):
        found = this_machine(board)
        assert found.device("card0").board == board and found.cpu.cores == 7
        assert found.device("card0").clock_mhz == boards.get(board).clocks[0].mhz
    assert this_machine("u50").links != this_machine("u200").links
    with pytest.raises(UsageError, match="board must be one of u200, u50, zcu106, not 'ulx3s'"):
        this_machine("ulx3s")


def test_a_gpu_that_torch_sees(monkeypatch):
    """With a stand-in for torch."""
    monkeypatch.undo()
    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda k: f"GPU {k}")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(module, "find_spec", lambda name: name)
    found = this_machine("u200")
    assert found.names == ("cpu0", "card0", "gpu0")
    assert found.device("gpu0").kind == "cuda" and "GPU 0" in found.device("gpu0").source
    cuda.is_available = lambda: False
    assert this_machine("u200").names == ("cpu0", "card0")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    cuda.is_available = lambda: True
    assert this_machine("u200").names == ("cpu0", "card0")


def test_cores_are_those_of_the_process(monkeypatch):
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda process: {3, 5, 8}, raising=False)
    assert this_machine().cpu.cores == 3
    monkeypatch.delattr(module.os, "sched_getaffinity")
    monkeypatch.setattr(module.os, "cpu_count", lambda: 9)
    assert this_machine().cpu.cores == 9


def test_the_machine_that_is_asked_for(tmp_path):
    devices, links, _ = write_machine(tmp_path)
    assert machine_of(devices=devices, links=links).names == ("cpu0", "card0", "gpu0")
    assert machine_of("u50_host") == shipped("u50_host")
    assert machine_of() == machine_of("this") == this_machine()
    assert machine_of(board="u50") == this_machine("u50")


@pytest.mark.parametrize(
    "name, options, text",
    [
        (None, {"devices": "d"}, "links must be given with devices, not absent"),
        (None, {"links": "l"}, "devices must be given with links, not absent"),
        ("this", {"devices": "d", "links": "l"}, "be without a machine or board, not with this"),
        (None, {"devices": "d", "links": "l", "board": "u50"}, "machine or board, not with u50"),
        ("other", {}, "machine must be one of this, pearl_cgf, .*, not 'other'"),
        ("u50_host", {"board": "u50"}, "board must be for the machine this, not for u50_host"),
    ],
)
def test_what_is_asked_in_two_ways(name, options, text):
    with pytest.raises(UsageError, match=text):
        machine_of(name, **options)


def test_an_unknown_one():
    with pytest.raises(UsageError, match="machine must be one of pearl_cgf, .*, not 'other'"):
        shipped("other")

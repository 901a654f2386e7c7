"""Files of a machine and of its times: what is read, and an error for whatever is wrong."""

import math
from dataclasses import replace

import pytest

from host.compose.machine import Device, Link, Machine, transfer_us
from host.compose.times import Times, Timing
from hw.errors import UsageError
from tests.host.machine_files import DEVICES, LINKS, TIMES, machine, write_machine


def test_what_is_read(tmp_path):
    devices, links, times = write_machine(tmp_path)
    found = Machine.read(devices, links)
    assert found.names == ("cpu0", "card0", "gpu0") and found.cpu == found.devices[0]
    assert found.devices[:2] == (
        Device(name="cpu0", kind="cpu", cores=2, watts=100, source="given"),
        Device(name="card0", kind="card", board="u200", clock_mhz=250, launch_us=60, watts=40,
               source="given"),
    )  # fmt: skip
    assert found.device("gpu0").watts == 350 and found.device("gpu0").cores is None
    assert found.links[1] == Link(a="cpu0", b="card0", latency_us=10, gb_per_s=8, source="given")
    rows = Times.read(times, found)
    assert len(rows.rows) == 6
    row = Timing(device="gpu0", placed="both", sample_us=28, insert_us=18, update_us=22,
                 learn_us=30, source="given")  # fmt: skip
    assert rows.row("gpu0", "both") == row


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n\n" + text.replace("\n", "\n\n") + " , ,\n",
        lambda text: text.replace(",", " ,  "),
        lambda text: text.replace("given", '"given"').rstrip("\n"),
        # the columns in another order
        lambda text: "\n".join(",".join(line.split(",")[::-1]) for line in text.splitlines()),
    ],
)
def test_the_same_in_other_texts(tmp_path, changed):
    wanted = Machine.read(*write_machine(tmp_path)[:2])
    texts = [changed(text) for text in (DEVICES, LINKS, TIMES)]
    devices, links, times = write_machine(tmp_path, *texts)
    found = Machine.read(devices, links)
    assert found == wanted
    assert len(Times.read(times, found).rows) == 6


def test_a_source_may_have_commas(tmp_path):
    text = DEVICES.replace("100,given", '100,"a list, two"')
    assert Machine.read(*write_machine(tmp_path, text)[:2]).cpu.source == "a list, two"


COLUMNS = "columns must be name, kind, board, cores, clock_mhz, launch_us, watts, source, not name"


def check(error, text, file, line):
    """The error begins with the text and ends with the place: a line of a file, or the file."""
    place = f" ({file})" if line is None else f" ({file} line {line})"
    assert str(error.value).startswith(text) and str(error.value).endswith(place)


@pytest.mark.parametrize(
    "old, new, text, line",
    [
        (",cuda,", ",tpu,", "kind must be one of cpu, cuda, card, not 'tpu'", 4),
        (",cuda,", ",,", "kind must be given, not empty", 4),
        ("u200", "u1", "board must be one of u200, u50, ulx3s, zcu106, not 'u1'", 3),
        (",cuda,,", ",cuda,u50,", "board must be empty for a cuda, not 'u50'", 4),
        ("gpu0", "card0", "name must be of one device, not of two: 'card0'", 4),
        ("gpu0", "", "name must be given, not empty", 4),
        (",cuda,", ",cpu,", "kind must be cpu for one device, not for gpu0 too", 4),
        (",cpu,", ",card,", "kind must be cpu for one device, not for none", None),
        (",,2,", ",,two,", "cores must be an integer, not 'two'", 2),
        (",,2,", ",,2.5,", "cores must be an integer, not '2.5'", 2),
        (",,2,", ",,0,", "cores must be an integer in 1..1048576, not 0", 2),
        (",250,", ",fast,", "clock_mhz must be a number, not 'fast'", 3),
        (",250,", ",0,", "clock_mhz must be positive and finite, not 0.0", 3),
        (",60,", ",-1,", "launch_us must be at least 0 and finite, not -1.0", 3),
        ("350", "nan", "watts must be positive and finite, not nan", 4),
        ("350", "inf", "watts must be positive and finite, not inf", 4),
        ("350,given", "350,", "source must be given, not empty", 4),
        ("350,given", "350", "cells must be 8, as columns, not 7", 4),
        ("350,given", "350,given,", "cells must be 8, as columns, not 9", 4),
        (",watts", "", COLUMNS, 1),
        (",watts", ",watts,volts", COLUMNS, 1),
        (",watts", ",name", COLUMNS, 1),
        (",watts", ",watts,watts", COLUMNS, 1),
        (DEVICES, "", "columns must be those of the first line, not absent", None),
        (DEVICES, "\n\n", "columns must be those of the first line, not absent", None),
        (DEVICES, DEVICES.splitlines()[0], "kind must be cpu for one device, not for none", None),
        ("350,given", '350,"given', "cells must be CSV, not unreadable: unexpected end of data", 4),
    ],
)
def test_wrong_devices(tmp_path, old, new, text, line):
    assert old in DEVICES
    with pytest.raises(UsageError) as found:
        Machine.read(*write_machine(tmp_path, DEVICES.replace(old, new, 1))[:2])
    check(found, text, "devices.csv", line)


@pytest.mark.parametrize(
    "old, new, text, line",
    [
        ("gpu0,gpu0", "gpu0,gpu1", "b must be one of cpu0, card0, gpu0, not 'gpu1'", 6),
        ("cpu0,card0", ",card0", "a must be given, not empty", 3),
        ("gpu0,gpu0", "gpu0,cpu0", "links must connect gpu0 and cpu0 once, not twice", 6),
        (
            "gpu0,gpu0,1,800,given\n",
            "",
            "links must connect gpu0 and itself (its own memory), not be absent",
            None,
        ),
        (
            "cpu0,cpu0,0.1,20,given\n",
            "",
            "links must connect cpu0 and itself (its own memory), not be absent",
            None,
        ),
        ("cpu0,card0", "gpu0,card0", "links must connect card0 and cpu0, not be absent", None),
        (",10,", ",-10,", "latency_us must be at least 0 and finite, not -10.0", 3),
        (",10,", ",ten,", "latency_us must be a number, not 'ten'", 3),
        (",800,", ",0,", "gb_per_s must be positive and finite, not 0.0", 6),
        (",800,", ",nan,", "gb_per_s must be positive and finite, not nan", 6),
        ("800,given", "800,", "source must be given, not empty", 6),
        ("a,b", "from,to", "columns must be a, b, latency_us, gb_per_s, source, not from, to", 1),
    ],
)
def test_wrong_links(tmp_path, old, new, text, line):
    assert old in LINKS
    with pytest.raises(UsageError) as found:
        Machine.read(*write_machine(tmp_path, links=LINKS.replace(old, new, 1))[:2])
    check(found, text, "links.csv", line)


@pytest.mark.parametrize(
    "old, new, text, line",
    [
        ("gpu0,both", "gpu1,both", "device must be one of cpu0, card0, gpu0, not 'gpu1'", 7),
        ("gpu0,both", "gpu0,apart", "times must have gpu0 apart once, not twice", 7),
        ("gpu0,both", "gpu0,alone", "placed must be one of apart, both, not 'alone'", 7),
        ("gpu0,both", ",both", "device must be given, not empty", 7),
        (",1.1,", ",-1,", "insert_us must be at least 0 and finite, not -1.0", 2),
        (",22,", ",-1,", "update_us must be at least 0 and finite, not -1.0", 7),
        (",540,", ",0,", "learn_us must be positive and finite, not 0.0", 2),
        ("both,28,1.2", "both,0,1.2", "sample_us must be positive and finite, not 0.0", 3),
        (",540,", ",nan,", "learn_us must be positive and finite, not nan", 2),
        (",540,", ",slow,", "learn_us must be a number, not 'slow'", 2),
        ("540,given", "540,", "source must be given, not empty", 2),
        (
            "placed",
            "where",
            "columns must be device, placed, sample_us, insert_us, update_us, lea",
            1,
        ),
    ],
)
def test_wrong_times(tmp_path, old, new, text, line):
    assert old in TIMES
    devices, links, times = write_machine(tmp_path, times=TIMES.replace(old, new, 1))
    with pytest.raises(UsageError) as found:
        Times.read(times, Machine.read(devices, links))
    check(found, text, "times.csv", line)


def test_files_that_cannot_be_read(tmp_path):
    devices, links, _ = write_machine(tmp_path)
    text = "gone.csv must be a file of CSV, not unreadable: No such file or directory"
    with pytest.raises(UsageError, match=text):
        Machine.read(devices, tmp_path / "gone.csv")
    devices.write_bytes(DEVICES.encode("utf-16"))
    with pytest.raises(UsageError, match="devices.csv must be a file of CSV, not unreadable: 'utf"):
        Machine.read(devices, links)


def test_objects_are_checked_as_files_are(tmp_path):
    found = Machine.read(*write_machine(tmp_path)[:2])
    cpu, card, _ = found.devices
    for devices, links, text in (
        ((card,), found.links, "kind must be cpu for one device, not for none"),
        ((cpu, cpu), found.links, "name must be of one device, not of two: 'cpu0'"),
        (found.devices, found.links[:1], "links must connect card0 and itself"),
        (found.devices, found.links * 2, "links must connect cpu0 and cpu0 once, not twice"),
        ((cpu, card), found.links, "b must be one of cpu0, card0, not 'gpu0'"),
    ):
        with pytest.raises(UsageError, match=text.replace("(", r"\(")):
            Machine(devices=devices, links=links)
    row = Timing(device="tpu0", placed="both", source="given")
    with pytest.raises(UsageError, match="device must be one of cpu0, card0, gpu0, not 'tpu0'"):
        Times(machine=found, rows=(row,))
    row = replace(row, device="cpu0")
    with pytest.raises(UsageError, match="times must have cpu0 both once, not twice"):
        Times(machine=found, rows=(row, row))
    for name, value in (
        ("source", ""),
        ("learn_us", math.nan),
        ("insert_us", -1),
        ("sample_us", True),
    ):
        with pytest.raises(UsageError, match=f"{name} must be "):
            replace(row, **{name: value})


def test_transfers():
    """One link, or two by way of the cpu; 8000 bytes at 4 GB/s take 2 us, at 2 GB/s 4 us."""
    links = {
        "cpu0 cpu0": (0.5, 8), "card0 cpu0": (10, 4), "card0 card0": (1, 2), "cpu0 gpu0": (5, 2),
        "gpu0 gpu0": (1, 8),
    }  # fmt: skip
    found = machine({"card0": None, "gpu0": None, "cpu0": None}, links)
    for a, b, latency, sent in (
        ("cpu0", "card0", 10, 2),
        ("card0", "cpu0", 10, 2),
        ("card0", "card0", 1, 4),
        ("cpu0", "cpu0", 0.5, 1),
        ("card0", "gpu0", 15, 6),
        ("gpu0", "card0", 15, 6),
    ):
        assert found.transfer_us(a, b, 8000) == latency + sent
        assert found.traffic_us(a, b, 8000) == sent
        assert found.transfer_us(a, b, 0) == latency
    direct = machine({"card0": None, "gpu0": None, "cpu0": None}, links | {"gpu0 card0": (3, 8)})
    assert direct.transfer_us("card0", "gpu0", 8000) == 4


def test_transfer():
    assert transfer_us(10, 32_000, 16) == 12  # 32 kB at 16 GB/s take 2 us
    assert transfer_us(0, 12, 0.5) == 0.024

"""host.runs.run_log: on the disk when they come; a disk's error is the caller's, and loses
none."""

import importlib
import resource
import sys
import time
from threading import Thread

import pytest
from tensorboardX.proto.event_pb2 import Event

from host.runs.event_file import EventFile, _without_torch


def events(folder):
    """Those of the only file, from the record format: length, checksum, data, checksum."""
    (path,) = folder.iterdir()
    data, at = path.read_bytes(), 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        yield Event.FromString(data[at + 12 : at + 12 + length])
        at += 16 + length


def steps(folder):
    """(step, value) of the scalars."""
    return [
        (event.step, value.simple_value)
        for event in events(folder)
        for value in event.summary.value
    ]


def test_an_event_has_the_date(tmp_path):
    """Seconds since 1970: TensorBoard shows them as a run's date."""
    before, file = time.time(), EventFile(tmp_path)
    file.add_scalar("loss", 1.0, 8)
    file.close()
    *_, event = events(tmp_path)
    assert before <= event.wall_time <= time.time()


def test_a_full_disk_is_said_and_loses_nothing(tmp_path):
    file = EventFile(tmp_path)
    file.add_scalar("loss", 1.0, 8)
    file.flush()
    assert steps(tmp_path) == [(8, 1.0)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        file.add_scalar("loss", 2.0, 16)
        with pytest.raises(OSError, match="File too large"):
            file.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for step in range(24, 8 * 40, 8):  # more than a thread's queue would hold
        file.add_scalar("loss", 3.0, step)
    file.close()
    assert steps(tmp_path)[:3] == [(8, 1.0), (16, 2.0), (24, 3.0)] and len(steps(tmp_path)) == 39


def test_torch_is_hidden_from_one_thread_only(tmp_path, monkeypatch):
    """Another may import it at that moment, such as a trainer's; and this one afterwards."""
    (tmp_path / "torch.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)  # and puts back what was there
    del sys.modules["torch"]
    found = []
    with _without_torch():
        with pytest.raises(ModuleNotFoundError, match="No module named 'torch'"):
            importlib.import_module("torch")
        other = Thread(target=lambda: found.append(importlib.import_module("torch")))
        other.start()
        other.join(10)
        assert importlib.import_module("torch") is found[0], "which has been imported"
    del sys.modules["torch"]
    assert importlib.import_module("torch").__file__ == str(tmp_path / "torch.py")

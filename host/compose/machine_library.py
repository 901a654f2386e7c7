"""Machines that come with rlfabric, and ``this``, which is detected.

A machine is a folder of ``machines/`` with ``devices.csv`` and ``links.csv``.
"""

import os
import platform
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from host.compose.machine import Device, Link, Machine
from host.rules import check_choice
from hw.errors import UsageError

__all__ = ["DEVICES", "LINKS", "SHIPPED", "THIS", "cores", "machine_of", "shipped"]
__all__ += ["this_machine"]

#: The files of a machine.
DEVICES, LINKS = "devices.csv", "links.csv"
#: The name of the machine on which the program runs.
THIS = "this"

_FOLDER = Path(__file__).parent / "machines"
#: Names of the machines in files.
SHIPPED = tuple(sorted(path.parent.name for path in _FOLDER.glob(f"*/{DEVICES}")))


def shipped(name):
    """The Machine in the files of folder ``name`` of ``machines/``; UsageError if there is none."""
    check_choice("machine", name, SHIPPED)
    return Machine.read(_FOLDER / name / DEVICES, _FOLDER / name / LINKS)


def machine_of(name=None, *, board=None, devices=None, links=None):
    """The Machine that a user asked for: by the paths of both files, or by name, where None is
    ``this`` with a card of ``board``. UsageError if it is asked for in two ways, or in none."""
    if (devices is None) != (links is None):
        lacks, given = ("links", "devices") if links is None else ("devices", "links")
        raise UsageError(f"{lacks} must be given with {given}, not absent")
    if devices is not None:
        if name is not None or board is not None:
            raise UsageError(
                f"devices must be without a machine or board, not with {name or board}"
            )
        return Machine.read(devices, links)
    if name in (None, THIS):
        return this_machine(board)
    check_choice("machine", name, (THIS, *SHIPPED))
    if board is not None:
        raise UsageError(f"board must be for the machine {THIS}, not for {name}")
    return shipped(name)


def this_machine(board=None):
    """The Machine on which this process runs, with one card.

    The cpu has the cores of this process. A GPU is there if torch is installed and sees one. The
    card and its links are taken from the shipped machine that has ``board``; without a board, from
    the U200's, but the card is the twin, whose clock is unknown. UsageError if no shipped machine
    has the board.
    """
    hosts = {each.board: found for found in map(shipped, SHIPPED) for each in found.devices}
    check_choice("board", board or "u200", [name for name in hosts if name])
    base = hosts[board or "u200"]
    processor = platform.machine() or "unknown"
    cpu = Device(name=base.cpu.name, kind="cpu", cores=cores(), source=f"detected: {processor}")
    others = [device for device in base.devices if device.name != cpu.name]
    if board is None:
        nothing = dict(board=None, clock_mhz=None, launch_us=None, watts=None)
        others = [replace(each, **nothing, source="card model, the twin") for each in others]
    links = list(base.links)
    if (gpu := _gpu()) is not None:
        others.append(Device(name="gpu0", kind="cuda", source=f"detected: {gpu}"))
        links += [
            Link(a=cpu.name, b="gpu0", latency_us=10, gb_per_s=12, source="assumed: PCIe 3 x16"),
            Link(a="gpu0", b="gpu0", latency_us=1, gb_per_s=500, source="assumed"),
        ]
    return Machine(devices=(cpu, *others), links=tuple(links))


def cores():
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _gpu():
    """The name of the first CUDA device that torch sees; None without torch or without a device."""
    if find_spec("torch") is None:
        return None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None

"""The files of a machine with a card and a GPU, and a machine and times made of numbers alone."""

from host.compose.machine import Device, Link, Machine
from host.compose.times import Times, Timing

__all__ = ["DEVICES", "LINKS", "TIMES", "machine", "matrix", "write_machine"]

DEVICES = """\
name,kind,board,cores,clock_mhz,launch_us,watts,source
cpu0,cpu,,2,,,100,given
card0,card,u200,,250,60,40,given
gpu0,cuda,,,,,350,given
"""
LINKS = """\
a,b,latency_us,gb_per_s,source
cpu0,cpu0,0.1,20,given
cpu0,card0,10,8,given
card0,card0,0.3,16,given
cpu0,gpu0,5,16,given
gpu0,gpu0,1,800,given
"""
TIMES = """\
device,placed,sample_us,insert_us,update_us,learn_us,source
cpu0,apart,26,1.1,3,540,given
cpu0,both,28,1.2,4,560,given
card0,apart,5,3,2,80,given
card0,both,4,3,2,78,given
gpu0,apart,30,20,25,60,given
gpu0,both,28,18,22,30,given
"""


def write_machine(folder, devices=DEVICES, links=LINKS, times=TIMES):
    """Writes the three files to ``folder``; returns their paths."""
    paths = [folder / f"{name}.csv" for name in ("devices", "links", "times")]
    for path, text in zip(paths, (devices, links, times), strict=True):
        path.write_bytes(text.encode())
    return paths


def machine(devices, links):
    """The Machine of ``devices``, ``{name: watts}`` where a name begins with the kind (a GPU's with
    "gpu"), and of ``links``, ``{"a b": (latency_us, gb_per_s)}``."""
    kinds = {"cpu": "cpu", "gpu": "cuda", "car": "card"}
    return Machine(
        devices=tuple(
            Device(name=name, kind=kinds[name[:3]], watts=watts, source="given")
            for name, watts in devices.items()
        ),
        links=tuple(
            Link(a=ends.split()[0], b=ends.split()[1], latency_us=lat, gb_per_s=bw, source="given")
            for ends, (lat, bw) in links.items()
        ),
    )


def matrix(machine, rows):
    """The Times of ``rows``, ``{"device placed": (sample, insert, update, learn)}``."""
    names = ("sample_us", "insert_us", "update_us", "learn_us")
    return Times(
        machine=machine,
        rows=tuple(
            Timing(
                device=key.split()[0],
                placed=key.split()[1],
                **dict(zip(names, numbers, strict=True)),
                source="given",
            )
            for key, numbers in rows.items()
        ),
    )

"""Watts of processors, from the counters of energy that they have: RAPL of a cpu, NVML of a GPU."""

import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

__all__ = ["Nvml", "Rapl", "measured_watts", "meters"]

#: Where Linux shows RAPL's counters; a package is a socket with its cores.
_POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """The energy of all packages of the cpu (Linux, "powercap"); root alone may read it on most
    machines. OSError if there is no counter, or if it may not be read."""

    def __init__(self, root=_POWERCAP):
        zones = sorted(Path(root).glob("intel-rapl:*"))
        self._zones = [
            zone
            for zone in zones
            if (zone / "name").read_text(encoding="utf-8").startswith("package")
        ]
        if not self._zones:
            raise FileNotFoundError(f"{root} must have a package of RAPL, not none")
        self._ranges = [self._number(zone, "max_energy_range_uj") for zone in self._zones]
        self._last, self._joules = self._counts(), 0.0

    @staticmethod
    def _number(zone, name):
        return int((zone / name).read_text(encoding="utf-8"))

    def _counts(self):
        return [self._number(zone, "energy_uj") for zone in self._zones]

    def joules(self):
        """Joules since this object was made. A counter that has begun again at 0 once since the
        last call is counted on."""
        now = self._counts()
        for before, count, whole in zip(self._last, now, self._ranges, strict=True):
            self._joules += (count - before if count >= before else count - before + whole) * 1e-6
        self._last = now
        return self._joules


class Nvml:
    """The energy of GPU ``index`` by NVIDIA's library (package nvidia-ml-py). ImportError without
    it, RuntimeError where it cannot read."""

    def __init__(self, index=0):
        nvml = import_module("pynvml")
        try:
            nvml.nvmlInit()
            self._read = nvml.nvmlDeviceGetTotalEnergyConsumption
            self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
            self._begin = self._read(self._handle)
        except nvml.NVMLError as error:
            raise RuntimeError(f"NVML must read the energy of GPU {index}: {error}") from error

    def joules(self):
        """Joules since this object was made."""
        return (self._read(self._handle) - self._begin) * 1e-3


def meters():
    """``{kind of device: meter}`` of those meters that can be read here."""
    found = {}
    for kind, meter in (("cpu", Rapl), ("cuda", Nvml)):
        try:
            found[kind] = meter()
        except (OSError, ImportError, RuntimeError):
            continue
    return found


@contextmanager
def measured_watts(by_kind, clock=time.perf_counter):
    """A context manager whose value is a dict; when its block ends, the dict has the mean watts of
    each of ``by_kind``, ``{kind: meter}``, over the block. What else the machine did then is in
    them."""
    watts, begin = {}, clock()
    before = {kind: meter.joules() for kind, meter in by_kind.items()}
    yield watts
    seconds = clock() - begin
    for kind, meter in by_kind.items():
        watts[kind] = round((meter.joules() - before[kind]) / seconds, 3)

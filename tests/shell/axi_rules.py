"""AXI rules on the pins of a master, checked on every clock; and what crossed them."""

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

PAGE = 4096
_ADDRESS = ("addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "region", "id")
_CHANNELS = ("ar", "r", "aw", "w", "b")
_PAYLOADS = {"ar": _ADDRESS, "aw": _ADDRESS, "w": ("data", "strb", "last")}


def cut(address, beats, beat_bytes, burst_beats):
    """The bursts ``(address, len)`` that a request of ``beats`` must become."""
    bursts = []
    while beats:
        take = min(beats, burst_beats - address // beat_bytes % burst_beats)
        bursts.append((address, take - 1))
        address += take * beat_bytes
        beats -= take
    return bursts


class Rules:
    """``bursts["ar"]``: ``(address, len)`` of each; ``clocks[channel]``: of each transfer;
    ``words``: what was written, in order.

    ``streams``: more names whose transfers are recorded.
    """

    def __init__(self, dut, streams=(), prefix="m_axi"):
        self.dut, self.prefix = dut, prefix
        self.bursts, self.words = {"ar": [], "aw": []}, []
        self.clocks = {channel: [] for channel in _CHANNELS}
        self.clocks |= {name: [] for name in streams}
        self.streams, self.clock = streams, 0
        self._held = {}
        self._offered = []  # lengths of the write bursts whose data is still to come
        self._sent = 0
        cocotb.start_soon(self._watch())

    def pin(self, name):
        return int(getattr(self.dut, f"{self.prefix}_{name}").value)

    async def _watch(self):
        while True:
            await ReadOnly()
            if not int(self.dut.rst.value):
                self._sample()
            await RisingEdge(self.dut.clk)
            self.clock += 1

    def _sample(self):
        beat_bytes = len(getattr(self.dut, f"{self.prefix}_wstrb"))
        for channel, names in _PAYLOADS.items():
            valid = self.pin(f"{channel}valid")
            now = {name: self.pin(channel + name) for name in names} if valid else None
            held = self._held.get(channel)
            assert held is None or held == now, f"{channel} changed while stalled: {held} {now}"
            self._held[channel] = None if self.pin(f"{channel}ready") else now
            if valid and channel != "w":
                self._check_burst(channel, now, beat_bytes)
            if channel == "aw" and valid and held is None:
                self._offered.append(now["len"])
        assert not self.pin("rvalid") or self.pin("rready"), "a beat came and had no room"
        # A burst's data may come with the offer of its address but not before it.
        moved = [c for c in _CHANNELS if self.pin(f"{c}valid") and self.pin(f"{c}ready")]
        for channel in moved:
            self.clocks[channel].append(self.clock)
            if channel in self.bursts:
                self.bursts[channel].append((self.pin(f"{channel}addr"), self.pin(f"{channel}len")))
            if channel == "w":
                self.words.append(self.pin("wdata"))
        self._check_data(beat_bytes, "w" in moved)
        for name in self.streams:
            if _moves(self.dut, name):
                self.clocks[name].append(self.clock)

    def _check_burst(self, channel, now, beat_bytes):
        size = (now["len"] + 1) * beat_bytes
        assert now["addr"] % beat_bytes == 0, f"{channel}addr {now['addr']:#x} is not on a beat"
        assert now["addr"] % PAGE + size <= PAGE, f"{channel} crosses 4 KB: {now}"
        assert 1 << now["size"] == beat_bytes and now["burst"] == 1, f"{channel}: {now}"
        assert not any(now[name] for name in ("id", "lock", "prot", "qos", "region"))

    def _check_data(self, beat_bytes, moved):
        valid = self.pin("wvalid")
        assert valid or not self._sent, "wvalid paused inside a burst"
        if valid:
            assert self._offered, "data before the offer of its address"
            assert self.pin("wstrb") == (1 << beat_bytes) - 1, "strobes must be full"
            last = self._sent == self._offered[0]
            assert self.pin("wlast") == last, f"wlast wrong at beat {self._sent}"
            if moved:
                self._sent = 0 if last else self._sent + 1
                if last:
                    self._offered.pop(0)


async def busy_is_exact(dut, side, done):
    """``busy`` from the clock after a request is taken to the last transfer that ``done`` owes it.

    A request owes a transfer for each of its beats on ``read_data``, or one on ``write_done``.
    """
    owed = 0
    while True:
        await ReadOnly()
        busy = int(getattr(dut, f"{side}_busy").value)
        assert int(dut.rst.value) or busy == (owed > 0), f"busy is {busy}, {owed} owed"
        request = getattr(dut, f"{side}_request__payload").value
        if _moves(dut, f"{side}_request"):
            owed += int(request) >> 64 if side == "read" else 1
        owed -= _moves(dut, done)
        await RisingEdge(dut.clk)


def _moves(dut, name):
    valid, ready = (getattr(dut, f"{name}__{part}").value for part in ("valid", "ready"))
    return not int(dut.rst.value) and int(valid) and int(ready)

"""Memories behind a read or write port, without AXI: what they were asked, in which clocks.

Each checks on every clock that what a port offers stays as it is until it is taken.
"""

import collections
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from streams import ports

__all__ = ["Phases", "ReadMemory", "WriteMemory", "word_at"]


class Phases:
    """In place of an rng for ``streams`` with a gap of 0.5: solid runs and solid pauses.

    Of at most ``longest`` clocks each; 0 never pauses.
    """

    def __init__(self, seed, longest):
        self.rng, self.longest = random.Random(seed), longest
        self.left, self.moves = 0, True

    def random(self):
        if not self.longest:
            return 1.0
        if not self.left:
            self.moves, self.left = not self.moves, self.rng.randint(1, self.longest)
        self.left -= 1
        return float(self.moves)


def word_at(address, width):
    """What memory holds at ``address``."""
    return random.Random(address).getrandbits(width)


class _Memory:
    """``taken``: the requests ``(address, beats)``; ``clocks[stream]``: of each transfer.

    ``answering`` = False holds all answers back, a name in ``stalled`` that stream. ``waits``:
    whether the device under test may make a beat or an answer wait. ``port``: its name there.
    """

    def __init__(self, dut, streams, latency, pauses, waits, port):
        self.dut, self.latency, self.waits = dut, latency, waits
        self.pauses = pauses or Phases(0, 0)
        self.lines = {name: ports(dut, f"{port}__{name}") for name in streams}
        self.taken, self.clocks = [], {name: [] for name in streams}
        self.clock, self.answering, self.stalled = 0, True, set()
        self._held, self.shows = {}, False
        cocotb.start_soon(self._run())

    def _pause(self, name):
        return self.pauses.random() < 0.5 or name in self.stalled

    def _show(self, name, queue):
        """Offer the word of ``queue`` that is due, or nothing; what waits is offered again."""
        payload, valid, _ = self.lines[name]
        due = bool(queue) and queue[0][0] <= self.clock and self.answering
        self.shows = due and (not self._pause(name) or self.shows)
        valid.value = int(self.shows)
        if self.shows:
            payload.value = self._word(queue[0][1])

    def _shown(self, name, queue):
        """After ``_show``: the word has moved if somebody took it."""
        if self.shows and self._moved(name, comes=False) is not None:
            queue.popleft()
            self.shows = False
        assert self.waits or not self.shows, f"{name} came and had no room"

    def _moved(self, name, *, comes=True):
        """The word that moves in this clock, or None; ``comes``: towards the memory."""
        payload, valid, ready = self.lines[name]
        word = int(payload.value) if int(valid.value) else None
        moves = word is not None and int(ready.value)
        if comes:
            held = self._held.get(name)
            assert held in (None, word), f"{name} changed while stalled: {held} -> {word}"
            self._held[name] = None if moves else word
        if moves:
            self.clocks[name].append(self.clock)
        return word if moves else None

    def _request(self):
        """Take a request if one moves."""
        word = self._moved("request")
        if word is not None:
            self.taken.append((word % (1 << 64), word >> 64))
        return word is not None

    async def _run(self):
        while True:
            self._drive()
            await ReadOnly()
            self._sample()
            await RisingEdge(self.dut.clk)
            self.clock += 1


class ReadMemory(_Memory):
    """Beats come from ``latency`` clocks after their request was taken, one a clock at most.

    holds : callable, an address and the bits of a payload to what comes from there
    """

    def __init__(
        self, dut, beat_bytes, *, latency=1, pauses=None, waits=False, holds=word_at, port="memory"
    ):
        self.beat_bytes, self.owed, self.holds = beat_bytes, collections.deque(), holds
        super().__init__(dut, ("request", "data"), latency, pauses, waits, port)
        self.width = len(self.lines["data"][0])

    def _drive(self):
        self.lines["request"][2].value = int(not self._pause("request"))
        self._show("data", self.owed)

    def _word(self, address):
        return self.holds(address, self.width)

    def _sample(self):
        self._shown("data", self.owed)
        if self._request():
            address, beats = self.taken[-1]
            for beat in range(beats):
                self.owed.append((self.clock + self.latency, address + beat * self.beat_bytes))


class WriteMemory(_Memory):
    """Answers a request ``latency`` clocks after its last beat, with 1 if its address is ``bad``.

    ``written``: ``{address: beat}``. A request's data must follow it ``lag`` clocks later and,
    from there on, never be waited for; ``lag`` None: it comes whenever it likes, even before.
    """

    def __init__(
        self, dut, beat_bytes, *, latency=1, pauses=None, waits=False, bad=(), lag=1, port="memory"
    ):
        self.beat_bytes, self.bad, self.lag = beat_bytes, set(bad), lag
        self.owed, self.answers = collections.deque(), collections.deque()
        self.words = collections.deque()  # before their request
        self.written = {}
        super().__init__(dut, ("request", "data", "done"), latency, pauses, waits, port)

    def _drive(self):
        self.lines["request"][2].value = int(not self._pause("request"))
        self.lines["data"][2].value = int(not self._pause("data"))
        self._show("done", self.answers)

    def _word(self, answer):
        return answer

    def _sample(self):
        self._shown("done", self.answers)
        if self.lag is not None:
            valid = int(self.lines["data"][1].value)
            assert self.owed or not valid, "data before its request"
            assert valid or not self.owed or self.clock < self.owed[0][0], "data is waited for"
        word = self._moved("data")
        if word is not None:
            self.words.append(word)
        if self._request():
            first, beats = self.taken[-1]
            for beat in range(beats):
                answer = int(first in self.bad) if beat == beats - 1 else None
                here = first + beat * self.beat_bytes
                self.owed.append((self.clock + (self.lag or 0), here, answer))
        while self.words and self.owed:
            _, address, answer = self.owed.popleft()
            self.written[address] = self.words.popleft()
            if answer is not None:
                self.answers.append((self.clock + self.latency, answer))

"""Reads PLAY_SETTINGS and checks their rules. The result stands two clocks after the last beat."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.replay.replay_state import state_shapes
from hw.shell.ports import read_port

__all__ = ["SettingsReader"]

_LARGEST = (1 << 16) - 1


class SettingsReader(wiring.Component):
    """Reads the settings of a PLAY, one command at a time.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1), address : In(64)
        ``start``, a pulse: read the settings at the byte ``address``, steady until ``done``.
    learns : In(1), capacity : In
        Whether experiences are stored, and places for them.
    reading : Out(1)
        The port is used.
    done : Out(1)
        A pulse; the outputs below are steady from then on, until the next start.
    failed : Out(1)
        Memory has failed a beat.
    broken : Out(1), byte : Out(range(64))
        A field breaks its rule; the first such field's byte.
    settings : Out(PLAY_SETTINGS)
    read : Out(read_port)
    """

    def __init__(self, config):
        self.config, width = config, config.engine.data_width
        capacity = state_shapes(config.replay, config.engine.beat_bytes)["capacity"]
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "learns": In(1),
                "capacity": In(capacity),
                **dict.fromkeys(("reading", "done", "failed", "broken"), Out(1)),
                "byte": Out(range(PLAY_SETTINGS.size)),
                "settings": Out(PLAY_SETTINGS.shape),
                "read": Out(read_port(width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, read, bits = self.config.engine.data_width, self.read, Value.cast(self.settings)
        beats = 8 * PLAY_SETTINGS.size // width
        left, asked = Signal(range(beats + 1)), Signal()
        m.d.comb += [
            read.request.p.address.eq(self.address),
            read.request.p.beats.eq(beats),
            read.request.valid.eq(self.reading & ~asked),
            read.data.ready.eq(self.reading),
        ]
        with m.If(self.start):
            m.d.sync += [self.reading.eq(1), asked.eq(0), left.eq(beats), self.failed.eq(0)]
        with m.If(read.request.valid & read.request.ready):
            m.d.sync += asked.eq(1)
        with m.If(read.data.valid & read.data.ready):
            m.d.sync += [
                bits.eq(Cat(bits, read.data.p.data)[width:]),
                self.failed.eq(self.failed | read.data.p.error),
                left.eq(left - 1),
                self.reading.eq(left != 1),
            ]
        # A clock for the rules.
        came = Signal()
        m.d.sync += [came.eq(self.reading), self.done.eq(came & ~self.reading)]

        s, play = self.settings, self.config.play
        room = self.learns & (s.n[:5] * play.environments > self.capacity)
        rules = {
            "period": (s.period == 0) | (s.period > _LARGEST),
            "iterations": s.iterations > _LARGEST,
            "n": (s.n == 0) | (s.n > play.longest) | room,
            "discount": s.discount > 1 << 31,
            "end": s.end > s.explore,
            "target_interval": s.target_interval == 0,
            "phase": s.phase >= s.period,
            "target_phase": s.target_phase >= s.target_interval,
            "window": s.window > 7,
        }
        broken = Signal(len(rules))
        m.d.sync += broken.eq(Cat(rules.values()))
        m.d.comb += self.broken.eq(reduce(or_, broken))
        for k, name in reversed([*enumerate(rules)]):
            with m.If(broken[k]):
                m.d.comb += self.byte.eq(PLAY_SETTINGS.offsets[name])
        return m

"""Units of a kernel that plays by themselves: what the small kernels of tests do not reach."""

import pytest
from amaranth import *
from learner.play.play_programs import SMALL
from learner.play.played import playing
from stream.resetting import driven

from hw.designs import DESIGNS
from hw.learner.play.experience_queue import ExperienceQueue
from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.learner.play.rings import EpisodeRing
from hw.learner.play.settings_reader import SettingsReader
from hw.learner.records import record_words
from hw.shell.core import LIGHTS

#: With the longest windows.
CONFIG = playing(environments=3, longest=16, capacity=64)


def test_a_record_that_waits_for_memory():
    """Before its write is asked for, and until it is answered."""
    ring = EpisodeRing(128)

    async def bench(ctx, _):
        assert ctx.get(ring.idle)
        ctx.set(ring.i.valid, 1)
        for _ in range(3):
            assert not ctx.get(ring.idle)
            await ctx.tick()
        ctx.set(ring.write.request.ready, 1)
        ctx.set(ring.write.data.ready, 1)
        assert ctx.get(ring.i.ready)
        await ctx.tick()
        ctx.set(ring.i.valid, 0)
        assert not ctx.get(ring.idle)
        ctx.set(ring.write.done.valid, 1)
        await ctx.tick()
        assert ctx.get(ring.idle)

    driven(ring, bench)


def test_records_that_no_answer_comes_for():
    """As many as are counted, 255; the next one waits for an answer."""
    ring = EpisodeRing(128)

    async def bench(ctx, _):
        ctx.set(ring.write.request.ready, 1)
        ctx.set(ring.write.data.ready, 1)
        ctx.set(ring.i.valid, 1)
        for _ in range(255):
            assert ctx.get(ring.i.ready)
            await ctx.tick()
        for answered in (0, 1):
            ctx.set(ring.write.done.valid, answered)
            assert not ctx.get(ring.i.ready) and not ctx.get(ring.write.request.valid)
            await ctx.tick()
        assert ctx.get(ring.i.ready)
        await ctx.tick()  # one more, and one answered: as many as before
        assert ctx.get(ring.write.request.valid)
        ctx.set(ring.i.valid, 0)
        for _ in range(254):
            assert not ctx.get(ring.idle)
            await ctx.tick()
        assert ctx.get(ring.idle)

    driven(ring, bench)


def test_the_last_beat_of_experiences():
    """Nobody takes it for some clocks: the queue is not empty until it has left."""
    queue = ExperienceQueue(SMALL)
    words = sum(count for _, count in record_words(SMALL.learner).values())

    async def bench(ctx, _):
        ctx.set(queue.keep, 1)
        ctx.set(queue.i.valid, 1)
        for number in range(words):
            ctx.set(queue.i.p.last, number == words - 1)
            await ctx.tick().until(queue.i.ready)
        ctx.set(queue.i.valid, 0)
        await ctx.tick().until(queue.settled)
        assert ctx.get(queue.count) == 1 and not ctx.get(queue.empty)
        ctx.set(queue.taking, 1)
        beats = 8 * 16 * queue.granules // SMALL.engine.data_width
        for number in range(beats):
            for _ in range(4):
                await ctx.tick()
            assert ctx.get(queue.o.valid) and not ctx.get(queue.empty), number
            ctx.set(queue.o.ready, 1)
            await ctx.tick()
            ctx.set(queue.o.ready, 0)
        assert ctx.get(queue.empty)

    driven(queue, bench)


def test_what_a_core_shows():
    """Acting and busy; the goal and the bar, if environments have begun."""
    core, shown = DESIGNS["dqn"].kernel(SMALL).core, {}
    core.show = lambda m, domain, **lights: shown.update(lights)
    units = core.elaborate(None).submodules
    lights, player, learner = Signal(LIGHTS), units.player, units.learner
    unit = Module()
    unit.d.comb += [lights[name].eq(value) for name, value in shown.items()]
    inputs = Cat(learner.acting, learner.control.busy, player.met, player.bar, player.begun)

    async def bench(ctx, _):
        for begun in (0, 1):
            for number in (0, 1, 2, 4, 8, 16, 32, 64, 127):
                ctx.set(inputs, number | begun << 7)
                assert ctx.get(lights.as_value()) == number & (127 if begun else 3)

    driven(unit, bench)


@pytest.mark.parametrize("n, capacity, learns, broken", [
    (16, 48, 1, False), (16, 47, 1, True), (16, 47, 0, False), (15, 45, 1, False),
    (15, 44, 1, True), (17, 64, 0, True), (32, 64, 1, True),
])  # fmt: skip
def test_the_longest_windows_and_the_capacity(n, capacity, learns, broken):
    reader, width = SettingsReader(CONFIG), CONFIG.engine.data_width
    names = [field.name for field in PLAY_SETTINGS.fields]
    values = dict.fromkeys(names, 0) | dict(period=1, target_interval=1, n=n)
    raw = int.from_bytes(PLAY_SETTINGS.pack([values[name] for name in names]), "little")

    async def bench(ctx, _):
        ctx.set(reader.capacity, capacity)
        ctx.set(reader.learns, learns)
        ctx.set(reader.read.request.ready, 1)
        ctx.set(reader.start, 1)
        await ctx.tick()
        ctx.set(reader.start, 0)
        ctx.set(reader.read.data.valid, 1)
        for low in range(0, 8 * PLAY_SETTINGS.size, width):
            ctx.set(reader.read.data.p.data, raw >> low & ((1 << width) - 1))
            await ctx.tick().until(reader.read.data.ready)
        ctx.set(reader.read.data.valid, 0)
        await ctx.tick().until(reader.done)
        assert not ctx.get(reader.failed) and ctx.get(reader.broken) == broken
        assert not broken or ctx.get(reader.byte) == PLAY_SETTINGS.offsets["n"]

    driven(reader, bench)

"""The reader of PLAY_SETTINGS by itself, at numbers that the small kernels of tests have not."""

import pytest
from learner.play.played import playing
from stream.resetting import driven

from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.learner.play.settings_reader import SettingsReader

CONFIG = playing(environments=3, longest=16, capacity=64)


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

"""reader: how many words each kind of pass fetches, and which are blank, of few samples or many."""

import pytest
from stream.resetting import driven

from hw.fixar.config import FixarConfig
from hw.fixar.plan import Kind, plan
from hw.fixar.walk.pass_table import PassTable
from hw.fixar.walk.reader import Reader


def fetched(config, passes):
    """``(fetches, those that are not blank)`` of each pass, or None where one does not end."""
    unit, found = Reader(config), []

    async def bench(ctx, _):
        ctx.set(unit.room, 1)
        for fields in passes:
            ctx.set(unit.pass_, fields)
            ctx.set(unit.start, 1)
            await ctx.tick()
            ctx.set(unit.start, 0)
            count = full = 0
            while ctx.get(unit.busy) and count < 10_000:
                count += 1
                full += not ctx.get(unit.fetch.blank)
                await ctx.tick()
            found.append(None if ctx.get(unit.busy) else (count, full))

    driven(unit, bench)
    return found


@pytest.mark.parametrize("side", [4, 8, 16])
@pytest.mark.parametrize("batch", [1, 2, 3, 9])
def test_every_pass_ends(side, batch):
    """A DW, whose groups have ``side`` words, never ended where a core had fewer samples than half
    of them."""
    config = FixarConfig(observation=3, action=2, hidden=(5, 9), batch=batch, cores=1, side=side)
    table, passes, expected = PassTable(config), [], []
    for number, each in enumerate(plan(config)):
        fields = dict(table._row(number, each)["pass_"])
        fields |= dict(words=batch, error_words=batch)
        groups = -(-batch // side)
        if each.kind == Kind.DW:
            fields["inner"] = groups
            tiles = fields["outer"] * fields["columns"]
            expected.append((tiles * groups * side, tiles * batch))
        else:
            words = fields["outer"] * fields["inner"] * batch
            expected.append((words, words))
        passes.append(fields)
    assert fetched(config, passes) == expected

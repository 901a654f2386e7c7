"""pass_table: every pass of the plan, with the shifts and the cut of what it reads and writes;
reader: how many words each pass fetches, and which are blank, of few samples and of many."""

import numpy as np
import pytest
from clocks import Clocks
from fixar.kernels import KINDS, SMALL
from stream.resetting import driven

from hw.fixar.config import FixarConfig
from hw.fixar.plan import Kind, plan
from hw.fixar.precision import slots
from hw.fixar.walk.pass_table import PassTable
from hw.fixar.walk.reader import Reader


def test_passes(simulate, tmp_path):
    """Codes of activations are cut, those of errors never; a shift is that of its layer."""
    config, rng, clocks = SMALL.learner, np.random.default_rng(0), Clocks()
    counts = dict(zip(("activation", "error"), slots(config), strict=True))
    for cut in (0, 1, 31, 255):
        for half_x, half_e in KINDS.values():
            shifts = {name: rng.permutation(16)[:count].tolist() for name, count in counts.items()}
            samples, pairs = (int(n) for n in rng.integers(1, 9, 2))
            steady = dict(half_activations=half_x, half_errors=half_e, activation_cut=cut)
            steady |= dict(samples=samples, pairs=pairs)
            for name, numbers in shifts.items():
                steady |= {f"{name}_shifts__{k}": shift for k, shift in enumerate(numbers)}
            for number, each in enumerate(plan(config)):
                clock = clocks.add(number=number, **steady)
                clocks.expect(clock + PassTable.LATENCY, pass_=expected(each, steady, shifts))
            for _ in range(PassTable.LATENCY):
                clocks.add(**steady)
    clocks.run(simulate, PassTable(config), tmp_path)


def expected(each, steady, shifts):
    """The fields of PASS that depend on batch and precision."""
    samples, pairs = steady["samples"], steady["pairs"]
    back = each.kind == Kind.DX
    own = shifts["error" if back else "activation"]
    fields = dict(
        half_x=steady["half_activations"],
        half_e=steady["half_errors"],
        words=pairs if steady["half_activations"] else samples,
        error_words=pairs if steady["half_errors"] else samples,
        shift=own[each.source_slot],
        seed_shift=shifts["error"][len(SMALL.learner.hidden)],
        frame_shift=shifts["activation"][0],
    )
    if each.kind == Kind.DW:  # its results are no cells
        return fields | dict(error_shift=shifts["error"][each.error_slot])
    cut = 0 if back else steady["activation_cut"]
    return fields | dict(code_shift=own[each.result_slot], code_cut=cut)


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

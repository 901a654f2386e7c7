"""PeArray and drain together: outputs of a fully connected layer, bit for bit and clock by clock.

Long: the quick tests check each of the two alone, and both in a compute unit.
"""

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from clocks import Clocks
from fa3c.numbers import as_int

from hw.fa3c.config import SLOTS, Fa3cConfig
from hw.fa3c.plan import RETURN
from hw.fa3c.rows import ROW
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import Drain
from hw.fa3c.unit.output_rows import OutputRows
from sim.model.nn.product import add_bias, product_float

_BETWEEN = {"sums", "place", "done"}


class LayerTop(wiring.Component):
    """A ``PeArray`` whose sums go to a ``Drain``."""

    def __init__(self, config):
        self.config = config
        array, drain = PeArray(config).signature.members, Drain(config).signature.members
        self.array = {name: member for name, member in array.items() if name not in _BETWEEN}
        self.drain = {name: member for name, member in drain.items() if name not in _BETWEEN}
        super().__init__({**self.array, **self.drain})

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = PeArray(self.config)
        m.submodules.drain = drain = Drain(self.config)
        for unit, members in ((array, self.array), (drain, self.drain)):
            for name, member in members.items():
                inside, outside = getattr(unit, name), getattr(self, name)
                if member.is_signature:
                    wiring.connect(m, inside, wiring.flipped(outside))
                elif member.flow == In:
                    m.d.comb += inside.eq(outside)
                else:
                    m.d.comb += outside.eq(inside)
        m.d.comb += [getattr(drain, name).eq(getattr(array, name)) for name in _BETWEEN]
        return m


@pytest.mark.long
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_fully_connected(simulate, tmp_path, lanes):
    """Inputs of some samples, a chunk after the other, over the config's partial sums."""
    config, rng, clocks = Fa3cConfig(lanes=lanes), np.random.default_rng(lanes), Clocks()
    samples, partials = 4, config.partials
    chunks = 5 * partials
    assert partials * (lanes + samples) >= RETURN
    x = rng.standard_normal((samples, chunks * lanes)).astype(np.float32)
    weights = rng.standard_normal((chunks * lanes, ROW)).astype(np.float32)
    bias = rng.standard_normal(ROW).astype(np.float32)

    steady = dict(biases__payload=as_int(bias), biases__valid=1, o__ready=1, half=0)
    for chunk in range(chunks):
        for lane in range(lanes):
            clocks.add(row=as_int(weights[chunk * lanes + lane]), load=1 << lane, **steady)
        turn, partial = divmod(chunk, partials)
        for sample in range(samples):
            sent = clocks.add(
                swap=sample == 0,
                words=x[sample, chunk * lanes : (chunk + 1) * lanes],
                slot=sample + partial * SLOTS // partials,
                first=turn == 0,
                last=turn == 4,
                valid=1,
                **steady,
            )
    sent += PeArray.LATENCY  # the clock of the last ``done``
    steps = OutputRows.steps_of(config)
    first, pace = sent + Drain.latency_of(config) + steps * (partials - 1), steps * partials
    leaves = [first + pace * n for n in range(samples)]
    while len(clocks.inputs) <= leaves[-1]:
        clocks.add(**steady)
    clocks.at(sent, group__valid=1, group__payload=dict(count=samples, relu=1, split=1))

    y = product_float(x, weights, 1, partials * lanes)
    transposed = np.ascontiguousarray(y.T)
    add_bias(transposed, bias)
    for clock in range(sent, leaves[-1] + 1):
        clocks.expect(clock, o__valid=clock in leaves)
    for clock, row in zip(leaves, transposed.T, strict=True):
        clocks.expect(clock, o__payload=as_int(np.where(row < 0, np.float32(0), row)))
    clocks.run(simulate, LayerTop(config), tmp_path)

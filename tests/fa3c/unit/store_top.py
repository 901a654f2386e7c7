"""A Store in front of the feature buffer from which it takes its rows."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from hw.fa3c.unit.feature_buffer import FeatureBuffer, feature_write
from hw.fa3c.unit.mover import Store

__all__ = ["StoreTop"]


class StoreTop(wiring.Component):
    """A Store without ``request`` and ``data``; ``fill`` writes the feature buffer."""

    def __init__(self, config):
        self.config = config
        self.store = Store(config)
        members = dict(self.store.signature.members)
        del members["request"], members["data"]
        super().__init__({**members, "fill": In(stream.Signature(feature_write(config)))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = self.store
        m.submodules.buffer = buffer = FeatureBuffer(self.config)
        wiring.connect(m, store.request, buffer.reads[3].request)
        wiring.connect(m, buffer.reads[3].data, store.data)
        wiring.connect(m, wiring.flipped(self.fill), buffer.writes[1])
        wiring.connect(m, wiring.flipped(self.runs), store.runs)
        wiring.connect(m, store.local, wiring.flipped(self.local))
        wiring.connect(m, store.host, wiring.flipped(self.host))
        m.d.comb += self.stored.eq(store.stored)
        return m

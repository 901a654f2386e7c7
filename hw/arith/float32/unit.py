"""What all float32 units share: config, streams, estimate, and the handshake of a pipeline."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.config import ConfigBase, check_range
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Float32Config", "Float32Unit", "free_running"]


@dataclass(frozen=True, kw_only=True)
class Float32Config(ConfigBase):
    """Config of a float32 unit.

    tag_width : bits of a tag that travels beside the operands; 0 for none.
    """

    tag_width: int = 0

    def __post_init__(self):
        check_range("tag_width", self.tag_width, 0, 4096)


class Float32Unit(wiring.Component):
    """Base of the float32 units: stream ``i`` of operands, stream ``o`` of results.

    A subclass names its ``OPERANDS``, each the 32 bits of a binary32, its ``RESULTS`` with their
    widths, and its ``LATENCY`` in clocks. The tag of an item of ``i`` comes out unchanged beside
    its results; results come in the order of the operands.

    Parameters
    ----------
    config : Float32Config

    Attributes
    ----------
    i_layout, o_layout : data.StructLayout
        Payloads of the streams: operands and tag, results and tag.
    """

    OPERANDS = ("a", "b")
    RESULTS = {"result": WIDTH}
    INTERVAL = 1

    def __init__(self, config=None):
        self.config = config or Float32Config()
        tag = {"tag": self.config.tag_width}
        self.i_layout = data.StructLayout({**dict.fromkeys(self.OPERANDS, WIDTH), **tag})
        self.o_layout = data.StructLayout({**self.RESULTS, **tag})
        super().__init__(
            {
                "i": In(stream.Signature(self.i_layout)),
                "o": Out(stream.Signature(self.o_layout)),
            }
        )

    def last_stages(self, m, valid, tag, clocks):
        """Brings ``valid`` and ``tag`` to the stream ``o`` through ``clocks`` registers each.

        Returns the enable of these registers, a signal: 1 if ``o`` is empty or taken. It is also
        the ready of the stage before.
        """
        advance = Signal()
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            self.o.valid.eq(delay(m, valid, clocks, name="valid", enable=advance, reset=True)),
            self.o.p.tag.eq(delay(m, tag, clocks, name="tag", enable=advance)),
        ]
        return advance


def free_running(m, cls, a, b, *, name):
    """A unit of the class ``cls`` without handshake in ``m``, for new operands every clock.

    Returns the 32 bits of its result, which belongs to the operands ``a`` and ``b`` of
    ``cls.LATENCY`` clocks ago.
    """
    m.submodules[f"{name}_unit"] = unit = SharedModule(cls)
    result = Signal(WIDTH, name=name)
    m.d.comb += [
        unit.i.payload.eq(Cat(a, b)),
        unit.i.valid.eq(1),
        unit.o.ready.eq(1),
        result.eq(unit.o.p.result),
    ]
    return result

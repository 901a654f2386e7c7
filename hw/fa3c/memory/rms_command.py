"""Commands of RMSProp's module."""

from amaranth.lib import data, enum

from hw.arith.float32.format import WIDTH
from hw.fa3c.memory.rms_unit import RMS_COEFFICIENTS

__all__ = ["RMS_COMMAND", "RmsKind"]


class RmsKind(enum.Enum, shape=2):
    """What a command does."""

    UPDATE = 0  #: theta and g of a layer, with a gradient
    SYNC = 1  #: theta to a snapshot
    LOAD = 2  #: words to theta or g
    STORE = 3  #: theta or g to words


#: A command. ``unit``, ``layer`` and the coefficients are an UPDATE's, ``snapshot`` a SYNC's;
#: ``moments`` has LOAD and STORE move g, else they move theta.
RMS_COMMAND = data.StructLayout(
    {
        "kind": RmsKind,
        "unit": 2,
        "layer": 3,
        **dict.fromkeys(RMS_COEFFICIENTS.members, WIDTH),
        "snapshot": 5,
        "moments": 1,
    }
)

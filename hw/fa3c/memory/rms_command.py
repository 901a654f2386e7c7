"""Commands of ``Rms``, the module that executes RMSProp."""

from amaranth.lib import data, enum

from hw.arith.float32.format import WIDTH
from hw.fa3c.config import MOST_SNAPSHOTS
from hw.fa3c.memory.rms_unit import RMS_COEFFICIENTS

__all__ = ["RMS_COMMAND", "RmsKind"]


class RmsKind(enum.Enum, shape=2):
    """What a command of ``Rms`` does."""

    UPDATE = 0  #: change theta and squares of a layer by a gradient
    SYNC = 1  #: copy theta to a snapshot
    LOAD = 2  #: write words to theta or squares
    STORE = 3  #: read theta or squares as words


#: A command. UPDATE has ``unit`` (whose gradient), ``layer`` and the coefficients; SYNC has
#: ``snapshot``. LOAD and STORE move squares if ``squares`` is 1, else theta.
RMS_COMMAND = data.StructLayout(
    {
        "kind": RmsKind,
        "unit": 3,
        "layer": 3,
        **dict.fromkeys(RMS_COEFFICIENTS.members, WIDTH),
        "snapshot": range(MOST_SNAPSHOTS),
        "squares": 1,
    }
)

"""What a pass of the table (``hw.fa3c.plan``) is made of: nests of loops, and what they mean."""

from enum import Enum
from typing import NamedTuple

__all__ = ["BATCH", "Kind", "Nest", "Pass", "Segments", "Source", "Taps"]

#: A count that is the task's: its agents, or its samples.
BATCH = 0


class Kind(Enum):
    """What a pass is."""

    FW = 0
    GC = 1
    BW = 2


class Source(Enum):
    """Where the rows that stand in the PEs come from."""

    PARAMETERS = 0  #: a row a lane, as in memory
    TRANSPOSED = 1  #: a row a lane, through the TLU
    ERRORS = 2  #: one row of the feature buffer for all lanes


class Nest(NamedTuple):
    """Loops, outermost first: how often each turns, and how far an address goes at each turn."""

    counts: tuple
    strides: tuple
    base: int = 0


class Taps(NamedTuple):
    """Levels 5 and 3 of BW: error rows y and tap rows ky with y * stride + ky = the input row.

    The first of input row 0 is y = ky = 0; of the next, ky + 1 (``later``) if that is below the
    stride or y is the last error row, else ky = 0 and y + 1 (``wrapped``). Within an input row,
    ky + stride and y - 1 (level 3's stride) until the kernel or the map ends. ``later`` and
    ``wrapped`` are what an address does at level 5.
    """

    kernel: int
    stride: int
    height: int
    fill_later: int
    fill_wrapped: int
    rows_later: int
    rows_wrapped: int


class Segments(NamedTuple):
    """Runs of parameter rows in the order in which a pass wants them in its buffer: ``rows`` at
    ``base + a * strides[0] + b * strides[1]`` for every b of every a. ``resident``: the pass reads
    them in any order, and often; else once, as they come."""

    base: int
    counts: tuple
    strides: tuple
    rows: int
    resident: bool


class Pass(NamedTuple):
    """One pass: what it sweeps, holds, fills and drains.

    layer : its number
    words : Nest of 7 levels; the address of a chunk in the line
    slots : strides of the slot, 7 levels
    partials : chunk n of level 1 goes to partial sum n mod partials
    hold : clocks of a sweep at least, so that slots return late enough
    last_slots : turns of level 0 where level 4 is in its last turn (0: as the others)
    bias : GC: where levels 4 and 5 are in their last turns, one more slot, whose words are 1
    line_level : the level at whose turn a new line begins
    fill : Nest of 6 levels, 6 to 2 and the rows of a line: rows of the feature buffer
    last_rows : rows of a line where level 4 is in its last turn (0: as the others)
    source, rows : Nest of 7 levels, 6 to 1 and the rows side by side: rows of the parameter buffer,
        counted from the pass's first, or of the feature buffer. FW has a row more at the end of
        each round of levels 3 to 0, the biases.
    segments : of the parameters, or None
    drain : Nest of 4 levels, 6 to 4 and the outputs of a group: rows of the feature buffer; None:
        rows leave for the gradient queue, ``lanes`` a slot and one for the bias
    relu : FW: negative outputs become 0. BW has errors of inputs that are 0 become 0.
    """

    kind: Kind
    layer: int
    words: Nest
    slots: tuple
    partials: int
    hold: int
    last_slots: int
    bias: bool
    line_level: int
    fill: Nest
    last_rows: int
    source: Source
    rows: Nest
    segments: Segments | None
    drain: Nest | None
    relu: bool
    taps: Taps | None

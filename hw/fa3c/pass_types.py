"""Types of the table of passes (``hw.fa3c.plan``): a pass and its loop nests."""

from enum import Enum
from typing import NamedTuple

__all__ = ["BATCH", "Kind", "Nest", "Pass", "Segments", "Source", "Taps"]

#: Stands for a count that depends on the task: its agents, or its samples.
BATCH = 0


class Kind(Enum):
    """The computation of a pass for a layer (``hw.fa3c.plan``)."""

    FW = 0  #: its outputs
    GC = 1  #: its gradient
    BW = 2  #: the errors of its inputs


class Source(Enum):
    """Where the rows that stand in the PEs come from."""

    PARAMETERS = 0  #: a row for each lane, as in memory
    TRANSPOSED = 1  #: a row for each lane, transposed by the TLU
    ERRORS = 2  #: one row of the feature buffer for all lanes
    COLUMNS = 3  #: 16 rows, as in memory: row r has the words of PE r of every lane


class Nest(NamedTuple):
    """A loop nest that makes addresses.

    counts : turns of each loop, outermost first; 0 (``BATCH``) stands for the task's count
    strides : what each further turn of a loop adds to the address
    base : the address in the first turn of all loops
    """

    counts: tuple
    strides: tuple
    base: int = 0


class Taps(NamedTuple):
    """Which error rows meet an input row of BW. Level 5 of the loops (``hw.fa3c.plan``) goes from
    input row to input row, level 3 through the pairs of error row and tap row that meet it.

    Error row y reaches input row i through tap row ky if y * stride + ky == i. Level 3 visits these
    pairs from the largest y down: ky grows by ``stride`` while y falls by 1, until the kernel or
    the map ends. The first pair of input row 0 is y = ky = 0. If the first pair of an input row is
    (y, ky), that of the next input row is (y, ky + 1) if ky + 1 < stride or y is the last error row
    (``later``), else (y + 1, 0) (``wrapped``).

    kernel, stride : of the layer
    height : error rows
    fill_later, fill_wrapped : what level 5 adds to the address of ``Pass.fill`` in either case
    rows_later, rows_wrapped : what level 5 adds to the address of ``Pass.rows`` in either case
    """

    kernel: int
    stride: int
    height: int
    fill_later: int
    fill_wrapped: int
    rows_later: int
    rows_wrapped: int


class Segments(NamedTuple):
    """The runs of parameter rows that a pass needs, in the order of its parameter buffer.

    base, counts, strides : for each a < counts[0], for each b < counts[1], a run begins at row
        ``base + a * strides[0] + b * strides[1]``
    rows : rows of a run
    resident : whether the pass reads the rows in any order and repeatedly; otherwise it reads each
        row once, in order
    turns : how often each run comes, one time after the other
    """

    base: int
    counts: tuple
    strides: tuple
    rows: int
    resident: bool
    turns: int = 1

    @property
    def total(self):
        """Rows of all runs."""
        return self.counts[0] * self.counts[1] * self.turns * self.rows


class Pass(NamedTuple):
    """One pass: the words that it sweeps, the rows that it holds, the lines that it fills, the
    outputs that it drains. Loops have the levels 6 (outermost) to 0 of ``hw.fa3c.plan``; a slot
    is the place of a sum in every PE.

    kind, layer : the computation, and its layer
    words : Nest of 7 levels: the address of a chunk in the line
    slots : for each of the 7 levels, what a further turn adds to the number of the slot, from 0
    partials : chunk n of level 1 goes to partial sum n mod partials
    hold : least clocks of a sweep, so that its slots do not return too early
    last_slots : turns of level 0 while level 4 is in its last turn; 0: as many as in its others
    bias : true only in GC: the last turns of levels 4 and 5 have one slot more, for the bias, whose
        words are 1
    line_level : a new line begins at each turn of this level
    fill : Nest of 6 levels (6 to 2, then the rows of a line): a row of the feature buffer
    last_rows : rows of a line while level 4 is in its last turn; 0: as many as in its others
    source : where the rows that the PEs hold come from
    rows : Nest of 7 levels (6 to 1, then the rows of the lanes): a row of the parameter buffer,
        counted from the first of the pass, or of the feature buffer. FW reads one row more, the
        biases, at the end of each round of levels 3 to 0. With COLUMNS, a level before the last
        takes the same rows for each chunk of their 16 words.
    segments : the parameters that the pass reads, or None
    drain : Nest of 4 levels (6 to 4, then the outputs of a group): a row of the feature buffer.
        None: the sums are a gradient and leave for the gradient queue, ``lanes`` rows a slot and
        one row for the bias
    relu : in FW, negative outputs become 0; in BW, the errors of inputs that are 0 become 0
    taps : Taps of BW of a convolution, else None
    fold : (turns, stride): after so many turns of level 0 ``words`` begin anew, ``stride`` chunks
        later; None: they go on
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
    fold: tuple | None = None

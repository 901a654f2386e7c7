"""Operating points: what a figure was taken with, and the comparison of ours with a paper's."""

from dataclasses import dataclass, field, fields

from hw.errors import UsageError

__all__ = ["COLUMNS", "HOW", "INSIDE", "Comparison", "Point"]

#: What may be in a figure beside the arithmetic that it is about.
INSIDE = ("draw", "inference", "host", "launch", "transfers")
#: How a figure was obtained: by a formula, as the peak of the units, or measured.
HOW = ("formula", "peak", "measured")
#: Words of a reason, at most.
WORDS = 5


@dataclass(frozen=True, kw_only=True)
class Point:
    """A figure with its operating point.

    name : whose it is, such as ``dqn`` or a paper's name.
    value : the figure.
    arithmetic : of numbers, such as binary32; "not named", if the source does not say it.
    bits : their width.
    batch : samples, or what takes their place.
    sharing : the fanout, or what is shared by how many.
    inside : a tuple of names in INSIDE that the figure includes.
    how : one of HOW.

    UsageError if a field is missing.
    """

    name: str
    value: float
    arithmetic: str
    bits: str
    batch: str
    sharing: str
    inside: tuple
    how: str

    def __post_init__(self):
        for each in fields(self):
            if getattr(self, each.name) in (None, ""):
                raise UsageError(f"{each.name} of {self.name!r} must be given, not missing")
        if not isinstance(self.inside, tuple) or not {*self.inside} <= {*INSIDE}:
            raise UsageError(f"inside must be of {', '.join(INSIDE)}, not {self.inside!r}")
        if self.how not in HOW:
            raise UsageError(f"how must be one of {', '.join(HOW)}, not {self.how!r}")

    def cell(self, column):
        """The text of a column."""
        value = getattr(self, column)
        return (", ".join(value) or "nothing more") if column == "inside" else value

    def unlike(self, other):
        """The list of COLUMNS that differ."""
        return [name for name in COLUMNS if getattr(self, name) != getattr(other, name)]


#: The columns of an operating point.
COLUMNS = tuple(each.name for each in fields(Point) if each.name not in ("name", "value"))


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row of README's table.

    paper : its short name.
    kernel : the kernel that is compared.
    what : the figure, in words.
    ours : our best figure.
    same : ours at the paper's own operating point; None if ``ours`` is at that.
    theirs : the paper's figure.
    reasons : ``{column: reason}`` where ``same`` still differs from ``theirs``, each of at most
        five words.
    more : further figures of ours, which have no counterpart in the paper.
    made : commit and day of the measurement of ``ours`` and ``same``, of the older one.

    UsageError if ours differs from the paper's without a second value, if a column differs without
    a reason, or if a reason is too long or explains nothing.
    """

    paper: str
    kernel: str
    what: str
    ours: Point
    theirs: Point
    same: Point | None = None
    reasons: dict = field(default_factory=dict)
    more: tuple = ()
    made: str = ""

    def __post_init__(self):
        if self.same is None and self.ours.unlike(self.theirs):
            columns = ", ".join(self.ours.unlike(self.theirs))
            raise UsageError(f"{self.paper} must have a value at its own point, for {columns}")
        unlike = self.nearest.unlike(self.theirs)
        for column in COLUMNS:
            reason = self.reasons.get(column)
            if (column in unlike) != (reason is not None):
                state = "differs" if column in unlike else "is equal"
                raise UsageError(f"{self.paper} must have a reason where {column} {state}")
            if reason is not None and not 0 < len(reason.split()) <= WORDS:
                raise UsageError(f"reason must be of at most {WORDS} words, not {reason!r}")
        if {*self.reasons} - {*COLUMNS}:
            raise UsageError(f"reasons must be of {', '.join(COLUMNS)}, not {self.reasons!r}")

    @property
    def nearest(self):
        """Our figure at the paper's own point, or the nearest that exists."""
        return self.ours if self.same is None else self.same

"""The learner's commands at and beyond every limit, worked out by hand.

The kernel has 90 places, two lanes, batches of up to 16, and beats of 16 bytes. An experience is 10
words, 3 granules, 48 bytes; an observation and an action are one, 16 bytes. The sections of a kind
of parameters are 448 bytes.
"""

from limits import Case, counted, footprint, highest, lowest, padding, rule, unused

__all__ = ["BEFORE", "CASES", "FRESH", "GOOD", "TOO_MANY_BEATS"]

OPERANDS, COUNT, FIELD = 2, 5, 6
BATCH, RECORD, IMAGE, UNLOADED = 32, 33, 36, 37

#: A command that is taken after ``BEFORE``: twenty experiences, the memory is full, and all loaded.
GOOD = {
    "SETUP": {"capacity": 20, "granules": 3, "priority": 9},
    "INSERT": {"count": 20},
    "LEARN": {"count": 1, "stratum_width": 2**48, "batch": 2},
    "TRAIN": {"count": 1, "batch": 2},
    "LOAD": {"count": 1792, "sets": 15},
    "STORE": {"count": 1792, "sets": 15},
    "ACT": {"count": 1},
}
_FULL = ("SETUP", {}), ("INSERT", {})
BEFORE = dict.fromkeys(("LEARN", "TRAIN", "LOAD", "STORE", "ACT"), (*_FULL, ("LOAD", {})))


def _records(granules):
    """Experiences that are not the learner's."""
    before = ("SETUP", {"granules": granules}), ("INSERT", {}), ("LOAD", {})
    return rule("LEARN", 1, (RECORD, 0), [], [{}], before)


def _image(command):
    """Of LOAD and STORE alike."""
    one, two = {"sets": 2, "count": 448}, {"sets": 9, "count": 896}
    wrong = [{"sets": 9, "count": n} for n in (0, 448, 832, 895, 897, 960, 1344, 1792)]
    return [
        # The sections refuse another number as well. One is not taken for 1792 where it is cut.
        Case(
            command,
            "count high",
            (IMAGE, 0),
            ({"count": 1792},),
            tuple({"count": n} for n in (1793, 1856, 2**16 + 1792, 2**31 + 1792, 2**32 - 1)),
        ),
        lowest(command, "sets", (FIELD, 16), 1, count=448),
        highest(command, "sets", (FIELD, 16), 15, beyond=(17,)),
        padding(command, 20),
        rule(command, 0, (IMAGE, 0), [one, two], [*wrong, {"sets": 2, "count": 896}]),
    ]


#: Nine items are 72 bytes, and those of an iteration begin on a multiple of 64 like their
#: experiences, 432 bytes, which end at 192 + 3 * 448.
_NINE = {"count": 3, "inserts": 9, "experiences": 192}

CASES = [
    *counted("LEARN", outcome=(OPERANDS, 0)),
    highest("LEARN", "stratum_width", (FIELD, 16), 2**48, "u64"),
    # One is none of the lanes' multiples.
    Case("LEARN", "batch low", (BATCH, 0), ({"batch": 2},), ({"batch": 0},)),
    highest("LEARN", "batch", (BATCH, 0), 16, beyond=(18, 32)),
    highest("LEARN", "alpha", (FIELD, 28), 65535),
    highest("LEARN", "epsilon", (FIELD, 32), 65535),
    # The capacity refuses 65535 as well. 65536 is not taken for 0.
    Case(
        "LEARN",
        "inserts high",
        (COUNT, 0),
        ({"inserts": 20},),
        tuple({"inserts": n} for n in (65535, 65536, 65537, 2**31, 2**32 - 1)),
    ),
    highest("LEARN", "given", (FIELD, 44), 2),
    padding("LEARN", 52),
    rule(
        "LEARN",
        0,
        (BATCH, 0),
        [{"batch": 2}, {"batch": 4}, {"batch": 14}],
        [{"batch": 1}, {"batch": 3}, {"batch": 15}],
    ),
    rule("LEARN", 1, (RECORD, 0), [{}], []),
    *(_records(granules) for granules in (0, 1, 2, 4)),
    rule("LEARN", 2, (COUNT, 0), [{"inserts": 20}], [{"inserts": 21}]),
    *footprint("LEARN", "source", 192, 16, count=3),
    # Two experiences are 96 bytes, and those of an iteration begin on a multiple of 64.
    *footprint("LEARN", "experiences", 384, 16, first=192, count=3, inserts=2),
    *footprint("LEARN", "experiences", 0, 16, first=64, inserts=0),
    *footprint("LEARN", "priorities", 384, 16, first=1536, given=1, **_NINE),
    *footprint("LEARN", "priorities", 384, 16, first=1536, given=2, **_NINE),
    *footprint("LEARN", "priorities", 0, 16, first=128, inserts=1, experiences=64, given=0),
    *footprint("LEARN", "destination", 192, 16, count=3),
    *counted("TRAIN", outcome=(OPERANDS, 0)),
    Case("TRAIN", "batch low", (BATCH, 0), ({"batch": 2},), ({"batch": 0},)),
    highest("TRAIN", "batch", (BATCH, 0), 16, beyond=(18, 32)),
    padding("TRAIN", 28),
    rule("TRAIN", 0, (BATCH, 0), [{"batch": 2}, {"batch": 14}], [{"batch": 1}, {"batch": 15}]),
    *footprint("TRAIN", "source", 64, 16, first=128, count=1),  # behind a batch of 128 bytes
    # An experience with its header is 64 bytes, an item 8: lists begin on a multiple of 64 too.
    *footprint("TRAIN", "batches", 1152, 16, first=192, count=3, batch=6),
    *footprint("TRAIN", "destination", 192, 16, count=3),
    *footprint("TRAIN", "td_errors", 192, 16, buffer="results", first=192, count=3, batch=8),
    *footprint("TRAIN", "td_errors", 384, 16, buffer="results", first=192, count=3, batch=10),
    *unused("LOAD", "destination"),
    *_image("LOAD"),
    *footprint("LOAD", "source", 448, 16, sets=2, count=448),
    *unused("STORE", "source"),
    *_image("STORE"),
    *footprint("STORE", "destination", 448, 16, sets=2, count=448),
    lowest("ACT", "count", (COUNT, 0), 1),
    highest("ACT", "count", (COUNT, 0), 16, beyond=(18, 32)),
    padding("ACT", 16),
    *footprint("ACT", "source", 48, 16, count=3),
    *footprint("ACT", "destination", 80, 16, count=5),
]


def _loaded(*sets):
    sizes = {1: 448, 2: 448, 4: 448, 8: 448, 5: 896, 15: 1792}
    sizes |= {15 - kind: 1344 for kind in (1, 2, 4, 8)}
    return *_FULL, *(("LOAD", {"sets": bits, "count": sizes[bits]}) for bits in sets)


#: Each on a kernel of its own: what has been loaded stays so.
FRESH = [
    rule("LEARN", 3, (UNLOADED, 0), [], [{}], _loaded()),
    *(rule("LEARN", 3, (UNLOADED, 0), [], [{}], _loaded(15 - kind)) for kind in (1, 2, 4, 8)),
    rule("LEARN", 3, (UNLOADED, 0), [{}], [], _loaded(1, 2, 4, 8)),
    rule("LEARN", 3, (UNLOADED, 0), [{}], [], _loaded(15)),
    *(rule("TRAIN", 1, (UNLOADED, 0), [], [{}], _loaded(15 - kind)) for kind in (1, 2, 4, 8)),
    rule("TRAIN", 1, (UNLOADED, 0), [{}], [], _loaded(15)),
    rule("STORE", 1, (UNLOADED, 0), [], [{}, {"sets": 1, "count": 448}], _loaded()),
    rule(
        "STORE",
        1,
        (UNLOADED, 0),
        [{"sets": 1, "count": 448}, {"sets": 4, "count": 448}, {"sets": 5, "count": 896}],
        [
            *({"sets": kind, "count": 448} for kind in (2, 8)),
            *({"sets": kind, "count": 896} for kind in (3, 6, 9, 12)),
            {},
        ],
        _loaded(5),
    ),
    rule("ACT", 0, (UNLOADED, 0), [], [{}], _loaded()),
    rule("ACT", 0, (UNLOADED, 0), [], [{}], _loaded(14)),
    rule("ACT", 0, (UNLOADED, 0), [{}], [], _loaded(1)),
]

#: A request has at most 16777215 beats. 88 experiences are 4224 bytes, 264 beats: 16777200 of them
#: are more than a buffer of 8 MB, which holds them. 90 are 4320, which end on 4352, 272 beats:
#: 16777232 are too many for any buffer.
TOO_MANY_BEATS = Case(
    "LEARN",
    "experiences beats",
    (COUNT, 0),
    ({"count": 63550, "inserts": 88, "operands_bytes": 2**23, "outcome": (OPERANDS, 0)},),
    (
        {"count": 61681, "inserts": 90, "operands_bytes": 2**23},
        {"count": 65535, "inserts": 90, "operands_bytes": 2**32 - 1},
    ),
    (("SETUP", {"capacity": 90}), ("INSERT", {}), ("LOAD", {})),
)

"""Commands of ``replay`` at and beyond every limit, worked out by hand.

Kernel ``narrow``: 37 places, priorities of 16 bits, beats of 16 bytes. ``wide``: 3000 places,
priorities of 24 bits, beats of 64 bytes.
"""

from limits import Case, counted, footprint, highest, lowest, padding, rule, unused

__all__ = ["BEFORE", "CASES", "GOOD"]

OPERANDS, RESULTS, COUNT, FIELD, BUFFER = 2, 3, 5, 6, 7
RESTORE, FILL, EMPTY, PRIORITY = 16, 17, 18, 20

#: A command that is taken after ``BEFORE``: five experiences of 16 bytes in a memory for ten.
GOOD = {
    "SETUP": {"capacity": 10, "granules": 1, "priority": 9},
    "SEED": {"state": [1, 2, 3, 4]},
    "RESTORE": {},
    "INSERT": {"count": 1},
    "SET": {"count": 1},
    "UPDATE": {"count": 1},
    "SAMPLE": {"count": 1, "stratum_width": 2**48},
    "FIND": {"count": 1},
    "GET": {"count": 1},
}
_SETUP, _INSERT = ("SETUP", {}), ("INSERT", {"count": 5})
BEFORE = dict.fromkeys(GOOD, (_SETUP, _INSERT))


#: Five experiences of nothing.
_BARE = ("SETUP", {"granules": 0}), _INSERT


def _pages(command, capacity, granules, pages):
    """A memory of this size needs ``pages`` pages of 4096 bytes."""
    fields = {"capacity": capacity, "granules": granules}
    at, beyond = ({"storage_pages": number} for number in (pages, pages - 1))
    if command == "SETUP":
        return Case(
            command, "storage room", (BUFFER, 0), ({**fields, **at},), ({**fields, **beyond},)
        )
    before = ("SETUP", fields), _INSERT
    return Case(command, "storage room", (BUFFER, 0), (at,), (beyond,), before)


def _transfers(command, position, before, **at):
    """At most 4194303 granules: 2049 x 2047; 2048 x 2048 are one more."""
    return [
        rule(
            command, position, (COUNT, 0), [{"count": 2049, **at}], [{"count": 2050}], before(2047)
        ),
        rule(
            command, position, (COUNT, 0), [{"count": 2047, **at}], [{"count": 2048}], before(2048)
        ),
    ]


def _batches(granules):
    """A batch has a granule more for each experience."""
    return (("SETUP", {"granules": granules - 1}),)


def _beyond_32_bits(command, place, **fields):
    """64 bytes that end behind the last that a size can count."""
    size = "results_bytes" if place == "destination" else "operands_bytes"
    error = RESULTS if place == "destination" else OPERANDS
    fields |= {place: 2**32 - 64, size: 2**32 - 1}
    return Case(command, f"{place} room", (error, 0), (), (fields,))


NARROW = [
    *unused("SETUP", "count", "source", "destination"),
    lowest("SETUP", "capacity", (FIELD, 16), 2),
    highest("SETUP", "capacity", (FIELD, 16), 37),
    highest("SETUP", "granules", (FIELD, 20), 4095),
    lowest("SETUP", "priority", (FIELD, 24), 1),
    highest("SETUP", "priority", (FIELD, 24), 65535),
    padding("SETUP", 28),
    _pages("SETUP", 37, 7, 2),  # 4144 bytes
    _pages("SETUP", 32, 8, 1),  # 4096
    _pages("SETUP", 37, 4095, 592),  # 2424240
    *unused("SEED", "count", "source", "destination"),
    padding("SEED", 48),
    *unused("RESTORE", "count", "source", "destination"),
    highest("RESTORE", "maximum", (FIELD, 24), 65535),
    padding("RESTORE", 28),
    rule(
        "RESTORE",
        0,
        (RESTORE, 0),
        [{"position": 9, "fill": 10}, {"position": 0, "fill": 10}],
        [
            {"position": 10, "fill": 10},
            {"position": 11, "fill": 11},
            {"position": 2**31, "fill": 10},
        ],
    ),
    rule(
        "RESTORE",
        1,
        (RESTORE, 0),
        [{"position": 9, "fill": 9}, {"position": 0, "fill": 0}],
        [{"position": 8, "fill": 9}, {"position": 0, "fill": 1}, {"position": 9, "fill": 8}],
    ),
    lowest("INSERT", "count", (COUNT, 0), 1),
    # The capacity refuses 65535 as well. 65537 is not taken for 1.
    Case(
        "INSERT",
        "count high",
        (COUNT, 0),
        ({"count": 10},),
        tuple({"count": n} for n in (65535, 65536, 65537, 2**31 + 1, 2**32 - 1)),
    ),
    *unused("INSERT", "destination"),
    highest("INSERT", "alpha", (FIELD, 16), 65535),
    highest("INSERT", "epsilon", (FIELD, 20), 65535),
    highest("INSERT", "given", (FIELD, 24), 2),
    highest("INSERT", "priority", (FIELD, 32), 65535),
    padding("INSERT", 36),
    rule("INSERT", 0, (COUNT, 0), [{"count": 10}], [{"count": 11}]),
    rule(
        "INSERT",
        2,
        (PRIORITY, 0),
        [{"given": 0, "priority": 1}, {"given": 1, "priority": 0}, {"given": 2, "priority": 0}],
        [{"given": 1, "priority": 1}, {"given": 2, "priority": 65535}],
    ),
    *footprint("INSERT", "source", 48, 16, count=3),
    *footprint("INSERT", "source", 0, 16, count=3, before=_BARE),
    *footprint("INSERT", "priorities", 32, 16, count=3, given=1, before=_BARE),  # 24 bytes
    *footprint("INSERT", "priorities", 32, 16, count=3, given=2, before=_BARE),
    *footprint("INSERT", "priorities", 0, 16, count=3, given=0, before=_BARE),
    _beyond_32_bits("INSERT", "priorities", count=8, given=1),
    _pages("INSERT", 37, 7, 2),
    *counted("SET"),
    *unused("SET", "destination"),
    padding("SET", 16),
    *footprint("SET", "source", 32, 16, count=3),  # 24 bytes
    _beyond_32_bits("SET", "source", count=8),
    *counted("UPDATE"),
    *unused("UPDATE", "destination"),
    highest("UPDATE", "alpha", (FIELD, 16), 65535),
    highest("UPDATE", "epsilon", (FIELD, 20), 65535),
    padding("UPDATE", 24),
    *footprint("UPDATE", "source", 32, 16, count=3),
    *counted("SAMPLE", outcome=(FILL, 0)),
    *unused("SAMPLE", "source"),
    highest("SAMPLE", "stratum_width", (FIELD, 16), 2**48, "u64"),
    highest("SAMPLE", "beta", (FIELD, 24), 65535),
    padding("SAMPLE", 28),
    *_transfers("SAMPLE", 0, _batches, outcome=(FILL, 0)),
    rule("SAMPLE", 1, (FILL, 0), [{"count": 5}], [{"count": 6}]),
    # Two places are filled by decree and have no priority; alpha 0 then gives one of them 1.0.
    rule(
        "SAMPLE",
        2,
        (EMPTY, 0),
        [],
        [{"count": 2}],
        (_SETUP, ("RESTORE", {"position": 2, "fill": 2})),
    ),
    rule(
        "SAMPLE",
        2,
        (EMPTY, 0),
        [{"count": 2}],
        [],
        (_SETUP, ("RESTORE", {"position": 2, "fill": 2}), ("UPDATE", {})),
    ),
    *footprint("SAMPLE", "destination", 96, 16, count=3),
    _beyond_32_bits("SAMPLE", "destination", count=2),
    _pages("SAMPLE", 37, 7, 2),
    *counted("FIND", outcome=(RESULTS, 0)),
    highest("FIND", "reserved", (FIELD, 16), 0, "u64"),
    highest("FIND", "beta", (FIELD, 24), 65535),
    padding("FIND", 28),
    *_transfers("FIND", 0, _batches, outcome=(RESULTS, 0)),
    *footprint("FIND", "source", 32, 16, count=3),
    *footprint("FIND", "destination", 96, 16, count=3),
    _pages("FIND", 37, 7, 2),
    *counted("GET"),
    highest("GET", "reserved", (FIELD, 16), 0, "u64"),
    highest("GET", "beta", (FIELD, 24), 65535),
    padding("GET", 28),
    *footprint("GET", "source", 32, 16, count=3),
    *footprint("GET", "destination", 48, 16, count=3),
]

#: What its sizes show: beats of 64 bytes, and transfers of an INSERT at their limit.
WIDE = [
    highest("SETUP", "capacity", (FIELD, 16), 3000),
    highest("SETUP", "priority", (FIELD, 24), 16777215),
    # An experience of 80 bytes begins on a beat: 128 bytes.
    _pages("SETUP", 33, 5, 2),
    _pages("INSERT", 33, 5, 2),
    _pages("SAMPLE", 33, 5, 2),
    _pages("FIND", 33, 5, 2),
    _pages("SETUP", 3000, 4095, 48000),
    highest("RESTORE", "maximum", (FIELD, 24), 16777215),
    highest("INSERT", "priority", (FIELD, 32), 16777215),
    *_transfers(
        "INSERT",
        1,
        lambda granules: (("SETUP", {"granules": granules, "capacity": 3000}),),
        outcome=(OPERANDS, 0),
    ),
    *footprint("INSERT", "source", 64, 64, count=3),  # 48 bytes
    *footprint("INSERT", "priorities", 64, 64, count=3, given=1, before=_BARE),  # 24
    *footprint("SET", "source", 64, 64, count=3),
    *footprint("UPDATE", "source", 64, 64, count=3),
    *footprint("SAMPLE", "destination", 128, 64, count=3),  # 96
    *footprint("FIND", "source", 64, 64, count=3),
    *footprint("FIND", "destination", 128, 64, count=3),
    *footprint("GET", "source", 64, 64, count=3),
    *footprint("GET", "destination", 64, 64, count=3),  # 48
]

CASES = [("narrow", case) for case in NARROW] + [("wide", case) for case in WIDE]

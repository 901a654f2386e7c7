"""Lists of items for ``hw.replay.item_reader``, and what must come of them, item by item."""

import math
import struct

import numpy as np

from hw.replay.commands import Given, Opcode
from hw.replay.priority import PriorityConfig
from hw.replay.records import Error
from hw.replay.tree.operations import Operation, request_layout
from sim.model.replay.priority import priority

__all__ = ["ALPHA", "EPSILON", "KINDS", "ItemList"]

ALPHA, EPSILON = 1 << 15, 3  # alpha is 1
INFINITY, NAN = 0x7F800000, 0x7FC00001

#: What an INSERT was given, or nothing, of commands with a list.
KINDS = [
    (Opcode.SET, Given.NOTHING),
    (Opcode.UPDATE, Given.NOTHING),
    (Opcode.FIND, Given.NOTHING),
    (Opcode.GET, Given.NOTHING),
    (Opcode.INSERT, Given.PRIORITIES),
    (Opcode.INSERT, Given.TD_ERRORS),
]


def bits(number):
    return int.from_bytes(struct.pack("<f", number), "little")


class ItemList:
    """``bad``: positions of items that break a rule; others break none."""

    def __init__(self, config, rng, opcode, given, count, bad=()):
        self.config, self.limit, self.rng = config, config.priority_limit, rng
        self.past = (1 << request_layout(config)["value"].width) - 1  # no total is larger
        self.opcode, self.given = opcode, given
        self.fill = rng.choice([1, config.capacity, rng.randint(1, config.capacity)])
        self.inserts = opcode == Opcode.INSERT
        self.is_td = opcode == Opcode.UPDATE or given == Given.TD_ERRORS
        self.is_raw = opcode == Opcode.SET or given == Given.PRIORITIES
        self.items = [self.item(k in bad) for k in range(count)]

    def item(self, bad):
        """``(index, value)``, at a limit or somewhere; a bad one breaks a rule of its list."""
        rng = self.rng
        index = rng.choice([0, self.fill - 1, rng.randrange(self.fill)])
        value = rng.choice([0, 1, self.limit, rng.randint(0, self.limit)])
        if self.is_td:
            # Beyond the format too: the priority is clipped.
            value = bits(rng.choice([0.0, -1.0, 1e30, rng.gauss(0, 3), self.limit * 2.0]))
        if self.opcode == Opcode.FIND:
            target = rng.choice([0, self.past - 1, self.past, self.past + 1, rng.getrandbits(10)])
            return target, rng.choice([0, 0, 0, 1, rng.getrandbits(32)])
        if self.inserts:
            index = rng.getrandbits(32)  # is not read
        if not bad:
            return index, value
        wrong = []
        if not self.inserts:
            beyond = [self.fill, 1 << self.config.index_width, 1 << 31, (1 << 32) - 1]
            wrong += [(k, value) for k in beyond]
        if self.is_raw:
            wrong += [(index, k) for k in (self.limit + 1, 1 << 31, (1 << 32) - 1)]
        if self.is_td:
            wrong += [(index, k) for k in (INFINITY, INFINITY | 1 << 31, NAN, (1 << 32) - 1)]
        return rng.choice(wrong)

    def error(self, index, value, failed):
        if failed:
            return Error.AXI
        if self.opcode in (Opcode.SET, Opcode.UPDATE, Opcode.GET) and index >= self.fill:
            return Error.INDEX
        if self.is_raw and value > self.limit:
            return Error.PRIORITY
        finite = math.isfinite(struct.unpack("<f", value.to_bytes(4, "little"))[0])
        return Error.TD if self.is_td and not finite else Error.NONE

    def expected(self, k, place, failed):
        """``(request, error, saturated)``: of the fields of a request those that are read."""
        index, value = self.items[k]
        error, saturated = self.error(index, value, failed), False
        if error and not self.inserts:
            return dict(operation=Operation.FIND, value=self.past), error, False
        if self.opcode == Opcode.FIND:
            target = min(index | value << 32, self.past)
            return dict(operation=Operation.FIND, value=target), error, False
        if self.opcode == Opcode.GET:
            return dict(operation=Operation.GET, index=index), error, False
        if self.inserts:
            index = place
        if error:
            value = 0
        elif self.is_td:
            value, saturated = self.priority(value)
        return dict(operation=Operation.SET, index=index, value=value), error, saturated

    def priority(self, td):
        """Of a TD error, and whether it was clipped."""
        config = PriorityConfig(
            priority_width=self.config.priority_width,
            priority_fraction=self.config.priority_fraction,
        )
        raw, clipped, _ = priority(np.array([td], np.uint32), ALPHA, EPSILON, config)
        return int(raw[0]), bool(clipped[0])

    def words(self, parts):
        """Beats of ``parts`` items; what lies behind the last item is none."""
        words = [index | value << 32 for index, value in self.items]
        words += [self.rng.getrandbits(64) for _ in range(-len(words) % parts)]
        return [
            sum(word << 64 * j for j, word in enumerate(words[k : k + parts]))
            for k in range(0, len(words), parts)
        ]

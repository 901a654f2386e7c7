"""hw.replay.tree.forwarding_memory equals a memory without a pipeline, for all time (PDR)."""

import pytest
from formal.forwarding_memory_top import ForwardingTop
from formal.prove import Refuted, planted
from later import later

from hw.replay.tree.forwarding_memory import ForwardingMemory

WIDTH = 1


def top(memory, depth, style):
    return ForwardingTop(memory(width=WIDTH, depth=depth, style=style, clear_width=3))


@pytest.mark.parametrize(
    "depth, style",
    [later(1, "block"), later(2, "distributed"), (3, "distributed"), (3, "block"), (2, "ultra")],
)
def test_memory(prove, depth, style):
    prove(top(ForwardingMemory, depth, style))


@pytest.mark.parametrize(
    "style, old, new",
    [
        later("distributed", "newest([1, 2], 1)", "newest([1], 1)"),
        ("block", "range(2, stage + 2)", "range(2, stage + 1)"),
        later("ultra", "range(2, stage + 2)", "range(3, stage + 2)"),
        later("block", "write[distance] & (address", "(address"),
        later("ultra", "for number, distance in reversed(", "for number, distance in ("),
        later("block", "ram.write_enable.eq(write[-1] | clear)", "ram.write_enable.eq(write[-1])"),
        later("distributed", "(self.clear_address < self.depth)", "1"),
    ],
    ids=["last", "oldest", "newest", "bubble", "order", "clear", "past_the_end"],
)
def test_finds(prove, style, old, new):
    memory = planted("hw.replay.tree.forwarding_memory", old, new).ForwardingMemory
    with pytest.raises(Refuted, match="does not hold: .*word_is_of_all_before"):
        prove(top(memory, 2, style), engine="bmc", depth=12)

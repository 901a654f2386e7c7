"""Sums by trees of adders: of numbers side by side, and of a window of numbers that come one a
clock.

A window of any length takes ``log2`` additions for each number, and nothing waits; its latency is
``interleaved_sum_latency``.
"""

from amaranth import *

from hw.stream.delay import delay

__all__ = ["adder_tree", "interleaved_sum"]
__all__ += ["interleaved_sum_latency"]


def adder_tree(m, arithmetic, values, *, name):
    """Sum of the list ``values``: neighbours are added first, then neighbouring sums, and so on. A
    last one without a neighbour waits, which is what adding the arithmetic's zero would give. The
    latency is ``log2(length)`` additions of ``arithmetic``, rounded up. Registers and adders go to
    ``m``; their names begin with ``name``."""
    while len(values) > 1:
        count = len(values)
        alone = [
            delay(m, value, arithmetic.add_latency, name=f"{name}_{count}_late")
            for value in values[count & ~1 :]
        ]
        values = [
            arithmetic.add(m, *values[k : k + 2], name=f"{name}_{count}_{k}")
            for k in range(0, count & ~1, 2)
        ]
        values += alone
    return values[0]


def _levels(count):
    return (count - 1).bit_length()


def interleaved_sum_latency(arithmetic, count):
    """Clocks from a window's last number to its sum; 0 for a window of one number."""
    return _levels(count) * arithmetic.add_latency


def interleaved_sum(m, arithmetic, value, position, count, stride, *, name, shape=None):
    """Sum of a window of ``count`` numbers v_0, v_1, ... that come ``stride`` clocks apart, one
    after the other at ``value``.

    Numbers are added in a balanced tree over the window, padded with zeros in front of v_0 to a
    power of two. Level k + 1 is::

        s(q) at level k + 1 = s(q) at level k + (s(q - 2**k) at level k, or zero if q < 2**k)

    where s(q) at level 0 is v_q, so that ``s(count - 1)`` of the last level is the sum. ``stride``
    windows may be interleaved, each with a number in every ``stride``-th clock; any number of
    clocks may lie between windows.

    m : Module, which gets the registers and adders (``<name>_...``)
    arithmetic : Arithmetic
    value : Value, a number of the arithmetic, or in fixed point any signed sum
    position : Value, the q of the v_q that ``value`` is in this clock; ignored between two windows
    count, stride : int, numbers of a window, and clocks from one number to the next
    shape : ShapeLike of the sums in fixed point; by default they get one bit more with every level

    Returns
    -------
    (Value, int)
        The sum, and its latency in clocks. The sum is complete in the clock that is the latency
        after the window's last number; in other clocks it is partial.
    """
    for level in range(_levels(count)):
        reach = 1 << level
        late = Signal(name=f"{name}_late_{level}")
        m.d.comb += late.eq(position >= reach)
        late = delay(m, late, level * arithmetic.add_latency, name=f"{name}_late_{level}")
        earlier = delay(m, value, reach * stride, name=f"{name}_earlier_{level}")
        earlier = Mux(late, earlier, Const(arithmetic.zero, value.shape()))
        value = arithmetic.add(m, value, earlier, name=f"{name}_level_{level}", shape=shape)
    return value, interleaved_sum_latency(arithmetic, count)

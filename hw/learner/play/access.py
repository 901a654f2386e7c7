"""How SAVE and RESUME reach the words that environments, windows and episodes hold."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["access_port"]


def access_port():
    """The signature of a port for words of a table, as the unit with the table sees it.

    Members
    -------
    active : In(1)
        The port is used, while the unit is idle.
    row, word : In(7), In(16)
        Place of a word in its table; steady while ``active``, but for the clock after ``write``.
    step, place : In(5), In(8)
        Of a word of windows: the step in its row, the oldest is 0, and its place in the step.
    write : In(1), value : In(32)
        ``write``, a pulse: the word becomes ``value``.
    before : In([2] of 32)
        The words before ``value``, the last one first.
    held : Out(32)
        The word, from the clock after its place came on.
    """
    return wiring.Signature(
        {
            "active": In(1),
            "row": In(7),
            "word": In(16),
            "step": In(5),
            "place": In(8),
            "write": In(1),
            "value": In(32),
            "before": In(data.ArrayLayout(32, 2)),
            "held": Out(32),
        }
    )

"""Resources of queues, width changers and delays; memories have their own in ``hw.stream.ram``."""

from hw.area import area
from hw.estimate import selector, times, together
from hw.stream.ram import SHALLOW, Ram, shallow_memory

__all__ = ["delay", "pack", "queue", "split", "transpose", "unpack"]

#: Clocks from which on registers in a row, without reset, are shift registers of lookup tables; and
#: the most that one table holds.
_SHIFT, _LONGEST = 3, 32


def delay(width, clocks):
    """A ``delay`` of ``width`` bits by ``clocks`` clocks, without reset, if nothing reads the
    registers but the last."""
    if clocks < _SHIFT:
        return area("stream.delay", bits=width * clocks)
    return area("stream.delay.long", tables=width * -(-clocks // _LONGEST), bits=width * clocks)


def queue(width, depth, style="auto"):
    """A ``Queue`` of words of ``width`` bits."""
    pointers, level = 2 * (depth - 1).bit_length(), depth.bit_length()
    if depth == 1:
        return area("stream.queue.single", width=width)
    if depth <= SHALLOW:
        # A pointer that wraps before its last number is compared.
        wrap = 0 if depth & (depth - 1) == 0 else pointers
        # On an ECP5, of a memory of two or three cells in depth: one has no enables, four as many
        # as pointers have values.
        cut = 1 < -(-depth // 16) < 4
        control = area("stream.queue.shallow", level=level, pointers=pointers, wrap=wrap, cut=cut)
        return together([control, shallow_memory(width, depth)])
    control = area("stream.queue.deep", level=level, pointers=pointers)
    return together([control, Ram.estimate(width, depth, style)])


def pack(granule_width, input_granules, output_granules):
    """A ``Pack`` with these arguments."""
    word, size = output_granules * granule_width, output_granules
    # Granules from which each granule of stage 1 is chosen, and their masks.
    moved = input_granules + size - 1
    sources = [min(j + 1, moved - j, input_granules, size) for j in range(moved)]
    return area(
        "stream.pack",
        tables=sum(-(-each // 2) for each in sources) * granule_width,
        moved=sum(each - 1 for each in sources) * granule_width,
        # Begun, spare and shown words are each one of two.
        chosen=word * (2 if size == 1 else 3),
        kept=3 * word + moved * granule_width,
        counters=(size - 1).bit_length() + (2 * size).bit_length(),
    )


def unpack(granule_width, word_granules):
    """An ``Unpack`` with these arguments."""
    word, size = word_granules * granule_width, word_granules
    chosen = word * max(2, 2 * selector(size) + 1)
    index = (size - 1).bit_length()
    return area("stream.unpack", chosen=chosen, moved=word * (size - 1), word=word, index=index)


def split(width, parts, count_width=32):
    """A ``Split`` with these arguments."""
    # Of many parts, yosys chooses by pairs.
    chosen = width * (selector(parts) if parts <= 16 else parts // 2 - 1)
    index = (parts - 1).bit_length()
    return area("stream.split", chosen=chosen, width=width, count=count_width, index=index)


def transpose(width, size):
    """A ``Transpose`` with these arguments: two rotators, and a memory a lane."""
    bits, levels = width * size, (size - 1).bit_length()
    rotators = area("stream.transpose", bits=bits, moved=bits * levels, index=size.bit_length())
    return together([rotators, times(size, shallow_memory(width, 2 * size))])

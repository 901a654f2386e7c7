"""Words between the layers of networks that make the slowest layer fastest.

A layer with words of V numbers in and W numbers out has V W multipliers a lane and data path: the
unroll factor of CF'22 3.2.3 and PEARL VI-A.
"""

from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

from hw.errors import UsageError
from hw.learner.block.config import MAX_WORD, MEMORY_CLOCKS
from hw.suggest import written

__all__ = ["SIZES", "NetworkWidths", "check_words", "fit", "interleave_of", "pace_of"]

#: Numbers of a word among which ``fit`` chooses. Words that meet experiences or the loss are powers
#: of two, so that a number's place in its word is the low bits of its number.
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


class NetworkWidths(NamedTuple):
    """A network whose words are sought.

    widths : numbers of its inputs, of each hidden layer, and of its outputs.
    source : the name of the network whose outputs are its last inputs, or None.
    own : number of its other inputs.
    """

    widths: tuple
    source: str | None
    own: int

    def input_words(self, position, word):
        """Words of layer ``position``'s inputs."""
        width, own = self.widths[position], self.own
        if position or self.source is None:
            return -(-width // word)
        return -(-own // word) + -(-(width - own) // word)

    def most(self, position):
        """The largest word between layers ``position - 1`` and ``position``: its numbers, rounded
        up to a power of two. Of inputs, only numbers of experiences count."""
        width = self.widths[position] if position else self.own
        return min(MAX_WORD, 1 << max(0, width - 1).bit_length())

    def is_end(self, position):
        """Whether a word there must be a power of two."""
        return position in (0, len(self.widths) - 1)


def interleave_of(arithmetic, input_words, output_words):
    """The ``interleave`` of a BlockShape: in binary32 as many words' sums are kept apart as the
    loop of a sum takes, 1 in fixed point, and where a sum takes one word."""
    if arithmetic.saturates or input_words == 1:
        return 1
    least = -(-(arithmetic.add_latency + MEMORY_CLOCKS) // output_words)
    most = 1 << (input_words - 1).bit_length()
    return min(most, 1 << (least - 1).bit_length())


def pace_of(arithmetic, input_words, output_words):
    """Clocks from a super-sample to the next: one for each block, and as many as a gradient needs
    to be read, added to and written."""
    together = interleave_of(arithmetic, input_words, output_words)
    blocks = -(-input_words // together) * together * output_words
    return max(blocks, arithmetic.add_latency + MEMORY_CLOCKS)


def check_words(plans, words):
    """Raises UsageError, which is a ValueError, unless ``words``, ``{name: tuple}``, are words that
    the networks of ``plans``, ``{name: NetworkWidths}``, can have. The error names the nearest that
    are."""
    wrong = _wrong(plans, words)
    if wrong:
        raise UsageError(f"{wrong}; the nearest such words are {_text(_nearest(plans, words))}")


def _wrong(plans, words):
    """The first broken rule of ``words`` as a text, or None."""
    for name, plan in plans.items():
        given = words[name]
        if len(given) != len(plan.widths):
            return (
                f"words of {name} must be {len(plan.widths)} numbers: of its inputs, and of the "
                f"outputs of each layer, not {given!r}"
            )
        for position, word in enumerate(given):
            if type(word) is not int or word not in _allowed(plan, position):
                end = ", a power of two," if plan.is_end(position) else ""
                return (
                    f"words of {name} must be 1..{plan.most(position)}{end} at place {position}, "
                    f"not {word!r}"
                )
    for name, plan in plans.items():
        given = words[name]
        if plan.source and given[0] != words[plan.source][-1]:
            return (
                f"words of {name} must begin with {plan.source}'s last word, "
                f"{words[plan.source][-1]}, not with {given[0]!r}"
            )
    for one, other in _together(plans):
        if words[one] != words[other]:
            source = plans[one].source
            return (
                f"words of {other} must be those of {one}, {words[one]!r}, as both take {source}'s "
                f"outputs, not {words[other]!r}"
            )
    return None


def _together(plans):
    """Pairs of networks of equal widths that take the outputs of the same network."""
    return [
        (one, other)
        for one, other in combinations(plans, 2)
        if plans[one].source and plans[one] == plans[other]
    ]


def _text(words):
    """``words`` as ``--set words=`` takes them."""
    lists = tuple(words.values())
    return written(lists if len(lists) > 1 else lists[0])


def _nearest(plans, words):
    """Words that all networks can have, each as near to that in ``words`` as can be, by ratio."""

    def near(plan, position, wanted):
        wanted = max(1, wanted) if isinstance(wanted, int) else 1
        return min(_allowed(plan, position), key=lambda x: (max(x, wanted) / min(x, wanted), x))

    result = {}
    for name, plan in plans.items():
        given = [*words[name]][: len(plan.widths)]
        given += [1] * (len(plan.widths) - len(given))
        result[name] = [near(plan, position, word) for position, word in enumerate(given)]
    for one, other in _together(plans):
        result[other] = [*result[one]]
    for source in {plan.source for plan in plans.values() if plan.source}:
        takers = [name for name, plan in plans.items() if plan.source == source]
        first = min(result[source][-1], *(result[name][0] for name in takers))
        result[source][-1] = first
        for name in takers:
            result[name][0] = first
    return result


def _allowed(plan, position):
    """Words that a network can have at ``position``."""
    sizes = range(1, plan.most(position) + 1)
    if plan.is_end(position):
        return [size for size in sizes if size & (size - 1) == 0]
    return [*sizes]


@lru_cache(maxsize=1024)  # a search asks again and again
def fit(plans, *, multipliers, arithmetic):
    """``{name: words}`` of networks, a tuple of ``(name, NetworkWidths)``: the words that make the
    slowest layer fastest, with at most ``multipliers`` multipliers a lane in each layer. Ties
    prefer fewer multipliers in all, then fewer clocks of all layers in all."""
    plans, best = dict(plans), None
    joined = {plan.source for plan in plans.values() if plan.source}
    for shared in product(*(_choices(plans, source, multipliers) for source in joined)):
        ends = dict(zip(joined, shared, strict=True))
        options = dict(multipliers=multipliers, arithmetic=arithmetic)
        given = {
            name: (plan, ends.get(plan.source), ends.get(name)) for name, plan in plans.items()
        }
        pace = max(_fastest(*each, **options) for each in given.values())
        found = {name: _fewest(*each, pace=pace, **options) for name, each in given.items()}
        key = (pace, *map(sum, zip(*(key for key, _ in found.values()), strict=True)))
        key += tuple(-word for _, words in found.values() for word in words)
        if best is None or key < best[0]:
            best = key, {name: words for name, (_, words) in found.items()}
    return best[1]


def _choices(plans, source, multipliers):
    """Words that outputs of the network ``source`` and inputs of its takers can share."""
    takers = [plan for plan in plans.values() if plan.source == source]
    words = {*_allowed(plans[source], len(plans[source].widths) - 1)}
    words = words.intersection(*({*_allowed(taker, 0)} for taker in takers))
    return sorted(word for word in words if word <= multipliers)


def _sizes(plan, position, first, last):
    if position == 0 and first:
        return (first,)
    if position == len(plan.widths) - 1 and last:
        return (last,)
    return tuple(size for size in _allowed(plan, position) if size in SIZES)


def _layers(plan, first, last, multipliers, arithmetic):
    """For each layer, ``{(word in, word out): clocks}`` of those it can have."""
    result = []
    for position in range(len(plan.widths) - 1):
        outputs, pairs = plan.widths[position + 1], {}
        for taken in _sizes(plan, position, first, last):
            for given in _sizes(plan, position + 1, first, last):
                if taken * given <= multipliers:
                    words = plan.input_words(position, taken), -(-outputs // given)
                    pairs[taken, given] = pace_of(arithmetic, *words)
        result.append(pairs)
    return result


def _fastest(plan, first, last, **options):
    """The least clocks of the slowest layer over all words."""
    reached = None
    for pairs in _layers(plan, first, last, **options):
        following = {}
        for (taken, given), clocks in pairs.items():
            before = 0 if reached is None else reached.get(taken)
            if before is not None:
                slowest = max(before, clocks)
                following[given] = min(slowest, following.get(given, slowest))
        reached = following
    return min(reached.values())


def _fewest(plan, first, last, *, pace, **options):
    """``((multipliers, clocks), words)``, the cheapest words such that no layer takes more than
    ``pace`` clocks."""
    reached = None
    for pairs in _layers(plan, first, last, **options):
        following = {}
        for (taken, given), clocks in pairs.items():
            before = ((0, 0), (taken,)) if reached is None else reached.get(taken)
            if before is not None and clocks <= pace:
                (used, total), words = before
                found = (used + taken * given, total + clocks), (*words, given)
                if given not in following or _key(found) < _key(following[given]):
                    following[given] = found
        reached = following
    return min(reached.values(), key=_key)


def _key(found):
    """Of equals, the widest words come first."""
    costs, words = found
    return (*costs, *(-word for word in words))

"""Checks the words of a granule against their rules: ``word_rules`` in hardware."""

from amaranth import *

from hw.learner.records import FINITE, WORDS, observation_granules, record_granules, word_rules

__all__ = ["has_wrong_word"]


def has_wrong_word(config, position, granule, acting=None):
    """A combinational value: 1 if a word of ``granule`` breaks its rule (``word_rules``). Words
    after the end of the experience have no rule.

    Parameters
    ----------
    config : LearnerConfig
    position : Value
        Position of the granule in its experience, from 1 on. Position 0 is the HEADER, which is
        always right.
    granule : Value, 128 bits
    acting : Value or None
        1 if the granule belongs to an observation for ACT. Its positions begin at 1 too, and each
        of its words must be finite. None: all granules belong to experiences.
    """
    words, wrong = dict(enumerate(word_rules(config))), []
    last = observation_granules(config)
    positions = range(1, 1 + record_granules(config))
    for k in range(WORDS):
        word = granule.word_select(k, 32)
        there = {g: words[w] for g in positions if (w := WORDS * (g - 1) + k) in words}
        for rule in dict.fromkeys(there.values()):
            if rule.largest == FINITE:
                # The other positions are fewer.
                beyond = [position == g for g in (0, *positions) if there.get(g) != rule]
                if acting is not None and WORDS * (last - 1) + k >= config.observation:
                    beyond.append(acting & (position == last))
                wrong.append(word[23:31].all() & ~Cat(beyond).any())
            else:
                bits = word[:31] if rule.signed else word
                ones = (~rule.largest & rule.largest + 1).bit_length() - 1  # at its lower end
                here = Cat(position == g for g, each in there.items() if each == rule).any()
                beyond = bits[ones:] > rule.largest >> ones
                wrong.append(beyond & here & ~(0 if acting is None else acting))
    return Cat(wrong).any()

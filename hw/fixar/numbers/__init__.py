"""From sums to numbers, from numbers to codes of 16 bits, and the ranges of numbers.

Read ``rounding.py`` (one number), ``round_and_encode.py`` (a sum: shifted, rounded, relu),
``coder.py`` (codes of cells, a lane a clock), ``encode.py`` (a number of the batch); ``lanes.py``,
``tanh_tail.py`` and ``tanh_slope.py`` (the actor's outputs, and errors through them); and
``ranges.py`` (lowest and highest).
"""

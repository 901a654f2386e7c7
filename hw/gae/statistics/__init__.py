"""Mean and deviation of rewards and values: exact sums, correctly rounded results.

Read ``sums.py`` (count, sum, sum of squares as integers), ``quotient.py`` (division, a bit a
clock), ``mean_deviation.py`` (the two results of one set of sums), and ``statistics.py``, which
joins them.
"""

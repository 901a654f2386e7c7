"""A core, around its array: cells, words to the array, and what becomes of its sums.

Read ``cells.py`` (what is kept), ``feed.py`` (words to the array), ``schedule.py`` (where a sum
belongs), ``existing.py`` (whose samples it is of), ``results.py`` (sums to cells), ``tails.py`` and
``output_errors.py`` (what goes lane by lane at the networks' outputs), and ``aap.py``, which joins
these.
"""

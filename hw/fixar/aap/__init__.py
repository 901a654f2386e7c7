"""A core around its array: memories of cells, words to the array, and the way of its sums.

Read ``cells.py`` (the memories of cells), ``feed.py`` (words to the array), ``schedule.py`` (where
a sum belongs), ``sample_mask.py`` (which samples exist), ``result_writer.py`` (sums to cells),
``actor_outputs.py`` and ``output_errors.py`` (what the networks' outputs need, lane by lane), and
``aap.py``, which joins these.
"""

"""Parameters in card memory, and RMSProp, which updates them there (FA3C 4.2.3).

Read ``gradient_queue.py`` (rows of a gradient, which wait), ``rms_unit.py`` (the formula, one
parameter a clock), and ``row_update.py`` (rows of sixteen).
"""

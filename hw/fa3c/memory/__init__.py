"""Parameters in card memory, and RMSProp, which updates them there (FA3C 4.2.3).

Read ``gradient_queue.py`` (rows of a gradient, which wait), ``rms_unit.py`` (the formula, one
parameter a clock), ``row_update.py`` (rows of sixteen), ``run_walk.py`` (which rows, as requests),
then ``rms_command.py``, ``rms.py``, which joins these, and ``rms_cycles.py``, its clocks.
"""

"""Parameters in card memory, and RMSProp, which updates them there (FA3C 4.2.3).

Read ``gradient_queue.py`` (the rows of a gradient wait there for RMSProp), ``rms_unit.py`` (the
formula, one parameter a clock), ``row_update.py`` (rows of sixteen parameters), ``run_walk.py``
(requests for many rows), then ``rms_command.py``, ``rms.py``, which joins the units above, and
``update_clocks.py``, which computes the clocks of an UPDATE.
"""

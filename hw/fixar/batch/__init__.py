"""A batch on its way to the cores: records to numbers in cells, and its TD errors.

Read ``frame.py`` (features of a cell), ``intake_walk.py`` and ``intake.py`` (records to cells),
``td_errors.py`` (TD errors of all cores), and ``samples.py`` around them.
"""

"""The kernel ``gae``: advantages and rewards-to-go (HEPPO); ``docs/gae.md`` is its page.

Read ``commands.py`` and ``records.py``, ``layouts.py`` (a slot: one time step of every row),
``core.py``, then the folders that a number passes: ``intake``, ``array``, and ``statistics`` beside
them. ``standardize.py`` makes codes of numbers, or squares for the statistics. ``output.py`` writes
the results. ``estimate.py`` counts resources.
"""

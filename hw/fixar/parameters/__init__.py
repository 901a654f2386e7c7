"""FIXAR's parameters: where they lie, how tiles of them leave, how they are updated, and moved.

Read ``layouts.py`` (what comes and goes), ``memories.py``, ``tile_loader.py`` (tiles for the
arrays), ``sum_addresses.py`` (where gradients come), ``gradient_sum.py`` and ``weight_update.py``
(an optimizer for each weight of a word), ``image.py`` (LOAD and STORE), and ``parameters.py``,
which joins these.
"""

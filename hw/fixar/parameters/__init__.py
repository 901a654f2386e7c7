"""FIXAR's parameters: their memories, their tiles for the arrays, their update, LOAD and STORE.

Read ``layouts.py`` (ports), ``memories.py``, ``tile_loader.py`` (tiles for the arrays),
``sum_addresses.py`` (where gradients come), ``gradient_sum.py`` and ``weight_update.py`` (an
optimizer for each weight of a word), ``image.py`` (LOAD and STORE), and ``parameters.py``, which
joins these.
"""

"""A compute unit, from its memories to its array of PEs.

Read ``rows.py`` (where rows of 16 words lie), ``feature_buffer.py`` (feature maps on
chip), ``parameter_buffer.py`` (parameters, read ahead), ``mover.py`` (rows from and to card
memory).
"""

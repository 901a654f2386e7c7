"""A compute unit of ``hw.fa3c``: buffers, lines, an array of PEs, and the additions behind the
array.

Read ``compute_unit.py``, which wires all others, from memory to the PEs and back.
"""

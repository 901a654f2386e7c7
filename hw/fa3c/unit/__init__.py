"""A compute unit of ``hw.fa3c``: its memories, its lines, its array of PEs, and what its sums go
through.

Read ``compute_unit.py``, which wires all others, from memory to the PEs and back.
"""

"""A compute unit of ``hw.fa3c``: the array of PEs, what feeds it, and what its sums go through.

Read ``pe.py`` (a product a clock, added to one of 32 sums) and ``array.py`` (rows and lanes of them).
"""

"""A compute unit of ``hw.fa3c``: the array of PEs, what feeds it, and what its sums go through.

Read ``pe.py`` (products added to one of 32 sums), ``array.py`` (rows and lanes of PEs),
``drain.py`` and ``output_rows.py`` (what becomes of the sums), ``tlu.py`` (transposed parameters).
"""

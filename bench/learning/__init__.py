"""What agents learn: claims, the runs that they need, and ``docs/learning``, which shows both.

``python -m bench.learning`` (`make learning`) does the missing runs, continues interrupted ones,
and writes the documents. It is no bench of `python -m bench`, since its numbers take hours.
"""

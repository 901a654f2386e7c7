"""What agents learn: claims, the runs that they need, and ``docs/learning``, which shows both.

``python -m bench.learning`` (`make learning`) trains what has not been trained, goes on with what
was cut, and writes the documents. It is no bench of `python -m bench`: its numbers take hours, and
the documents have them.
"""

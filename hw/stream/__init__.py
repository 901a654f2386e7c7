"""Streams: queues, memories and width changers, which no kernel is without.

Read ``ram.py`` (the deep memories, which ``ram.v`` and ``ram_dual.v`` hold), ``queue.py``,
``skid.py`` (registers on a stream), ``delay.py``; then the width changers: ``split.py`` for lists
of equal items, ``pack.py`` for records of any number of granules.
"""

"""Streams, as every kernel uses them: queues, memories and width changers.

Read ``ram.py`` (the deep memories, which ``ram.v`` holds), ``queue.py``,
``skid.py`` (registers on a stream), ``delay.py``; then the width changers: ``split.py`` for lists
of equal items, ``pack.py`` for records of any number of granules.
"""
